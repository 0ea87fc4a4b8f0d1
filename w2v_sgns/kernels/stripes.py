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

from typing import Any

import numpy as np
from numba import njit

from w2v_sgns.kernels.blocks import block_end
from w2v_sgns.kernels.compile import compiled
from w2v_sgns.kernels.exchange import Plan, ask_for_scores, window_gradients
from w2v_sgns.kernels.hogwild import LOSS_TERMS, list_outputs
from w2v_sgns.kernels.lockstep import COUNTS, ENDED, all_posted, post
from w2v_sgns.kernels.score import context_lanes, score_rows
from w2v_sgns.kernels.step import (
    drain_loss,
    hold_ones,
    set_parameters,
    shift_outputs,
    update_columns,
)
from w2v_sgns.kernels.team import RING
from w2v_sgns.kernels.windows import CHUNK, kept_windows
from w2v_sgns.kernels.workspace import addresses

__all__ = ["train_striped"]


@njit(inline="always")
def list_window(rows, place, words, t, low, high, E, bytes_):
    """List the input rows of the window words[low:high] around words[t]; return their number."""
    count = 0
    for j in range(low, high):
        if j != t:
            rows[place + count] = E + words[j] * bytes_
            count += 1
    return count


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
