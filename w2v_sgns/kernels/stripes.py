"""One chunk by several threads in step: the same vectors in every run, without copies of them.

A stripe is some columns of E and Ep; of each chunk one thread alone reads and writes it, so rows
do not travel between processors. Of a block of windows every thread computes what its stripes add
to the scores. Once all have posted theirs, every thread sums them up, takes the gradients from
them and updates its own columns, window after window. So that nobody waits for the sums, the
scores of a block are taken before the block before it is added: they are at most 2·BLOCK − 1
windows old.

Each number is computed by one thread in a fixed order, whichever thread that is: the result
depends on the number of stripes, not on that of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import njit
from numba.core import cgutils

from w2v_sgns.kernels.compile import compiled
from w2v_sgns.kernels.hogwild import LOSS_TERMS, list_outputs
from w2v_sgns.kernels.lockstep import COUNTS, ENDED, all_posted, post
from w2v_sgns.kernels.matrices import PAD, Matrix, aligned_matrix, padded_dim
from w2v_sgns.kernels.prefetch import ask_for
from w2v_sgns.kernels.score import PARAMETERS, context_lanes, gradients, lanes_of, score_rows
from w2v_sgns.kernels.simd import I64, Lanes, Tile, micro_kernel
from w2v_sgns.kernels.step import (
    drain_loss,
    hold_ones,
    set_parameters,
    shift_outputs,
    update_columns,
)
from w2v_sgns.kernels.windows import CHUNK, kept_windows
from w2v_sgns.kernels.workspace import Workspace, addresses, aligned_floats, workspace

__all__ = [
    "Team",
    "block_windows",
    "put_back",
    "striped",
    "striped_workspace",
    "team",
    "train_striped",
]

BLOCK = 8  # windows, at most, whose scores are exchanged at once
REPEATS = 2  # of a word among the windows that are not added yet
RING = 4  # blocks whose lists and scores are kept: one thread may be a block ahead of another
BLOCK_BYTES = 1 << 20  # of scores of one block in one stripe, at most, where that is a window
LINE = 64  # bytes of a cache line
PAGE = 4096  # bytes that no processor looks beyond when it guesses what is read next
APART = 80  # floats: blocks of scores at one place of their pages would push each other out


class Team(NamedTuple):
    """What threads share beside the matrices."""

    columns: npt.NDArray[np.int64]  # (stripes + 1,) where each stripe begins and the last ends
    scores: npt.NDArray[np.float32]  # (stripes, RING, floats of a block): what each stripe adds
    posted: npt.NDArray[np.int64]  # (threads, COUNTS): blocks that a thread has scored


def window_floats(tile: Tile, *, window: int, outputs: int) -> int:
    """Return the floats that the scores of one window take."""
    size = len(tile.outputs)
    return -(-outputs // size) * lanes_of(size) * 2 * window


def block_windows(tile: Tile, *, window: int, outputs: int, words: int) -> int:
    """Return the windows of a block: fewer with wide windows, or with a small vocabulary.

    With few words each stands in a block many times, and all its gradients are old ones.
    """
    most = BLOCK_BYTES // (4 * window_floats(tile, window=window, outputs=outputs))
    return max(1, min(BLOCK, most, words // 64))


def cut_columns(dim: int, stripes: int) -> npt.NDArray[np.int64]:
    """Return where each of at most so many stripes begins in a row of D floats, and D.

    All are equally wide, in whole cache lines; the last may be narrower.
    """
    lines = padded_dim(dim) // PAD
    wide = PAD * -(-lines // stripes)
    return np.array([*range(0, PAD * lines, wide), PAD * lines], np.int64)


def team(
    tile: Tile, *, dim: int, window: int, outputs: int, stripes: int, threads: int, block: int
) -> Team:
    """Cut the columns into stripes and make room; no more threads than stripes are needed."""
    columns = cut_columns(dim, stripes)
    stripes = len(columns) - 1
    threads = min(threads, stripes)
    floats = block * window_floats(tile, window=window, outputs=outputs) + PAD
    floats = -(-4 * floats // PAGE) * (PAGE // 4) + APART
    return Team(
        columns=columns,
        scores=aligned_floats(stripes * RING * floats, PAGE).reshape(stripes, RING, floats),
        posted=aligned_floats(2 * threads * COUNTS).view(np.int64).reshape(threads, COUNTS),
    )


def striped(matrix: Matrix, columns: npt.NDArray[np.int64]) -> Matrix:
    """Return a copy of a matrix (V, D), stripe after stripe, with a row of zeros behind each.

    float32 (stripes, V + 1, columns of a stripe). Beside each other in one row, stripes would
    travel between processors all the same: these guess what is read next, and fetch it.
    """
    words, stripes = len(matrix), len(columns) - 1
    parts = aligned_matrix(stripes * (words + 1), int(columns[1]))
    parts = parts.reshape(stripes, words + 1, -1)
    for part, low, high in zip(parts, columns[:-1], columns[1:], strict=True):
        part[:words, : high - low] = matrix[:, low:high]
    return parts


def put_back(parts: Matrix, matrix: Matrix, columns: npt.NDArray[np.int64]) -> None:
    """Copy what :func:`striped` has made into a matrix (V, D)."""
    for part, low, high in zip(parts, columns[:-1], columns[1:], strict=True):
        matrix[:, low:high] = part[: len(matrix), : high - low]


def striped_workspace(tile: Tile, *, window: int, outputs: int, dim: int, block: int) -> Workspace:
    """Allocate a thread's workspace: lists of a ring of blocks instead of those of a batch."""
    rows = -(-outputs // len(tile.outputs)) * len(tile.outputs) + 1
    return workspace(tile, window=window, outputs=outputs, dim=dim)._replace(
        outputs=np.zeros((RING * block + 1) * rows, np.int64),
        shifts=np.zeros((RING * block + 1) * rows, np.float32),
        contexts=np.zeros(RING * block * 2 * window, np.int64),
    )


def _emit_sum(v: Lanes, outputs: int, *arguments: Any) -> None:
    """f(tile, (z, floats, scores, bytes from stripe to stripe, stripes)): z = Σ over stripes."""
    z, floats, scores, stride, stripes = arguments
    whole = v.b.add(floats, ir.Constant(I64, v.width - 1))
    with cgutils.for_range(v.b, v.b.sdiv(whole, ir.Constant(I64, v.width))) as loop:
        offset = v.b.mul(loop.index, ir.Constant(I64, v.bytes))
        total = v.variable(v.load(scores, offset))
        with cgutils.for_range(v.b, stripes, start=ir.Constant(I64, 1)) as other:
            start = v.b.add(scores, v.b.mul(other.index, stride))
            v.b.store(v.b.fadd(v.b.load(total), v.load(start, offset)), total)
        v.store(v.b.load(total), z, offset)


sum_stripes = micro_kernel(_emit_sum)


def _emit_claim(v: Lanes, outputs: int, *arguments: Any) -> None:
    """f(tile, (address, bytes)): asks for memory that will be written."""
    start, size = arguments
    lines = v.b.lshr(v.b.add(size, ir.Constant(I64, LINE - 1)), ir.Constant(I64, 6))
    with cgutils.for_range(v.b, lines) as line:
        v.prefetch(v.b.add(start, v.b.shl(line.index, ir.Constant(I64, 6))))


claim = micro_kernel(_emit_claim)


@njit(inline="always")
def block_end(words, before, low, final, block):
    """Return where the block that begins at `low` ends, and whether it may be scored early.

    words[before:low] is the block before it. Early is: before that one is added. No word stands
    more than REPEATS times in what is not added yet: gradients of one row, all from old values,
    would add up to too large a step.
    """
    early = count_word(words, before, low) < REPEATS
    start = before if early else low
    end = low + 1
    while end < min(low + block, final) and count_word(words, start, end) < REPEATS:
        end += 1
    return end, early


@njit(inline="always")
def count_word(words, start, place):
    """Return how often words[place] stands in words[start:place]."""
    count = 0
    for n in range(start, place):
        count += int(words[n] == words[place])
    return count


def _list_blocks(words, begin, final, block):
    """Return [low, high, early] of each block, as training on words[begin:final] cuts them."""
    blocks = []
    before = low = begin
    while low < final:
        high, early = block_end(words, before, low, final, block)
        blocks.append((low, high, early))
        before, low = low, high
    return blocks


list_blocks: Any = compiled(_list_blocks)


@njit(inline="always")
def list_window(rows, place, words, t, low, high, E, bytes_):
    """List the input rows of the window words[low:high] around words[t]; return their number."""
    count = 0
    for j in range(low, high):
        if j != t:
            rows[place + count] = E + words[j] * bytes_
            count += 1
    return count


class Plan(NamedTuple):
    """What stays the same through a chunk: plain numbers."""

    first: int  # stripe of this thread ...
    last: int  # ... up to this one, which is another's
    stripes: int
    far: int  # vectors from a row to the same row of the next stripe
    block: int  # windows of a block, at most
    most: int  # contexts of a window, at most
    negatives: int
    tiles: int
    slots: int  # rows listed for a window's outputs: tiles·S, and one to be asked for
    lanes: int  # floats that a context's scores take in a tile
    scores: int  # address of the team's scores
    ring_bytes: int  # of one block's scores in one stripe
    stripe_bytes: int  # of a ring's
    row_bytes: int  # of a row in one stripe


@njit(inline="always")
def vectors_in(tile, columns, stripe, far):
    """Return where a stripe's vectors begin, counted from a row of the first one, and end."""
    begin = stripe * far
    return begin, begin + (columns[stripe + 1] - columns[stripe]) // len(tile.lanes)


@njit(inline="always")
def score_block(tile, at, plan, columns, rows, words, edges, place, low, high, E):
    """Write what this thread's stripes add to the scores of words[low:high], block `place`.

    Arrays come one by one: one taken out of a tuple costs a reference count at every use.
    """
    low_edge, high_edge = edges
    size = len(tile.outputs)
    z = plan.scores + plan.ring_bytes * place
    for t in range(low, high):
        n = place * plan.block + t - low
        count = list_window(
            rows, plan.most * n, words, t, low_edge[t], high_edge[t], E, plan.row_bytes
        )
        outs = at.outputs + 8 * plan.slots * n
        for s in range(plan.first, plan.last):
            begin, end = vectors_in(tile, columns, s, plan.far)
            for m in range(plan.tiles):
                score_rows(
                    tile,
                    at.contexts + 8 * plan.most * n,
                    count,
                    outs + 8 * size * m,
                    begin,
                    end,
                    z + plan.stripe_bytes * s + 4 * plan.lanes * count * m,
                )
        z += 4 * plan.lanes * count * plan.tiles


@njit(inline="always")
def ask_for_scores(tile, plan, offset, size, place):
    """Ask for what comes next: others' scores of the block before `place`, room for ours."""
    before = (place - 1) % RING
    for s in range(plan.stripes):
        start = plan.scores + plan.stripe_bytes * s + offset
        if plan.first <= s < plan.last:
            claim(tile, (start + plan.ring_bytes * place, size))
        else:
            for line in range(0, size, LINE):
                ask_for(start + plan.ring_bytes * before + line)


@njit(inline="always")
def window_gradients(tile, at, plan, z, count):
    """Put a window's gradients in at.scores: from all stripes' scores, which begin at `z`."""
    floats = plan.lanes * count
    for m in range(plan.tiles):
        part = 4 * floats * m
        sum_stripes(tile, (at.scores + part, floats, z + part, plan.stripe_bytes, plan.stripes))
        gradients(tile, at.scores + part, floats, at.parameters + 4 * PARAMETERS * m, at.loss)


@njit(inline="always")
def add_block(
    tile,
    at,
    work,
    plan,
    columns,
    words,
    edges,
    place,
    low,
    high,
    later,
    coming,
    E,
    dim,
    drop,
    lr,
    added,
):
    """Update this thread's columns for words[low:high], block `place`.

    Of the block `later`, which is scored next, `coming` windows are asked for. added: terms in a
    lane of the loss so far. Return pairs, what was drained of the loss, and the terms since.
    """
    low_edge, high_edge = edges
    z = plan.scores + plan.ring_bytes * place
    start = z
    pairs = 0
    loss = 0.0
    for t in range(low, high):
        count = high_edge[t] - low_edge[t] - 1
        if count == 0:
            continue
        n = place * plan.block + t - low
        size = 4 * plan.lanes * count * plan.tiles
        ask_for_scores(tile, plan, z - start, size, later)
        if drop or len(tile.form) > 1:
            shift_outputs(tile, work, plan.slots * n, plan.negatives + 1, drop, lr)
        window_gradients(tile, at, plan, z, count)
        ahead = RING * plan.block if t - low >= coming else later * plan.block + t - low
        for s in range(plan.first, plan.last):
            begin, end = vectors_in(tile, columns, s, plan.far)
            update_columns(
                tile,
                at,
                at.contexts + 8 * plan.most * n,
                count,
                at.outputs + 8 * plan.slots * n,
                at.outputs + 8 * plan.slots * ahead,
                plan.tiles,
                begin,
                end,
            )
        if len(tile.bias) > 1 and plan.first <= dim // E.shape[2] < plan.last:
            ones = E[dim // E.shape[2]]
            hold_ones(ones, words, low_edge[t], high_edge[t], dim % E.shape[2])
        z += size
        pairs += count
        added += count * plan.tiles
        if added >= LOSS_TERMS:
            loss += drain_loss(work.loss)
            added = 0
    return pairs, loss, added


def _train_striped(
    tile,
    tokens,
    chunk,
    keep,
    noise,
    shift,
    E,
    Ep,
    dim,
    window,
    fixed,
    negatives,
    drop,
    lr,
    seeds,
    stop,
    work,
    totals,
    shared,
    block,
    threads,
    me,
    first,
    last,
):
    """Do the share of thread `me`, of so many, of one chunk: the stripes first … last − 1.

    Everything up to `totals` is as in hogwild.train_chunk, but that E and Ep are as `striped`
    makes them, and that thread 0 alone looks at `stop`, between two blocks, and adds to `totals`.
    work: see striped_workspace; shared: a Team, its counts zero before the first thread begins;
    block: see block_windows.
    """
    size = len(tile.outputs)
    tiles = (negatives + size) // size
    slots = tiles * size + 1
    at = addresses(work)
    ring_bytes = 4 * shared.scores.shape[2]
    plan = Plan(
        first,
        last,
        len(shared.scores),
        E.shape[1] * E.shape[2] // len(tile.lanes),
        block,
        2 * window,
        negatives,
        tiles,
        slots,
        context_lanes(size),
        shared.scores.ctypes.data,
        ring_bytes,
        ring_bytes * RING,
        4 * E.shape[2],
    )
    columns, words, context_rows = shared.columns, work.words, work.contexts
    output_rows, shifts = work.outputs, work.shifts
    edges = work.low_edge, work.high_edge
    low_edge, high_edge = edges
    zero = Ep.ctypes.data + (Ep.shape[1] - 1) * 4 * Ep.shape[2]  # a row behind those of words
    output_rows[RING * block * slots :] = zero
    counts = shared.posted.ctypes.data
    set_parameters(tile, work, negatives + 1, lr)
    start = chunk * CHUNK
    begin, final = kept_windows(
        tokens,
        start,
        min(start + CHUNK, len(tokens)),
        window,
        fixed,
        seeds,
        keep,
        words,
        low_edge,
        high_edge,
    )
    state = seeds[len(seeds) - 1]
    lows, highs = np.zeros(RING, np.int64), np.zeros(RING, np.int64)
    early = np.zeros(RING, np.bool_)
    listed = scored = summed = 0  # blocks
    added = 0
    before, low = begin, begin
    while low < final or summed < listed:
        while listed < scored + 2 and low < final:
            place = listed % RING
            lows[place] = low
            highs[place], early[place] = block_end(words, before, low, final, block)
            state, _ = list_outputs(
                tile,
                output_rows[place * block * slots :],
                shifts[place * block * slots :],
                words,
                low,
                highs[place],
                window,
                high_edge,
                negatives,
                noise,
                shift,
                state,
                E.ctypes.data,
                Ep.ctypes.data,
                4 * E.shape[2],
                zero,
                slots - 2 - negatives,
            )
            before, low = low, highs[place]
            listed += 1
        place = scored % RING
        if scored < listed and (scored == summed or early[place]):
            if me == 0 and stop[0]:
                post(counts, np.int64(ENDED + scored))
                low, listed = final, scored  # what has been scored is added, no more
                continue
            score_block(
                tile,
                at,
                plan,
                columns,
                context_rows,
                words,
                edges,
                place,
                lows[place],
                highs[place],
                E.ctypes.data,
            )
            scored += 1
            post(counts + 8 * COUNTS * me, np.int64(scored))
        later = scored % RING
        waits = scored < listed and not early[later]
        if scored == summed or (scored == summed + 1 and scored < listed and not waits):
            continue
        if not all_posted(counts, threads, np.int64(summed + 1)):
            break
        place = summed % RING
        pairs, loss, added = add_block(
            tile,
            at,
            work,
            plan,
            columns,
            words,
            edges,
            place,
            lows[place],
            highs[place],
            later,
            highs[later] - lows[later] if scored < listed else 0,
            E,
            dim,
            drop,
            lr,
            added,
        )
        summed += 1
        if me == 0:
            totals[0] += highs[place] - lows[place]
            totals[1] += pairs
            totals[2] += loss
    loss = drain_loss(work.loss)
    if me == 0:
        totals[2] += loss


train_striped: Any = compiled(_train_striped)
