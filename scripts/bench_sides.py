#!/usr/bin/env python3
"""The two sides of bench_train.py and the judge, each in a process of its own.

    bench_sides.py ours-epoch CORPUS SETTINGS       one epoch; CPU seconds of training alone
    bench_sides.py gensim-epoch LINES SETTINGS      the same for gensim
    bench_sides.py gensim-train LINES OUT SETTINGS  vocabulary, training, saving
    bench_sides.py export MODEL OUT                 our model file as word2vec binary
    bench_sides.py judge VECTORS QUESTIONS PAIRS    gensim's evaluators; `-` leaves one out
    bench_sides.py watch COMMAND...                 wall and CPU seconds and peak memory

SETTINGS is JSON under our names (dim, window, negative, sample, lr, epochs, min_count, threads,
seed). Each prints one line of JSON. Nothing here compares or averages.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

Result = dict[str, Any]


def pin_to_one_processor() -> None:
    """Keep this process on one processor, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def ours_epoch(corpus: str, settings: str) -> Result:
    """Train one epoch on one thread; the trainer's own clock leaves counting and compiling out."""
    from w2v_sgns import train
    from w2v_sgns.training.events import Event

    pin_to_one_processor()
    ends: list[Event] = []
    train(
        corpus,
        progress=lambda event: ends.append(event) if event.phase == "epoch" else None,
        **json.loads(settings) | {"epochs": 1, "threads": 1},
    )
    return {"cpu_seconds": ends[-1].cpu_seconds, "loss": ends[-1].loss}


def gensim_model(settings: Result) -> Any:
    """Return gensim's trainer with the same settings under its names."""
    from gensim.models import Word2Vec

    return Word2Vec(
        sg=1,
        vector_size=settings["dim"],
        window=settings["window"],
        negative=settings["negative"],
        sample=settings["sample"],
        alpha=settings["lr"],
        min_alpha=settings["lr"] / 10_000,
        min_count=settings["min_count"],
        workers=settings["threads"],
        seed=settings["seed"],
    )


def gensim_fit(model: Any, lines: str, epochs: int) -> None:
    """Train on the file of lines."""
    model.train(
        corpus_file=lines,
        total_words=model.corpus_total_words,
        total_examples=model.corpus_count,
        epochs=epochs,
    )


def gensim_epoch(lines: str, settings: str) -> Result:
    """Train one epoch on one thread; the vocabulary is built before the clock starts."""
    pin_to_one_processor()
    model = gensim_model(json.loads(settings) | {"threads": 1})
    model.build_vocab(corpus_file=lines)
    start = time.process_time()
    gensim_fit(model, lines, 1)
    return {"cpu_seconds": time.process_time() - start}


def gensim_train(lines: str, out: str, settings: str) -> Result:
    """Do the whole run: vocabulary, training, saving as word2vec binary."""
    chosen = json.loads(settings)
    model = gensim_model(chosen)
    model.build_vocab(corpus_file=lines)
    gensim_fit(model, lines, chosen["epochs"])
    model.wv.save_word2vec_format(out, binary=True)
    return {"types": len(model.wv)}


def export(model_file: str, out: str) -> Result:
    """Write our input vectors as word2vec binary: a header line, then word, blank, float32s."""
    from w2v_sgns import Model

    model = Model.load(model_file)
    rows = np.asarray(model.E, "<f4")
    with open(out, "wb") as file:
        file.write(b"%d %d\n" % rows.shape)
        for word, row in zip(model.vocabulary, rows, strict=True):
            file.write(word.encode("utf-8", "surrogateescape") + b" " + row.tobytes() + b"\n")
    return {"types": rows.shape[0], "dim": rows.shape[1]}


def judge(vectors: str, questions: str, pairs: str) -> Result:
    """Score vectors with gensim's evaluators: shares of right answers, Spearman's rho."""
    from gensim.models import KeyedVectors

    loaded = KeyedVectors.load_word2vec_format(vectors, binary=True, unicode_errors="replace")
    scores: Result = {}
    if questions != "-":
        scores |= _analogies(loaded, questions)
    if pairs != "-":
        with warnings.catch_warnings():  # gensim 4.4 hands SciPy sequences it is to deprecate
            warnings.simplefilter("ignore", DeprecationWarning)
            scores["pairs"] = float(loaded.evaluate_word_pairs(pairs)[1][0])
    return scores


def _analogies(vectors: Any, questions: str) -> Result:
    """Return the shares over all questions, over gram* sections and over the others."""
    total, sections = vectors.evaluate_word_analogies(
        questions, restrict_vocab=30_000, case_insensitive=False
    )
    named = [section for section in sections if section["section"] != "Total accuracy"]
    gram = [section for section in named if section["section"].startswith("gram")]
    rest = [section for section in named if section not in gram]
    asked = sum(len(section["correct"]) + len(section["incorrect"]) for section in named)
    return {
        "analogies": total,
        "semantic": _share(rest),
        "syntactic": _share(gram),
        "questions_asked": asked,
    }


def _share(sections: list[Any]) -> float | None:
    right = sum(len(section["correct"]) for section in sections)
    wrong = sum(len(section["incorrect"]) for section in sections)
    return right / (right + wrong) if right + wrong else None


def watch(*command: str) -> Result:
    """Run a command and report what it used.

    The system counts a child's peak memory from the size of the process that started it, so a
    small process (this one) does the starting.
    """
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert child.stderr is not None
    messages = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"failed: {' '.join(command)}\n{messages.decode(errors='replace')}")
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "wall_seconds": wall,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * unit,
    }


SIDES = {
    "ours-epoch": ours_epoch,
    "gensim-epoch": gensim_epoch,
    "gensim-train": gensim_train,
    "export": export,
    "judge": judge,
    "watch": watch,
}


def run_side(name: str, *arguments: str | Path) -> Result:
    """Run one of the sides in a fresh process and return what it printed."""
    command = [sys.executable, __file__, name, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=clean_environment())
    if done.returncode != 0:
        raise SystemExit(f"{name} failed:\n{done.stderr}")
    result: Result = json.loads(done.stdout.splitlines()[-1])
    return result


def clean_environment() -> dict[str, str]:
    """Return the environment without a forced OpenBLAS kernel, which would slow gensim down."""
    forced = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
    return {name: value for name, value in os.environ.items() if name not in forced}


if __name__ == "__main__":
    print(json.dumps(SIDES[sys.argv[1]](*sys.argv[2:])))
