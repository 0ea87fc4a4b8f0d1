"""From token ids on the device to windows: the CPU's kept_windows, all tokens at once.

A view is some chunks of the text in a row: those to be trained and `halo` more on either side.
Four launches: count what each thread's run of tokens keeps, add the counts up, list the kept
words in order, set each one's window. Decisions and draws are those of kernels/windows.py.
"""

from __future__ import annotations

from numba import cuda

from w2v_sgns.kernels.cuda.warp import draw, portable
from w2v_sgns.kernels.windows import CHUNK, LINE_END, WORD, is_kept, window_size

__all__ = ["add_up", "count_kept", "list_kept", "set_windows"]

ENDS = 32  # a count holds kept words in the lower half and line ends above
KEPT = (1 << ENDS) - 1
keeps = portable(is_kept)


@cuda.jit
def count_kept(tokens, seeds, keep, counts):
    """Count kept words and line ends; a block a chunk, a run of its tokens a thread.

    tokens uint32[n] of the view; seeds uint64[chunks] of keep and window; keep: see is_kept;
    counts int64[chunks·threads].
    """
    chunk, threads = cuda.blockIdx.x, cuda.blockDim.x
    run = CHUNK // threads
    start = chunk * CHUNK
    begin = cuda.threadIdx.x * run
    count = 0
    for place in range(begin, min(begin + run, tokens.shape[0] - start)):
        token = tokens[start + place]
        if keeps(draw(seeds[chunk], place), token & WORD, keep):
            count += 1
        if token & LINE_END:
            count += 1 << ENDS
    counts[chunk * threads + cuda.threadIdx.x] = count


@cuda.jit
def add_up(counts, runs, chunks, starts, offsets):
    """Turn the counts of each chunk's runs into sums of those before; one block.

    starts int64[chunks + 1]: the same sums over chunks; offsets int64[chunks + 1]: their kept
    words alone, so a chunk's are offsets[chunk]:offsets[chunk + 1].
    """
    for chunk in range(cuda.threadIdx.x, chunks, cuda.blockDim.x):
        total = 0
        for run in range(chunk * runs, (chunk + 1) * runs):
            count = counts[run]
            counts[run] = total
            total += count
        starts[chunk + 1] = total
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        starts[0] = 0
        offsets[0] = 0
        for chunk in range(1, chunks + 1):
            starts[chunk] += starts[chunk - 1]
            offsets[chunk] = starts[chunk] & KEPT


@cuda.jit
def list_kept(tokens, seeds, keep, window, fixed, counts, starts, words, lines, reach):
    """List the kept words in order, with line number and window size; launched as count_kept.

    words, lines, reach int32[≥ kept].
    """
    chunk, threads = cuda.blockIdx.x, cuda.blockDim.x
    run = CHUNK // threads
    start = chunk * CHUNK
    before = starts[chunk] + counts[chunk * threads + cuda.threadIdx.x]
    at, line = before & KEPT, before >> ENDS
    begin = cuda.threadIdx.x * run
    for place in range(begin, min(begin + run, tokens.shape[0] - start)):
        token = tokens[start + place]
        bits = draw(seeds[chunk], place)
        if keeps(bits, token & WORD, keep):
            words[at] = token & WORD
            lines[at] = line
            reach[at] = window if fixed else window_size(bits, window)
            at += 1
        if token & LINE_END:
            line += 1


@cuda.jit
def set_windows(lines, reach, offsets, chunks, halo, before, low_edge, high_edge):
    """Set the windows of the words to be trained: words[low_edge[t]:high_edge[t]] without t.

    A block a chunk, the first one being the view's chunk `before`. No window looks further than
    `halo` chunks, as on the CPU.
    """
    chunk = before + cuda.blockIdx.x
    least = offsets[max(chunk - halo, 0)]
    most = offsets[min(chunk + halo + 1, chunks)]
    for t in range(offsets[chunk] + cuda.threadIdx.x, offsets[chunk + 1], cuda.blockDim.x):
        left = t
        while left > least and left > t - reach[t] and lines[left - 1] == lines[t]:
            left -= 1
        right = t + 1
        while right < most and right <= t + reach[t] and lines[right] == lines[t]:
            right += 1
        low_edge[t] = left
        high_edge[t] = right
