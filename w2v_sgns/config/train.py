"""What changes the vectors: stored with the model."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

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

__all__ = ["COMPARED", "OBJECTIVES", "WHOLE_LINE", "TrainConfig"]

OBJECTIVES = ("sgns", "nce", "nce-sigmoid", "softmax", "inbatch")
COMPARED = OBJECTIVES[:4]  # by w2v compare, where none are named
# q(w) ∝ count^exponent where none is given: the published choice of each; None: no noise is drawn
NOISE_EXPONENTS = {"sgns": 0.75, "nce": 0.0, "nce-sigmoid": 0.0, "softmax": None, "inbatch": None}
INSTEAD = {
    "softmax": "sums over all words instead",
    "inbatch": "takes the words of the batch's other pairs instead",
}
COLLISIONS = ("keep", "drop")
SHARED_NOISE = ("window", "batch")
WHOLE_LINE = "line"  # a window that reaches from the line's start to its end
MAX_WINDOW, MAX_NEGATIVE = 1_000, 1_000  # bounded as MAX_DIM is


@dataclass(frozen=True, kw_only=True)
class TrainConfig(TextOptions):
    """What changes the vectors.

    Raises:
        ConfigError: a value is out of range; the message names the flag, the value and the range.
    """

    dim: int = 100  # d, components of a vector
    window: int | str = 5  # most tokens on either side of the middle one, or "line": all of them
    fixed_window: bool = False  # False: the size is drawn from 1..window at every token
    objective: str = "sgns"  # what is minimised
    bias: bool = False  # train a bias of each output word too
    negative: int = 5  # k, noise words a window; softmax and inbatch have none
    noise_exponent: float | None = None  # q(w) ∝ count(w)^noise_exponent; None: the objective's
    shared_noise: str = "window"  # noise words are drawn for each window, or for a batch of them
    collisions: str = "keep"  # a noise word equal to the positive: keep it, or drop it
    sample: float = 1e-4  # t, subsampling threshold; 0 keeps every token
    epochs: int = 5
    lr: float = 0.05  # learning rate at the start, falling on one line to min_lr
    min_lr: float | None = None  # learning rate at the end; None: lr / 10,000
    min_count: int = 5  # words seen less often are dropped
    max_vocab: int | None = None  # only the most frequent words; None: all
    keep_words: str | Path | None = None  # a file of words that stay, however rare
    seed: int = 1
    init: str | Path | None = None  # vectors to start from, in any readable format
    grow_vocab: bool = False  # init's words all stay, the corpus's new ones are added
    freeze: str | Path | None = None  # a file of words whose rows stay as init has them
    holdout: float = 0.0  # share of lines that are not trained on, for their loss
    patience: int | None = None  # epochs without a better held-out loss before training stops

    def __post_init__(self) -> None:
        """Check every range."""
        super().__post_init__()
        whole("dim", self.dim, 1, MAX_DIM)
        if self.window != WHOLE_LINE:
            whole("window", self.window, 1, MAX_WINDOW)
        if self.max_vocab is not None:
            whole("max_vocab", self.max_vocab, 2, MAX_SEED)
        whole("negative", self.negative, 1, MAX_NEGATIVE)
        whole("epochs", self.epochs, 1, 1_000_000)
        whole("min_count", self.min_count, 1, MAX_SEED)
        whole("seed", self.seed, 0, MAX_SEED)
        real("lr", self.lr, above=0.0, most=MOST_LR)
        on_or_off("fixed_window", self.fixed_window)
        self._check_start()
        real("holdout", self.holdout, least=0.0, most=0.5)
        if self.patience is not None:
            whole("patience", self.patience, 1, 1_000_000)
            if not self.holdout:
                raise ConfigError("--patience watches the held-out loss; give --holdout 0.01 too")
        real("sample", self.sample, least=0.0)
        one_of("objective", self.objective, OBJECTIVES)
        on_or_off("bias", self.bias)
        if self.min_lr is not None:
            real("min_lr", self.min_lr, least=0.0)
            if self.min_lr > self.lr:
                raise ConfigError(f"--min-lr {self.min_lr:g} is above --lr {self.lr:g}")
        one_of("collisions", self.collisions, COLLISIONS)
        one_of("shared_noise", self.shared_noise, SHARED_NOISE)
        self._check_noise()

    def _check_noise(self) -> None:
        """Refuse settings of the noise that the objective has no use for; set its exponent."""
        if self.without_noise:
            self._refuse_noise()
        if self.objective == "nce-sigmoid" and self.collisions == "drop":
            raise ConfigError(
                "--collisions drop has no optimum with --objective nce-sigmoid: σ(s) would have "
                "to be P/(1 − P), which can exceed 1; keep them, or use --objective nce"
            )
        if self.noise_exponent is None:
            object.__setattr__(self, "noise_exponent", NOISE_EXPONENTS[self.objective])
        else:
            real("noise_exponent", self.noise_exponent, least=-10.0, most=10.0)

    def _refuse_noise(self) -> None:
        given = {
            "--noise-exponent": self.noise_exponent is not None,
            "--collisions drop": self.collisions != "keep",
            "--shared-noise batch": self.shared_noise != "window",
        }
        for flag in (flag for flag, is_given in given.items() if is_given):
            raise ConfigError(
                f"{flag} is about noise words; --objective {self.objective} "
                f"{INSTEAD[self.objective]}: leave it out"
            )

    def _check_start(self) -> None:
        """Refuse what only makes sense with vectors to start from."""
        on_or_off("grow_vocab", self.grow_vocab)
        for name in ("grow_vocab", "freeze"):
            if getattr(self, name) and self.init is None:
                raise ConfigError(f"{flag_of(name)} needs vectors to start from: --init FILE")

    @property
    def in_batches(self) -> bool:
        """Whether whole batches are trained: their sums are the same on any number of threads."""
        return self.without_noise or self.shared_noise == "batch"

    @property
    def without_noise(self) -> bool:
        """Whether no noise words are drawn."""
        return NOISE_EXPONENTS[self.objective] is None

    @property
    def final_lr(self) -> float:
        """The learning rate at the end of the last epoch."""
        return self.lr / 10_000 if self.min_lr is None else self.min_lr

    def to_dict(self) -> dict[str, Any]:
        """Return the settings under their names, ready for JSON."""
        text = {field.name for field in fields(TextOptions)}
        settings = dict(sorted(asdict(self).items(), key=lambda item: item[0] in text))
        return {name: self.stored(name, value) for name, value in settings.items()}

    @staticmethod
    def stored(name: str, value: Any) -> Any:
        """Return a setting's value as a model file holds it: of a path the name alone."""
        if name in ("keep_words", "init", "freeze") and value is not None:
            return Path(value).name
        return value

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> Self:
        """Build a config from a model file's settings; keys of newer versions are ignored."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in settings.items() if name in known})
