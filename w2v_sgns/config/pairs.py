"""How vectors are tuned on text pairs: stored with the tuned model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from w2v_sgns.config.ranges import (
    MAX_DIM,
    MAX_SEED,
    MOST_LR,
    flag_of,
    on_or_off,
    one_of,
    real,
    whole,
)
from w2v_sgns.config.text import TextOptions
from w2v_sgns.errors import ConfigError

__all__ = ["MOST_SCALE", "PairConfig"]

LOSSES = ("dpr", "clip", "simcse", "simcse-unsup")
TEMPERATURES = {"clip": 0.07, "dot": 1.0}  # else 0.05
MOST_SCALE = 100.0  # e^t is bounded so, as CLIP's


@dataclass(frozen=True, kw_only=True)
class PairConfig(TextOptions):
    """How vectors are tuned on text pairs; stored with the tuned model.

    Raises:
        ConfigError: a value is out of range, or two exclude each other.
    """

    loss: str = "clip"  # dpr: rows; clip: rows and columns, learned scale; simcse: dpr by cosine
    similarity: str = "cosine"  # or dot, for dpr
    temperature: float | None = None  # of the logits; None: 0.05, for clip 0.07, for dot 1
    batch: int = 1024  # most pairs in a batch; all batches are as large, but for one pair
    epochs: int = 5
    lr: float = 0.05  # at its highest
    warmup: float = 0.1  # share of the steps over which the rate rises, before it falls to 0
    optimizer: str = "adagrad"  # or adam
    towers: int = 1  # 2: queries and documents have tables of their own
    weights: bool = False  # learn a weight a word, from smooth inverse frequency on
    mine: int = 0  # hard negatives a query, searched anew before every epoch
    duplicates: str = "mask"  # known right documents of an equal query: mask, or keep
    logq: bool = False  # subtract the log of how often a document is drawn
    form: str = "official"  # of simcse-unsup; or ntxent
    dropout: float | None = None  # share of words left out of each text; None: 0, unsup 0.1
    from_scratch: bool = False  # vocabulary from the pairs, rows drawn at random
    dim: int = 100  # from scratch
    min_count: int = 1  # from scratch
    seed: int = 1

    def __post_init__(self) -> None:
        """Check every range."""
        super().__post_init__()
        one_of("loss", self.loss, LOSSES)
        one_of("similarity", self.similarity, ("cosine", "dot"))
        one_of("optimizer", self.optimizer, ("adagrad", "adam"))
        one_of("duplicates", self.duplicates, ("mask", "keep"))
        one_of("form", self.form, ("official", "ntxent"))
        if self.temperature is not None:
            real("temperature", self.temperature, least=1 / MOST_SCALE, most=MOST_SCALE)
        whole("batch", self.batch, 1, 1 << 20)
        whole("epochs", self.epochs, 1, 1_000_000)
        real("lr", self.lr, above=0.0, most=MOST_LR)
        real("warmup", self.warmup, least=0.0, most=1.0)
        whole("towers", self.towers, 1, 2)
        whole("mine", self.mine, 0, 1000)
        if self.dropout is not None:
            real("dropout", self.dropout, least=0.0, most=0.9)
        whole("dim", self.dim, 1, MAX_DIM)
        whole("min_count", self.min_count, 1, MAX_SEED)
        whole("seed", self.seed, 0, MAX_SEED)
        for name in ("weights", "logq", "from_scratch"):
            on_or_off(name, getattr(self, name))
        self._check_together()

    def _check_together(self) -> None:
        for name in ("dim", "min_count"):
            if not self.from_scratch and getattr(self, name) != getattr(type(self), name):
                raise ConfigError(
                    f"{flag_of(name)} belongs to --from-scratch; a model has its own words and rows"
                )
        if self.similarity == "dot" and self.loss != "dpr":
            raise ConfigError(f"--similarity dot belongs to --loss dpr; {self.loss} is by cosine")
        if self.unsupervised:
            for name in ("mine", "logq"):
                if getattr(self, name):
                    raise ConfigError(f"{flag_of(name)} needs pairs; simcse-unsup has single texts")
            if self.towers == 2:
                raise ConfigError("--towers 2 needs pairs; simcse-unsup has single texts")
        elif self.form != "official":
            raise ConfigError(f"--form ntxent belongs to --loss simcse-unsup, not {self.loss}")

    @property
    def unsupervised(self) -> bool:
        """Whether it learns from single texts."""
        return self.loss == "simcse-unsup"

    @property
    def first_temperature(self) -> float:
        """The temperature at the start; only clip's changes."""
        if self.temperature is not None:
            return self.temperature
        kind = "dot" if self.similarity == "dot" else self.loss
        return TEMPERATURES.get(kind, 0.05)

    @property
    def word_dropout(self) -> float:
        """The share of words that each text of a batch loses."""
        if self.dropout is not None:
            return self.dropout
        return 0.1 if self.unsupervised else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the settings under their names, ready for JSON."""
        return asdict(self)
