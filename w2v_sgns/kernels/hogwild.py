"""The shard driver: one chunk of the corpus, window after window.

Hogwild (Niu, Recht, Ré, Wright 2011): any number of threads run this at once, without the GIL
and without locks, on the same E and Ep. The threads themselves live in training/backends.py.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from w2v_sgns.kernels.compile import compiled
from w2v_sgns.kernels.rng import STEP
from w2v_sgns.kernels.step import drain_loss, hold_ones, set_parameters, shift_outputs, step
from w2v_sgns.kernels.windows import CHUNK, draw_noise, kept_windows
from w2v_sgns.kernels.workspace import AHEAD, addresses, centres_at_once

__all__ = ["train_chunk"]

AHEAD_BYTES = 24_576  # asked for ahead of need, at most: they must not push out the present
LOSS_TERMS = 8192  # added in float32 before they move on to float64


@njit(inline="always")
def list_outputs(
    tile,
    rows,
    shifts,
    words,
    low,
    high,
    window,
    edges,
    negatives,
    noise,
    shift,
    state,
    E,
    Ep,
    bytes_,
    zero,
    padding,
):
    """List the rows that words[low:high] need as centres; return the noise stream's new state.

    For each: the output row of the word, k noise rows, padding, and the input row that enters
    the window (to be asked for ahead of need). For NCE, beside each output row its shift.
    """
    slot = 0
    for t in range(low, high):
        rows[slot] = Ep + words[t] * bytes_
        if len(tile.form) > 1:
            shifts[slot] = shift[words[t]]
        for n in range(1, negatives + 1):
            state += STEP
            word = draw_noise(state, noise)
            rows[slot + n] = Ep + word * bytes_
            if len(tile.form) > 1:
                shifts[slot + n] = shift[word]
        slot += negatives + 1
        for _ in range(padding):
            rows[slot] = zero
            slot += 1
        entering = min(t + window, edges[t] - 1)
        rows[slot] = E + words[entering] * bytes_
        slot += 1
    return state, slot


@njit(inline="always")
def list_contexts(rows, words, t, low, high, E, bytes_):
    """List the input rows of the window words[low:high] around words[t]; return their number."""
    count = 0
    for j in range(low, high):
        rows[count] = E + words[j] * bytes_
        count += int(j != t)
    return count


def _train_chunk(
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
):
    """Train on one chunk: tokens[chunk·CHUNK : (chunk + 1)·CHUNK].

    tokens uint32[n]; keep uint32[≤ V] (see windows.is_kept); noise uint64[V]; shift float32
    (see step.shift_table); E, Ep float32 (V, D), rows aligned to 64 bytes and padded with zeros,
    with a bias the column dim is 1 in E and the bias in Ep; seeds uint64[2h + 2]: windows of h
    chunks before, of this one, of the h next, and noise of this one (h·CHUNK ≥ window); stop
    uint8[1]: non-zero ends the call after the current window. totals float64[3] += kept tokens,
    pairs, Σ loss.
    """
    size, width = len(tile.outputs), len(tile.lanes)
    tiles = (negatives + size) // size
    padding = tiles * size - negatives - 1
    slots = tiles * size + 1
    bytes_ = 4 * E.shape[1]
    ahead = 8 * slots * max(1, min(AHEAD, AHEAD_BYTES // (slots * bytes_)))
    vectors = E.shape[1] // width
    at = addresses(work)
    E_rows, Ep_rows, zero = E.ctypes.data, Ep.ctypes.data, work.zero.ctypes.data
    words, low_edge, high_edge = work.words, work.low_edge, work.high_edge
    context_rows, output_rows = work.contexts, work.outputs
    set_parameters(tile, work, negatives + 1, lr)
    start = chunk * CHUNK
    end = min(start + CHUNK, len(tokens))
    begin, final = kept_windows(
        tokens, start, end, window, fixed, seeds, keep, words, low_edge, high_edge
    )
    state = seeds[len(seeds) - 1]
    added = 0  # terms in a lane of the loss
    batch = centres_at_once(slots)
    for low in range(begin, final, batch):
        if stop[0]:
            break
        high = min(low + batch, final)
        state, used = list_outputs(
            tile,
            output_rows,
            work.shifts,
            words,
            low,
            high,
            window,
            high_edge,
            negatives,
            noise,
            shift,
            state,
            E_rows,
            Ep_rows,
            bytes_,
            zero,
            padding,
        )
        output_rows[used : used + AHEAD * slots] = zero
        for t in range(low, high):
            if stop[0]:  # a window can be large
                break
            count = list_contexts(context_rows, words, t, low_edge[t], high_edge[t], E_rows, bytes_)
            if count == 0:
                continue
            first = slots * (t - low)
            if drop or len(tile.form) > 1:
                shift_outputs(tile, work, first, negatives + 1, drop, lr)
            outs = at.outputs + 8 * first
            step(tile, at, count, outs, outs + ahead, tiles, vectors)
            if len(tile.bias) > 1:
                hold_ones(E, words, low_edge[t], high_edge[t], dim)
            totals[1] += count
            added += count * tiles
            if added >= LOSS_TERMS:
                totals[2] += drain_loss(work.loss)
                added = 0
        totals[0] += high - low
    totals[2] += drain_loss(work.loss)


train_chunk: Any = compiled(_train_chunk)
