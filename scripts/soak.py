#!/usr/bin/env python3
"""Train over and over in one process and watch its memory: it must stay flat.

Every round trains on all threads with checkpoints, a held-out part and a log, stops half-way,
resumes, loads the result and asks it. After a warm-up the resident memory at the end of each round
is compared: mean of the last third against the first.

    scripts/soak.py --minutes 30

Exit code 1 if it has changed by more than 2 %.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from w2v_sgns import Model, train

WARM_UP = 5  # rounds
MOST = 0.02  # change that is allowed


def main() -> None:
    """Go round for so long, then judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30)
    arguments = parser.parse_args()
    demo = Path(__file__).resolve().parent.parent / "data" / "demo-corpus.txt"
    resident: list[int] = []
    until = time.monotonic() + 60 * arguments.minutes
    with tempfile.TemporaryDirectory() as place:
        while time.monotonic() < until or len(resident) < WARM_UP + 6:
            one_round(demo, Path(place))
            gc.collect()
            resident.append(resident_bytes())
            print(f"round {len(resident)}: {resident[-1] / 1e6:.1f} MB", end="\r", flush=True)
    rest = resident[WARM_UP:]
    third = len(rest) // 3
    before, after = mean(rest[:third]), mean(rest[-third:])
    change = after / before - 1
    print(
        f"{len(resident)} rounds: {before / 1e6:.1f} MB in the first third, {after / 1e6:.1f} MB "
        f"in the last ({100 * change:+.2f} %), {min(rest) / 1e6:.1f} to {max(rest) / 1e6:.1f} MB"
    )
    sys.exit(abs(change) > MOST)


def one_round(corpus: Path, folder: Path) -> None:
    """Train, stop, resume, load, ask."""
    output = folder / "m.safetensors"
    train(
        corpus,
        output=output,
        force=True,
        epochs=4,
        stop_after=2,
        checkpoint_every=1e-3,
        holdout=0.05,
        patience=2,
        log_json=folder / "log.jsonl",
    )
    train(resume=folder / "m.checkpoint.safetensors")
    Model.load(output).vectors.most_similar("king")


def resident_bytes() -> int:
    """Return the memory of this process that is its own, without mapped files."""
    resident, shared = map(int, Path("/proc/self/statm").read_text().split()[1:3])
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
