"""Case 63: trainings in two threads at once, in a forked child and in a spawned one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).resolve().parents[1] / "cases"

PROGRAM = """
import multiprocessing, os, sys, threading
from w2v_sgns import train

def job(name, threads=1):
    train("corpus.txt", output=f"{name}.safetensors", min_count=1, threads=threads, epochs=2)

if __name__ == "__main__":
    jobs = [threading.Thread(target=job, args=(n,)) for n in "ab"]
    [one.start() for one in jobs]
    [one.join() for one in jobs]
    for name, threads in (("c", 1), ("d", 2)):
        child = os.fork()
        if child == 0:
            job(name, threads)
            os._exit(0)
        print("child", os.waitpid(child, 0)[1])
    spawned = multiprocessing.get_context("spawn").Process(target=job, args=("e",))
    spawned.start()
    spawned.join()
    print("spawned", spawned.exitcode)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_63_threads_fork_and_spawn(tmp_path: Path) -> None:
    # case 63-readonly-install has the same text
    text = (CASES / "45-negative-zero" / "corpus.txt").read_bytes()
    (tmp_path / "corpus.txt").write_bytes(text)
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["child", "0", "child", "0", "spawned", "0"]
    files = {path.stem: path.read_bytes() for path in tmp_path.glob("*.safetensors")}
    assert sorted(files) == ["a", "b", "c", "d", "e"]
    assert files["a"] == files["b"] == files["c"] == files["e"]
