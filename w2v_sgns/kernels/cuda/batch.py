"""The training kernel of noise shared by a batch: batch after batch, one block a stream.

What a batch computes is defined in :mod:`w2v_sgns.objectives.shared`. Its rows are copied first:
all gradients are taken at these old values, and what moves rows is added at once, atomically.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from numba import cuda, float32

from w2v_sgns.kernels.cuda.listing import listing_for
from w2v_sgns.kernels.cuda.moves import moves_for
from w2v_sgns.kernels.cuda.tiles import EACH, BatchShape
from w2v_sgns.kernels.cuda.warp import shared_floats, sync_block

__all__ = ["batch_kernel"]


@lru_cache(maxsize=16)
def batch_kernel(
    shape: BatchShape,
    objective: str,
    bias_column: int | None,
    drop: bool,
    vectors: bool,
    weight: float,
) -> Any:
    """Return the kernel for one kind of training; launch it with blocks of shape.threads.

    bias_column, drop, vectors: see train_kernel; weight: what each noise term counts.
    """
    side, columns, noise_rows, most = shape.side, shape.columns, shape.noise_rows, shape.pairs
    batch_rows, each_floats, each_ids = shape.rows, shape.scratch, shape.ids
    half, values, noise_words = shape.shared // 2, EACH * EACH, shape.noise
    list_pairs, list_noise, copy_rows = listing_for(shape)
    pull_true, pull_noise, move_noise, move_true, move_contexts = moves_for(
        shape, objective, bias_column, drop, vectors, weight
    )

    @cuda.jit
    def train(
        words,
        low_edge,
        high_edge,
        offsets,
        before,
        own,
        rates,
        seeds,
        noise,
        shifts,
        E,
        Ep,
        streams,
        scratch,
        ids,
        totals,
    ):
        """Train the view's chunks before..before + own − 1, each stream every streams-th batch.

        Arguments as the window kernel's; scratch float32[streams·scratch], ids
        int32[streams·ids].
        """
        thread, stream = cuda.threadIdx.x, cuda.blockIdx.x
        floats = scratch[stream * each_floats : (stream + 1) * each_floats]
        X, floats = floats[: most * columns], floats[most * columns :]
        T, floats = floats[: batch_rows * columns], floats[batch_rows * columns :]
        N, floats = floats[: noise_rows * columns], floats[noise_rows * columns :]
        G, g = floats[: most * noise_rows], floats[most * noise_rows :]
        numbers = ids[stream * each_ids : (stream + 1) * each_ids]
        contexts, windows, numbers = numbers[:most], numbers[most : 2 * most], numbers[2 * most :]
        starts, drawn = numbers[: batch_rows + 1], numbers[batch_rows + 1 :]
        shared = shared_floats()
        tile = cuda.local.array(values, float32)
        quad, other = cuda.local.array(EACH, float32), cuda.local.array(EACH, float32)
        room = tile, quad, other, shared[:half], shared[half:]
        kept, found, loss, before_chunk = 0, 0, 0.0, 0
        for chunk in range(own):
            first, last = offsets[before + chunk], offsets[before + chunk + 1]
            batches = (last - first + batch_rows - 1) // batch_rows
            rate, seed = rates[chunk], seeds[chunk]
            # batches are dealt out in turn, over the borders of chunks
            for batch in range((stream - before_chunk) % streams, batches, streams):
                begin = first + batch * batch_rows
                rows = min(batch_rows, last - begin)
                kept += rows
                list_pairs(
                    words, low_edge, high_edge, begin, rows, contexts, windows, starts, thread
                )
                list_noise(drawn, noise, seed, batch, thread)
                sync_block()
                pairs = starts[rows]
                if pairs > 0:
                    found += pairs
                    padded = (pairs + side - 1) // side * side
                    copy_rows(X, padded, E, contexts, pairs, quad, thread)
                    copy_rows(T, rows, Ep, words[begin:last], rows, quad, thread)
                    copy_rows(N, noise_rows, Ep, drawn, noise_words, quad, thread)
                    sync_block()
                    loss += pull_true(
                        g, X, T, windows, words, begin, shifts, pairs, padded, rate, thread
                    )
                    loss += pull_noise(
                        G,
                        X,
                        N,
                        windows,
                        words,
                        begin,
                        drawn,
                        shifts,
                        pairs,
                        padded,
                        rate,
                        room,
                        thread,
                    )
                    sync_block()
                    move_noise(Ep, G, X, drawn, padded, room, thread)
                    move_true(Ep, g, X, words, begin, rows, starts, quad, thread)
                    move_contexts(E, G, N, g, T, windows, contexts, pairs, room, thread)
                sync_block()
            before_chunk += batches
        if thread == 0:
            cuda.atomic.add(totals, 0, kept)
            cuda.atomic.add(totals, 1, found)
        cuda.atomic.add(totals, 2, loss)

    return train
