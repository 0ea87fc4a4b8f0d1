"""The training kernel: window after window, one warp a stream.

All rows are read from L2 at every step, and what moves them is added there atomically: no row is
held over steps, no update is lost, repeated rows accumulate.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numba import cuda, float32

from w2v_sgns.kernels.cuda.passes import passes_for
from w2v_sgns.kernels.cuda.rows import rows_for, warp_sum
from w2v_sgns.kernels.cuda.shape import GROUPS, LANES, Shape
from w2v_sgns.kernels.cuda.warp import device, draw, leave_warp, shared_floats, sync_warp
from w2v_sgns.kernels.windows import noise_choice, noise_slot

__all__ = ["train_kernel"]

ZERO = np.float32(0)


@lru_cache(maxsize=16)
def train_kernel(
    shape: Shape, objective: str, bias_column: int | None, drop: bool, vectors: bool
) -> Any:
    """Return the kernel for one kind of training; launch it with whole warps.

    bias_column: where a row of Ep has the bias, and E a 1; None without biases. drop: negatives
    equal to the true word count nothing. vectors: see row_access.
    """
    floats, outputs, tile, tiles = shape.floats, shape.outputs, shape.tile, shape.tiles
    held, negatives = shape.held, outputs - 1
    tile_floats = tile * held
    in_shared = shape.shared > 0
    room_floats, scratch_floats = shape.gradients, shape.scratch
    room_start = scratch_floats - room_floats  # in a warp's scratch, behind the sums
    has_shift = objective != "sgns"
    rows = rows_for(shape, vectors=vectors)
    take, lay_down, start_of, ask_for = rows.take, rows.lay_down, rows.start_of, rows.ask_for
    score_window, move_contexts, move_outputs = passes_for(shape, rows, objective, bias_column)

    @device
    def room_of(scratch, stream):
        """Return a warp's room for the gradients of its window."""
        if in_shared:
            first = cuda.threadIdx.x // LANES * room_floats
            return shared_floats()[first : first + room_floats]
        first = stream * scratch_floats + room_start
        return scratch[first : first + room_floats]

    @device
    def output_word(output, true_word, seed, place, noise):
        """Return the word of an output: the true one, then noise."""
        bits = draw(seed, place * negatives + output - 1)
        slot = noise_slot(bits, noise.shape[0])
        word = noise_choice(bits, slot, noise[slot])
        return np.int64(true_word) if output == 0 else word

    @device
    def take_outputs(h, word, Ep, lane):
        """Load a tile's output rows."""
        for q in range(tile):
            take(h, q * held, Ep, start_of(word, q), lane)

    @device
    def is_live(output, word, true_word, lane):
        """Tell whether this lane's output counts."""
        same = drop and output > 0 and word == true_word
        return lane // 4 < tile and output < outputs and not same

    @device
    def move_later_outputs(Ep, dh, scratch, sums, true_word, seed, place, noise, lane):
        """Add what several tiles have laid down, once all old rows have been read."""
        for part in range(tiles):
            word = output_word(part * tile + lane // 4, true_word, seed, place, noise)
            for q in range(tile):
                take(dh, q * held, scratch, sums + (part * tile + q) * floats, lane)
            move_outputs(Ep, word, dh, part, lane)

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
        totals,
    ):
        """Train the words of the view's chunks before..before + own - 1, each stream its share.

        words, low_edge, high_edge int32, offsets int64: see select.py; rates float32[own], seeds
        uint64[own] of the noise; noise uint64[V] alias table; shifts float32: see
        kernels.step.shift_table; E, Ep float32[V·D]; scratch float32[streams·scratch];
        totals float64[3] += kept words, pairs, loss.
        """
        lane = cuda.threadIdx.x & (LANES - 1)
        stream = (cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) // LANES
        first = offsets[before]
        count = offsets[before + own] - first
        begin = first + count * stream // streams
        end = first + count * (stream + 1) // streams
        if stream >= streams or begin >= end:
            return
        room = room_of(scratch, stream)
        sums = stream * scratch_floats  # where several tiles lay down their outputs' moves
        h = cuda.local.array(tile_floats, float32)
        dh = cuda.local.array(tile_floats, float32)
        x = cuda.local.array(held, float32)
        coming = cuda.local.array(held, float32)
        z = cuda.local.array(GROUPS, float32)
        group = lane // 4  # the output of a tile whose scores this lane finishes
        pairs, loss, chunk = 0, 0.0, before
        while offsets[chunk + 1] <= begin:
            chunk += 1
        seed, place = seeds[chunk - before], begin - offsets[chunk]
        word = output_word(group, words[begin], seed, place, noise)
        for t in range(begin, end):
            true_word, low = words[t], low_edge[t]
            contexts = high_edge[t] - low - 1
            rate, seed, place = rates[chunk - before], seeds[chunk - before], t - offsets[chunk]
            # the noise of the next word is asked for now and needed after this step
            following = min(t + 1, end - 1)
            while offsets[chunk + 1] <= following:
                chunk += 1
            at = (following - offsets[chunk]) * negatives + group - 1
            bits = draw(seeds[chunk - before], at)
            slot = noise_slot(bits, noise.shape[0])
            entry = noise[slot]
            if contexts > 0:
                pairs += contexts
                for part in range(tiles):
                    output = part * tile + group
                    if part > 0:
                        word = output_word(output, true_word, seed, place, noise)
                    live = is_live(output, word, true_word, lane)
                    shift = shifts[word] if has_shift else ZERO
                    take_outputs(h, word, Ep, lane)
                    loss += score_window(
                        words,
                        low,
                        t,
                        contexts,
                        E,
                        h,
                        dh,
                        x,
                        z,
                        coming,
                        room,
                        part,
                        live,
                        output == 0,
                        shift,
                        rate,
                        lane,
                    )
                    if tiles == 1:
                        move_outputs(Ep, word, dh, part, lane)
                    else:  # later tiles may have the same rows, and must read the old ones
                        for q in range(tile):
                            at = sums + (part * tile + q) * floats
                            lay_down(scratch, at, dh, q * held, lane)
                sync_warp()
                for part in range(tiles):
                    if tiles > 1:
                        word = output_word(part * tile + group, true_word, seed, place, noise)
                        take_outputs(h, word, Ep, lane)
                    move_contexts(words, low, t, contexts, E, h, x, z, room, part, lane)
                if tiles > 1:
                    move_later_outputs(Ep, dh, scratch, sums, true_word, seed, place, noise, lane)
            word = noise_choice(bits, slot, entry)
            if group == 0:
                word = np.int64(words[following])
            ask_for(word, Ep, lane)
            sync_warp()
        loss = warp_sum(loss)
        if lane == 0:
            cuda.atomic.add(totals, 0, end - begin)
            cuda.atomic.add(totals, 1, pairs)
            cuda.atomic.add(totals, 2, loss)
        leave_warp()

    return train
