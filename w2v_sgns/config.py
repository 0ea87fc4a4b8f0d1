"""The settings of a training run: what changes the vectors, and what does not.

:class:`TrainConfig` is stored with the model; :class:`RunOptions` (threads, output, memory)
is not. A command-line flag, a field here, a Python keyword and a JSON key share one name.
Ranges are checked here and nowhere else.
"""

from __future__ import annotations

import codecs
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

from w2v_sgns.errors import ConfigError

__all__ = ["DEFAULT_MODEL", "OBJECTIVES", "PairConfig", "RunOptions", "TrainConfig"]

DEFAULT_MODEL = Path("model.safetensors")  # written and read where no other is named

OBJECTIVES = ("sgns", "nce", "nce-sigmoid", "softmax")
# q(w) ∝ count^exponent where none is given: the published choice of each; softmax has no noise
NOISE_EXPONENTS = {"sgns": 0.75, "nce": 0.0, "nce-sigmoid": 0.0, "softmax": None}
COLLISIONS = ("keep", "drop")
SHARED_NOISE = ("window", "batch")
WHOLE_LINE = "line"  # a window that reaches from the line's start to its end
# One seed word of the random streams, and far beyond any seed a person types.
MAX_SEED = 2**63 - 1
MOST_LR = 1e6  # far beyond any use, far within float32
MOST_MINUTES = 1e6  # two years
# The kernel addresses a window's scores from one scratch block a thread: its size is bounded.
MAX_DIM, MAX_WINDOW, MAX_NEGATIVE = 16_384, 1_000, 1_000


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """How bytes become lines of words; shared by all verbs that read a corpus.

    Raises:
        ConfigError: a value is unknown or out of range.
    """

    encoding: str = "utf-8"  # of the text; a byte order mark of UTF-16 or UTF-32 wins over UTF-8
    encoding_errors: str = "keep"  # bytes that are no text: keep them as they are, or strict
    split: str = "ascii"  # which blanks end a word: ASCII's, or all of Unicode's
    tokenizer: str = "whitespace"  # or words: lower-cased runs of letters and digits
    lowercase: bool = False
    max_token_bytes: int | None = None  # longer words are dropped whole; None: no limit
    text_field: str | None = None  # the corpus is JSON lines, its text in this field
    column: str | None = None  # the corpus is Parquet or Arrow, its text in this column
    recursive: bool = False  # read the folders inside folders too

    def __post_init__(self) -> None:
        """Check every value."""
        _one_of("encoding_errors", self.encoding_errors, ("keep", "strict"))
        _one_of("split", self.split, ("ascii", "unicode"))
        _one_of("tokenizer", self.tokenizer, ("whitespace", "words"))
        if self.max_token_bytes is not None:
            _whole("max_token_bytes", self.max_token_bytes, 1, MAX_SEED)
        if self.text_field is not None and self.column is not None:
            raise ConfigError(
                "--text-field (JSON lines) and --column (Parquet, Arrow) exclude each"
                " other; give the one that fits the files"
            )
        try:
            is_text = codecs.lookup(self.encoding)._is_text_encoding
        except (LookupError, TypeError, ValueError):
            is_text = False
        if not is_text:
            raise ConfigError(
                f"--encoding knows no {self.encoding!r}; examples: utf-8, latin-1, cp1252, "
                "utf-16-le, gb18030, shift_jis"
            )


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
    negative: int = 5  # k, noise words a window; softmax has none
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
        _whole("dim", self.dim, 1, MAX_DIM)
        if self.window != WHOLE_LINE:
            _whole("window", self.window, 1, MAX_WINDOW)
        if self.max_vocab is not None:
            _whole("max_vocab", self.max_vocab, 2, MAX_SEED)
        _whole("negative", self.negative, 1, MAX_NEGATIVE)
        _whole("epochs", self.epochs, 1, 1_000_000)
        _whole("min_count", self.min_count, 1, MAX_SEED)
        _whole("seed", self.seed, 0, MAX_SEED)
        _real("lr", self.lr, above=0.0, most=MOST_LR)
        _flag_value("fixed_window", self.fixed_window)
        self._check_start()
        _real("holdout", self.holdout, least=0.0, most=0.5)
        if self.patience is not None:
            _whole("patience", self.patience, 1, 1_000_000)
            if not self.holdout:
                raise ConfigError("--patience watches the held-out loss; give --holdout 0.01 too")
        _real("sample", self.sample, least=0.0)
        _one_of("objective", self.objective, OBJECTIVES)
        _flag_value("bias", self.bias)
        if self.min_lr is not None:
            _real("min_lr", self.min_lr, least=0.0)
            if self.min_lr > self.lr:
                raise ConfigError(f"--min-lr {self.min_lr:g} is above --lr {self.lr:g}")
        _one_of("collisions", self.collisions, COLLISIONS)
        _one_of("shared_noise", self.shared_noise, SHARED_NOISE)
        self._check_noise()

    def _check_noise(self) -> None:
        """Refuse settings of the noise that the objective has no use for; set its exponent."""
        if self.objective == "softmax":
            self._refuse_noise()
        if self.objective == "nce-sigmoid" and self.collisions == "drop":
            raise ConfigError(
                "--collisions drop has no optimum with --objective nce-sigmoid: σ(s) would have "
                "to be P/(1 − P), which can exceed 1; keep them, or use --objective nce"
            )
        if self.noise_exponent is None:
            object.__setattr__(self, "noise_exponent", NOISE_EXPONENTS[self.objective])
        else:
            _real("noise_exponent", self.noise_exponent, least=-10.0, most=10.0)

    def _refuse_noise(self) -> None:
        given = {
            "--noise-exponent": self.noise_exponent is not None,
            "--collisions drop": self.collisions != "keep",
            "--shared-noise batch": self.shared_noise != "window",
        }
        for flag in (flag for flag, is_given in given.items() if is_given):
            raise ConfigError(
                f"{flag} is about noise words; --objective softmax sums over all words instead: "
                "leave it out"
            )

    def _check_start(self) -> None:
        """Refuse what only makes sense with vectors to start from."""
        _flag_value("grow_vocab", self.grow_vocab)
        for name in ("grow_vocab", "freeze"):
            if getattr(self, name) and self.init is None:
                raise ConfigError(f"{_flag(name)} needs vectors to start from: --init FILE")

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


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What leaves the vectors' meaning alone: where the result goes, what the run may use.

    Raises:
        ConfigError: a value is out of range.
    """

    output: Path | None = None  # model file to write; None: nothing is written
    threads: int = 0  # 0: every processor this process may use
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
        _whole("threads", self.threads, 0, MAX_SEED)
        if self.checkpoint_every is not None:
            _real("checkpoint_every", self.checkpoint_every, above=0.0, most=MOST_MINUTES)
        if self.stop_after is not None:
            _whole("stop_after", self.stop_after, 1, 1_000_000)
        _one_of("vocab_format", self.vocab_format, ("tsv", "word2vec"))
        if self.memory is not None:
            parse_size(self.memory)


LOSSES = ("dpr", "clip", "simcse", "simcse-unsup")
TEMPERATURES = {"clip": 0.07, "dot": 1.0}  # else 0.05
MOST_SCALE = 100.0  # e^t is bounded so, as CLIP's


@dataclass(frozen=True, kw_only=True)
class PairConfig(TextOptions):
    """How vectors are tuned on text pairs; stored with the tuned model.

    Raises:
        ConfigError: a value is out of range, or two exclude each other.
    """

    loss: str = "clip"  # dpr: rows; clip: rows and columns, learned scale; simcse: hard negatives
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
    duplicates: str = "mask"  # equal documents in a batch: mask, or keep as negatives
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
        _one_of("loss", self.loss, LOSSES)
        _one_of("similarity", self.similarity, ("cosine", "dot"))
        _one_of("optimizer", self.optimizer, ("adagrad", "adam"))
        _one_of("duplicates", self.duplicates, ("mask", "keep"))
        _one_of("form", self.form, ("official", "ntxent"))
        if self.temperature is not None:
            _real("temperature", self.temperature, least=1 / MOST_SCALE, most=MOST_SCALE)
        _whole("batch", self.batch, 1, 1 << 20)
        _whole("epochs", self.epochs, 1, 1_000_000)
        _real("lr", self.lr, above=0.0, most=MOST_LR)
        _real("warmup", self.warmup, least=0.0, most=1.0)
        _whole("towers", self.towers, 1, 2)
        _whole("mine", self.mine, 0, 1000)
        if self.dropout is not None:
            _real("dropout", self.dropout, least=0.0, most=0.9)
        _whole("dim", self.dim, 1, MAX_DIM)
        _whole("min_count", self.min_count, 1, MAX_SEED)
        _whole("seed", self.seed, 0, MAX_SEED)
        for name in ("weights", "logq", "from_scratch"):
            _flag_value(name, getattr(self, name))
        self._check_together()

    def _check_together(self) -> None:
        if self.similarity == "dot" and self.loss != "dpr":
            raise ConfigError(f"--similarity dot belongs to --loss dpr; {self.loss} is by cosine")
        if self.unsupervised:
            for name in ("mine", "logq"):
                if getattr(self, name):
                    raise ConfigError(f"{_flag(name)} needs pairs; simcse-unsup has single texts")
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


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _one_of(name: str, value: Any, known: tuple[str, ...]) -> None:
    """Refuse what is not one of the known words."""
    if value not in known:
        raise ConfigError(f"{_flag(name)} must be one of {', '.join(known)}, not {value!r}")


def _whole(name: str, value: Any, least: int, most: int) -> None:
    """Refuse what is not a whole number in least..most."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ConfigError(f"{_flag(name)} needs a whole number, not {value!r}")
    if not least <= value.__index__() <= most:
        raise ConfigError(f"{_flag(name)} must be from {least:,} to {most:,}, not {value}")


def _flag_value(name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        raise ConfigError(f"{_flag(name)} is on or off: True or False, not {value!r}")


def _real(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float = math.inf,
) -> None:
    """Refuse what is not a finite number above `above`, at least `least`, at most `most`."""
    try:
        number = math.nan if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    bound = f" above {above:g}" if above is not None else ""
    bound = f" of at least {least:g}" if least is not None else bound
    bound += f" and at most {most:g}" if most < math.inf else ""
    low = (above is not None and number <= above) or (least is not None and number < least)
    if not math.isfinite(number) or low or number > most:
        raise ConfigError(f"{_flag(name)} needs a finite number{bound}, not {value!r}")
