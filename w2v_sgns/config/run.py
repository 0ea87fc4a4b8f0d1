"""What leaves the vectors' meaning alone: files, threads, memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from w2v_sgns.config.ranges import MAX_SEED, on_or_off, one_of, real, whole
from w2v_sgns.errors import ConfigError

__all__ = ["DEFAULT_MODEL", "RunOptions", "parse_size"]

DEFAULT_MODEL = Path("model.safetensors")  # written and read where no other is named
DEVICES = ("cpu", "cuda", "auto")
MOST_STREAMS = 1_000_000
MOST_MINUTES = 1e6  # two years


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What leaves the vectors' meaning alone: where the result goes, what the run may use.

    Raises:
        ConfigError: a value is out of range.
    """

    output: Path | None = None  # model file to write; None: nothing is written
    threads: int = 0  # 0: every processor this process may use
    deterministic: bool = False  # several threads work in step: the same vectors in every run
    device: str = "cpu"  # where to train: cpu, cuda, or auto, whichever is expected to be faster
    streams: int = 0  # windows that a GPU trains at once; 0: by training/cuda/streams.py
    cluster: str | None = None  # address of a Ray cluster to train on; None: this machine alone
    engine: str = "ray"  # what connects the machines: ray, at `cluster`, or mpi, under mpiexec
    sync_words: int | None = None  # of a machine between two merges; None: by what a merge costs
    sync_type: str = "int8"  # how rows travel between machines; or float32
    memory: str | int | None = None  # bytes for ids and words, as 4000000000 or "4G"; None: 1/4
    force: bool = False  # replace an existing output
    save_vocab: str | Path | None = None  # write the words and their counts here
    read_vocab: str | Path | None = None  # take words and counts from here, not from the corpus
    vocab_format: str = "tsv"  # of save_vocab: word<TAB>count, or word2vec's "word count"
    checkpoint_every: float | None = None  # minutes; None: 10, and at epoch ends a minute apart
    resume: str | Path | None = None  # a checkpoint to go on from
    stop_after: int | None = None  # stop with a checkpoint after so many epochs of them all
    log_json: str | Path | None = None  # write every event here as a line of JSON
    plot: str | Path | None = None  # draw loss, learning rate and words/s here at the end

    def __post_init__(self) -> None:
        """Check every range."""
        whole("threads", self.threads, 0, MAX_SEED)
        one_of("device", self.device, DEVICES)
        whole("streams", self.streams, 0, MOST_STREAMS)
        self._check_deterministic()
        if self.checkpoint_every is not None:
            real("checkpoint_every", self.checkpoint_every, above=0.0, most=MOST_MINUTES)
        if self.stop_after is not None:
            whole("stop_after", self.stop_after, 1, 1_000_000)
        one_of("engine", self.engine, ("ray", "mpi"))
        if self.engine == "mpi" and self.cluster is not None:
            raise ConfigError("--cluster is the address of a Ray cluster; --engine mpi has none")
        one_of("sync_type", self.sync_type, ("int8", "float32"))
        if self.sync_words is not None:
            whole("sync_words", self.sync_words, 1, MAX_SEED)
            if not self.on_cluster:
                raise ConfigError("--sync-words is about several machines; give --cluster too")
        one_of("vocab_format", self.vocab_format, ("tsv", "word2vec"))
        if self.memory is not None:
            parse_size(self.memory)

    def _check_deterministic(self) -> None:
        on_or_off("deterministic", self.deterministic)
        if self.deterministic and self.on_cluster:
            raise ConfigError(
                "--deterministic is about the threads of one machine; several machines race: leave "
                "out one of the two"
            )
        if self.deterministic and self.device == "cuda":
            raise ConfigError(
                "--deterministic is about the processor's threads; on a GPU, --streams 1 gives the "
                "same vectors in every run: leave out one of the two"
            )

    @property
    def on_cluster(self) -> bool:
        """Whether several machines train."""
        return self.cluster is not None or self.engine == "mpi"


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(size: str | int) -> int:
    """Return the bytes meant by 4000000000, "512M" or "4G" (powers of 1024).

    Raises:
        ConfigError: not a positive size.
    """
    text = str(size).strip().upper().removesuffix("B").removesuffix("I")
    unit = text[-1:] if text[-1:] in _UNITS else ""
    try:
        value = float(text.removesuffix(unit)) * _UNITS[unit]
    except ValueError:
        value = math.nan
    if not 1 <= value < 2**62:
        raise ConfigError(f"--memory needs a size such as 512M or 4G, not {size!r}")
    return int(value)
