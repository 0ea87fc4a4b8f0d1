"""Lines kept out of training, so that their loss can tell how well the rest is learned.

Which lines these are is drawn from the seed. Of a line of more than `STRETCH` tokens, stretches
of so many are drawn: some texts are one line.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from w2v_sgns.corpus.store import LINE_END, Ids, Spool, TokenStore

__all__ = ["STRETCH", "hold_out"]

STRETCH = 1000  # tokens
STREAM = 0x4E1D  # keeps these draws apart from those of training
BLOCK = 1 << 20  # tokens looked at at once


def hold_out(store: TokenStore, share: float, seed: int) -> tuple[TokenStore, TokenStore]:
    """Return what is trained on, and what is held out (in memory); closes `store`.

    A line that loses a stretch becomes two: no pair reaches over the gap.

    Raises:
        ResourceError: the temporary disk is too small for a copy of a spooled store.
    """
    count = len(store.tokens)
    spool = Spool(count) if store.spooled else None
    out = np.empty(0 if spool else count, np.uint32)
    held: list[Ids] = []
    draw = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, STREAM])))
    kept = place = 0  # tokens written, and tokens of the line that a block begins in
    last = False  # of the unit that a block begins in: whether it is held out
    try:
        for start in range(0, count, BLOCK):
            ids = np.array(store.tokens[start : start + BLOCK])
            is_held, place, last = _drawn(ids, place, last, share, draw)
            ids[:-1][is_held[1:] != is_held[:-1]] |= LINE_END
            follower = start + BLOCK
            if follower < count and place % STRETCH == 0:
                ids[-1] |= LINE_END  # the next block may begin with a unit of the other kind
            train = ids[~is_held]
            if spool is None:
                out[kept : kept + train.size] = train
            else:
                spool.write(kept, train)
            kept += train.size
            held.append(ids[is_held])
        tokens = out[:kept] if spool is None else spool.mapped(kept)
    except BaseException:
        if spool is not None:
            spool.close()
        raise
    store.close()
    return TokenStore(tokens, spool), TokenStore(np.concatenate(held))


def _drawn(
    ids: Ids, place: int, last: bool, share: float, draw: np.random.Generator
) -> tuple[npt.NDArray[np.bool_], int, bool]:
    """Tell of each token whether it is held out; then where in its line the next one stands."""
    ends = (ids & LINE_END) != 0
    first = np.concatenate(([0], np.flatnonzero(ends) + 1))  # where lines begin
    line = np.cumsum(np.concatenate(([0], ends[:-1])))
    places = np.arange(len(ids)) - first[line]
    places[line == 0] += place
    begins = places % STRETCH == 0
    drawn = np.concatenate(([last], draw.random(int(begins.sum())) < share))
    held = drawn[np.cumsum(begins)]
    return held, 0 if ends[-1] else int(places[-1]) + 1, bool(held[-1])
