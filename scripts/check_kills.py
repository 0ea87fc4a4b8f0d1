#!/usr/bin/env python3
"""Kill trainings at random moments, often in the middle of writing a file, and see what is left.

Every run writes over an older model (--force) and saves checkpoints all the time. After the kill,
whatever has a model's name must load and hold finite vectors, and the checkpoint must be resumable;
the run is resumed and killed again until it ends, and the finished model must be that of a run that
nothing stopped. By then, what killed writers left beside it must be gone. A hook slows the writer
between two blocks, so that kills find it there.

    scripts/check_kills.py --kills 200 --writing 50
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any, BinaryIO

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from w2v_sgns import Model, train
from w2v_sgns.formats import safetensors
from w2v_sgns.training.checkpoint import read_checkpoint
from w2v_sgns.training.keeper import Keeper

SETTINGS: dict[str, Any] = {"threads": 1, "dim": 64, "epochs": 40, "min_count": 1}
SETTINGS |= {"checkpoint_every": 1e-3}  # minutes: at every end of an epoch
PAUSE = 0.05  # seconds between two checkpoints
DAWDLE = 0.001  # seconds between two blocks of 16 KiB


def slow_writer(marker: Path) -> None:
    """Let the writer dawdle; while it does so, the marker is there."""
    write_rows = safetensors._write_rows

    class Slow:
        def __init__(self, stream: BinaryIO) -> None:
            self.stream = stream

        def write(self, block: Any) -> None:
            marker.touch()
            time.sleep(DAWDLE)
            self.stream.write(block)
            self.stream.flush()
            marker.unlink()

    safetensors.BLOCK_BYTES = 1 << 14
    safetensors._write_rows = lambda stream, array: write_rows(Slow(stream), array)
    Keeper.is_due = lambda self: time.monotonic() - self._last > PAUSE


def main() -> None:
    """Kill, look, resume, until there were enough kills."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200, help="in all")
    parser.add_argument("--writing", type=int, default=50, help="at least so many while writing")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    moment = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as place:
        check = Check(Path(place), moment)
        while check.kills < arguments.kills or check.writing < arguments.writing:
            check.one_run()
            print(check.summary(), end="\r", flush=True)
        print(check.summary())
    sys.exit(check.lost > 0)


class Check:
    """One folder, one run after another."""

    def __init__(self, folder: Path, moment: random.Random) -> None:
        self.folder, self.moment = folder, moment
        self.output, self.marker = folder / "m.safetensors", folder / "writing"
        self.checkpoint = folder / "m.checkpoint.safetensors"
        self.corpus = folder / "corpus.txt"
        demo = Path(__file__).resolve().parent.parent / "data" / "demo-corpus.txt"
        self.corpus.write_bytes(demo.read_bytes()[:400_000])
        self.kills = self.writing = self.loaded = self.resumed = self.complete = self.lost = 0
        train(self.corpus, output=self.output, **SETTINGS)  # compiles; children are forked off
        self.straight = self.output.read_bytes()

    def one_run(self) -> None:
        """Begin a run, and kill and resume it until it is complete."""
        resume = False
        while not self._killed(resume):
            self._judge()
            resume = self.checkpoint.exists()
            self.resumed += resume
        self.complete += 1
        if self.output.read_bytes() != self.straight:
            self._loses("a resumed run differs from a straight one")
        if left := [path.name for path in self.folder.glob(".w2v-*")]:
            self._loses(f"{left}: what killed writers left is still there")

    def summary(self) -> str:
        """Return the figures."""
        return (
            f"{self.kills} kills, {self.writing} of them while writing; {self.loaded} files "
            f"loaded, {self.resumed} resumed, {self.complete} runs complete; {self.lost} lost"
        )

    def _child(self, resume: bool) -> int:
        """Fork a training; return its process id."""
        child = os.fork()
        if child:
            return child
        try:
            slow_writer(self.marker)
            if resume:
                train(resume=self.checkpoint)
            else:
                train(self.corpus, output=self.output, force=True, **SETTINGS)
            os._exit(0)
        finally:
            traceback.print_exc()
            os._exit(1)

    def _killed(self, resume: bool) -> bool:
        """Run, kill at a random moment; tell whether it was complete before."""
        self.marker.unlink(missing_ok=True)
        child = self._child(resume)
        until = time.monotonic() + 3 * self.moment.random()
        at_writing = self.moment.random() < 0.5
        while time.monotonic() < until or (at_writing and not self.marker.exists()):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                if status:
                    self._loses(f"a run ended with {status}")
                return True
            time.sleep(0.0005)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.kills += 1
        self.writing += self.marker.exists()
        return False

    def _judge(self) -> None:
        """Load all that bears a model's name."""
        for path in (self.output, self.checkpoint):
            if not path.exists():
                continue
            try:
                Model.load(path).check_finite()
                if path == self.checkpoint:
                    read_checkpoint(path)
                self.loaded += 1
            except Exception as error:
                self._loses(f"{path}: {error}")
        if not self.output.exists():
            self._loses("the older model is gone")

    def _loses(self, what: str) -> None:
        self.lost += 1
        print(f"LOST: {what}", file=sys.stderr)
        shutil.copytree(self.folder, Path(tempfile.mkdtemp()) / "lost")


if __name__ == "__main__":
    main()
