"""What `w2v train` can be told beside its text: every option with its help.

Values are parsed here, never judged: ranges are the library's business.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from w2v_sgns.cli.corpus_options import CORPUS, RUN, option
from w2v_sgns.config import WHOLE_LINE

__all__ = ["ALIASES"]

TRAINING, GOING_ON = "Training", "Stopping and going on"

# What the same setting is called in older tools; accepted, not shown.
ALIASES = {
    "--size": "--dim",
    "--vector-size": "--dim",
    "--ws": "--window",
    "--neg": "--negative",
    "--ns-exponent": "--noise-exponent",
    "-t": "--sample",
    "--iter": "--epochs",
    "--epoch": "--epochs",
    "--alpha": "--lr",
    "--min-alpha": "--min-lr",
    "--workers": "--threads",
}


def _words(name: str, text: str, metavar: str) -> Any:
    return option(name, text, panel=CORPUS, metavar=metavar)


def _training(name: str, text: str, metavar: str | None = None) -> Any:
    return option(name, text, panel=TRAINING, metavar=metavar)


def _going_on(name: str, text: str, metavar: str | None = None) -> Any:
    return option(name, text, panel=GOING_ON, metavar=metavar)


def _parsed_window(value: Any) -> Any:
    """Parse a number of words, or the word line."""
    return WHOLE_LINE if value == WHOLE_LINE else int(value)


# --- words

MinCount = Annotated[int, _words("--min-count", "Drop words seen less often.", "N")]
MaxVocab = Annotated[int | None, _words("--max-vocab", "Keep only the N most frequent words.", "N")]
KeepWords = Annotated[
    Path | None, _words("--keep-words", "Words, one a line, that stay however rare.", "FILE")
]
ReadVocab = Annotated[
    Path | None,
    _words("--read-vocab", "Take words and counts from here, not from the corpus.", "FILE"),
]
SaveVocab = Annotated[Path | None, _words("--save-vocab", "Write words and counts here.", "FILE")]
VocabFormat = Annotated[
    str,
    _words(
        "--vocab-format",
        "Of --save-vocab: word<TAB>count, or what word2vec.c reads.",
        "tsv|word2vec",
    ),
]
Sample = Annotated[
    float, _words("--sample", "Thin out words more frequent than this share; 0 keeps all.", "T")
]

# --- training

Dim = Annotated[int, _training("--dim", "Numbers in a vector.", "D")]
Window = Annotated[
    Any,
    typer.Option(
        "--window",
        parser=_parsed_window,
        help="Most words on either side that are context; line: the whole line.",
        rich_help_panel=TRAINING,
        metavar="N|line",
    ),
]
FixedWindow = Annotated[
    bool, _training("--fixed-window", "Always the whole window, not one drawn from 1..N.")
]
Objective = Annotated[
    str,
    _training(
        "--objective",
        "What is minimised: sgns, nce, nce-sigmoid, softmax (exact) or inbatch (a softmax over "
        "the batch).",
        "NAME",
    ),
]
Bias = Annotated[bool, _training("--bias", "Train a bias of each output word too.")]
Negative = Annotated[int, _training("--negative", "Noise words a window.", "K")]
NoiseExponent = Annotated[
    float | None,
    _training(
        "--noise-exponent", "Noise is drawn from count^A; else 0.75 (sgns) or 0 (nce forms).", "A"
    ),
]
SharedNoise = Annotated[
    str,
    _training(
        "--shared-noise", "Draw noise words for each window, or for 128 at once.", "window|batch"
    ),
]
Collisions = Annotated[
    str,
    _training(
        "--collisions",
        "A noise word equal to the true one: keep, or drop (sgns, nce).",
        "keep|drop",
    ),
]
Epochs = Annotated[int, _training("--epochs", "Passes over the corpus.", "N")]
LearningRate = Annotated[float, _training("--lr", "Learning rate at the start.", "X")]
MinLearningRate = Annotated[
    float | None, _training("--min-lr", "Learning rate at the end; else lr/10000.", "X")
]
Seed = Annotated[int, _training("--seed", "Start of all random numbers.", "N")]

Init = Annotated[
    Path | None, _training("--init", "Start from these vectors, in any readable format.", "FILE")
]
GrowVocab = Annotated[
    bool, _training("--grow-vocab", "Keep all words of --init, and add the text's new ones.")
]
Freeze = Annotated[
    Path | None,
    _training("--freeze", "Words, one a line, whose rows stay as --init has them.", "FILE"),
]

# --- stopping and going on

Holdout = Annotated[
    float,
    _going_on("--holdout", "Keep this share of lines out, and tell their loss.", "SHARE"),
]
Patience = Annotated[
    int | None,
    _going_on(
        "--patience", "Stop after N epochs without a lower held-out loss; keep the best.", "N"
    ),
]

CheckpointEvery = Annotated[
    float | None,
    _going_on(
        "--checkpoint-every",
        "Save the training so often, and at every epoch's end; else 10, and at the end of long "
        "epochs.",
        "MINUTES",
    ),
]
Resume = Annotated[
    Path | None,
    _going_on("--resume", "Go on from this checkpoint, with its text and settings.", "FILE"),
]
StopAfter = Annotated[
    int | None, _going_on("--stop-after", "Stop with a checkpoint after epoch N.", "N")
]

# --- output and machine

Deterministic = Annotated[
    bool,
    option(
        "--deterministic",
        "Threads work in step: the same vectors in every run with so many of them, in about twice "
        "the time.",
        panel=RUN,
    ),
]

LogJson = Annotated[
    Path | None,
    option(
        "--log-json",
        "Write all that happens here, a line of JSON each.",
        panel=RUN,
        metavar="FILE",
    ),
]

Plot = Annotated[
    Path | None,
    option(
        "--plot",
        "Draw the loss here at the end: .png, .svg, .html (extra: plot).",
        panel=RUN,
        metavar="FILE",
    ),
]
Device = Annotated[
    str,
    option(
        "--device",
        "Train on the processors, on an NVIDIA GPU (extra: cuda), or where it should be faster.",
        panel=RUN,
        metavar="cpu|cuda|auto",
    ),
]
Streams = Annotated[
    int,
    option(
        "--streams",
        "Windows a GPU trains at once; 0: as many as text and GPU bear.",
        panel=RUN,
        metavar="N",
    ),
]
Output = Annotated[
    Path,
    typer.Option("-o", "--output", metavar="FILE", help="Model to write.", rich_help_panel=RUN),
]
Force = Annotated[
    bool,
    option(
        "--force",
        "Replace an existing output; resume in spite of differences; train a softmax of more "
        "than an hour.",
        panel=RUN,
    ),
]
Cluster = Annotated[
    str | None,
    option(
        "--cluster",
        "Train on all machines of this Ray cluster (extra: cluster); none: on this one, where a "
        "resumed run had a cluster.",
        panel=RUN,
        metavar="HOST:PORT",
    ),
]
EngineName = Annotated[
    str,
    option(
        "--engine",
        "What connects the machines: ray (--cluster), or mpi, under mpiexec (extra: mpi).",
        panel=RUN,
        metavar="ray|mpi",
    ),
]
SyncWords = Annotated[
    int | None,
    option(
        "--sync-words",
        "Merge the machines' vectors after so many words of each; else as often as is cheap.",
        panel=RUN,
        metavar="N",
    ),
]
SyncType = Annotated[
    str,
    option(
        "--sync-type",
        "How vectors travel between machines.",
        panel=RUN,
        metavar="int8|float32",
    ),
]
DryRun = Annotated[
    bool, option("--dry-run", "Count, say what training would take, write nothing.", panel=RUN)
]
Quiet = Annotated[bool, option("--quiet", "Say nothing but errors.", panel=RUN)]
