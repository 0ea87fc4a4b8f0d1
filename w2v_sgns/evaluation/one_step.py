"""One training step written out: scores, losses, gradients, and what the update brings.

A step here is one pair of center and target with its noise words, or with all words for the
softmax. All is computed by the float64 functions of objectives/, at the old values; the model
itself stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from w2v_sgns.config import TrainConfig
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import ConfigError
from w2v_sgns.model import Model
from w2v_sgns.objectives import nce, sgns, softmax, window
from w2v_sgns.objectives.stable import log_softmax, sigmoid
from w2v_sgns.sampling import noise_distribution
from w2v_sgns.vectors import Vectors

__all__ = ["Example", "OneStep", "Row", "of_model", "one_step", "toy"]

Matrix = npt.NDArray[np.float64]
MOST_WORDS = 10  # of a softmax are written out

TOY_WORDS = ("the", "cat", "sat", "on", "mat")
TOY_E = (
    (0.12, 0.45, -0.31),
    (-0.58, 0.22, 0.17),
    (0.33, -0.27, 0.84),
    (0.05, -0.64, 0.29),
    (0.71, 0.10, -0.46),
)
TOY_EP = (
    (0.24, -0.37, 0.09),
    (-0.55, 0.15, 0.08),
    (-0.16, 0.52, 0.41),
    (0.39, -0.19, 0.28),
    (0.65, 0.68, 0.26),
)
TOY_PRINTED = "sat"  # the word whose row of E the article prints
TOY_FITTED = ("cat", "on", "mat")  # the words whose rows of Ep its figures depend on


@dataclass(frozen=True, kw_only=True)
class Example:
    """What a step is taken on: rows, words, and the settings it is taken with."""

    name: str
    E: npt.NDArray[Any]  # (V, d)
    Ep: npt.NDArray[Any]  # (V, d)
    bias: npt.NDArray[Any] | None  # (V,)
    vocabulary: Vocabulary
    config: TrainConfig
    negatives: tuple[str, ...] | None = None  # where none are named; None: drawn
    # what there is to say of the input row of a word and the output rows of others
    notes: Callable[[str, Sequence[str]], tuple[str, ...]] = lambda center, outputs: ()

    def rows(self, words: Sequence[str]) -> list[int]:
        """Return the words' rows.

        Raises:
            UnknownWordError: names those that are missing.
        """
        return Vectors(self.E, self.vocabulary).rows(words)

    @property
    def q(self) -> Matrix:
        """The noise distribution, (V,).

        Raises:
            ConfigError: it needs counts, and the model has none.
        """
        counts, exponent = self.vocabulary.counts, self.config.noise_exponent or 0.0
        if counts is None and exponent:
            raise ConfigError(
                f"{self.name} has no counts to draw noise from; name --negatives and use "
                "--objective sgns"
            )
        return noise_distribution(
            np.ones(len(self.vocabulary)) if counts is None else counts, exponent
        )


@dataclass(frozen=True, kw_only=True)
class Row:
    """One output word of a step; gradients and new values are of the word, all uses summed."""

    word: str
    label: float  # 1 the target, 0 noise; in a softmax 1 or 0 as well
    score: float  # s
    probability: float  # σ(s); in a softmax its value
    log_kq: float | None  # what NCE subtracts
    term: float  # loss; 0 for a dropped collision
    error: float  # ∂L/∂s
    gradient: Matrix  # (d,) ∂L/∂Ep[w]
    updated: Matrix  # (d,)
    bias: float | None  # b, before; part of the score. None: the model has none
    bias_gradient: float | None  # ∂L/∂b[w]
    updated_bias: float | None


@dataclass(frozen=True, kw_only=True)
class OneStep:
    """A step, its parts and its effect."""

    example: str
    objective: str
    center: str
    target: str
    lr: float
    vector: Matrix  # (d,) E[center], before
    gradient: Matrix  # (d,) ∂L/∂E[center]
    updated: Matrix  # (d,) E[center], after
    rows: tuple[Row, ...]  # the target first
    loss: float
    loss_center_only: float  # once E[center] is updated
    loss_all: float  # once everything is
    notes: tuple[str, ...]


def toy() -> Example:
    """Return the five words of the article, in float64."""
    return Example(
        name="the five-word toy",
        E=np.array(TOY_E),
        Ep=np.array(TOY_EP),
        bias=None,
        vocabulary=Vocabulary.from_words(TOY_WORDS, np.ones(5, np.int64)),
        config=TrainConfig(dim=3, negative=2, lr=0.1),
        negatives=("cat", "mat"),
        notes=_toy_notes,
    )


def _toy_notes(center: str, outputs: Sequence[str]) -> tuple[str, ...]:
    """Say which of the rows used the article prints or determines, and which are made up."""
    used = [word for word in TOY_WORDS if word in outputs]
    fitted = [f"Ep[{word}]" for word in used if word in TOY_FITTED]
    free = [f"E[{center}]"] if center != TOY_PRINTED else []
    free += [f"Ep[{word}]" for word in used if word not in TOY_FITTED]
    notes = []
    if fitted:
        notes.append(
            f"{_listed(fitted)} reconstructed: the article does not print Ep, and 692 choices of "
            "the rows of cat, on and mat give all its printed figures (two decimals, entries "
            "within 1)."
        )
    if free:
        notes.append(f"{_listed(free)} made up: no figure of the article depends on them.")
    return tuple(notes)


def _listed(rows: Sequence[str]) -> str:
    verb = "is" if len(rows) == 1 else "are"
    return f"{' and '.join(part for part in (', '.join(rows[:-1]), rows[-1]) if part)} {verb}"


def of_model(model: Model, name: str) -> Example:
    """Return a model's rows, with the settings it was trained with.

    Raises:
        ConfigError: its output rows are no context vectors: there is no step to show.
    """
    pairs = model.provenance.get("pairs")
    if (isinstance(pairs, dict) and pairs.get("towers") == 2) or not model.Ep.any():
        raise ConfigError(
            f"{name}: has no context vectors: it was tuned on pairs of texts; step needs a model "
            "of w2v train, or try --toy"
        )
    return Example(
        name=name,
        E=model.E,
        Ep=model.Ep,
        bias=model.output_bias,
        vocabulary=model.vocabulary,
        config=model.config,
    )


def one_step(
    example: Example,
    center: str,
    target: str,
    *,
    negatives: Sequence[str] | None = None,
    lr: float | None = None,
    objective: str | None = None,
) -> OneStep:
    """Take one step on copies of the rows it touches.

    negatives: noise words; None: the example's, else k of them drawn from its noise by its seed.
    lr, objective: None: the example's.

    Raises:
        UnknownWordError: a word the example does not have.
        ConfigError: a setting is out of range, noise words are named for the softmax, or the
            objective has no step of one pair.
    """
    example = replace(example, config=_settings(example.config, lr, objective))
    if example.config.objective == "inbatch":
        raise ConfigError(
            "--objective inbatch learns from the other pairs of a batch, one pair alone teaches "
            "it nothing; step shows sgns, nce, nce-sigmoid or softmax"
        )
    if example.config.objective == "softmax":
        if negatives is not None:
            raise ConfigError("--negatives: --objective softmax sums over all words; leave it out")
        return _softmax(example, center, target)
    noise = example.rows(negatives) if negatives is not None else _drawn(example)
    return _sampled(example, center, target, noise)


def _settings(config: TrainConfig, lr: float | None, objective: str | None) -> TrainConfig:
    """Return the settings of the step; those of the noise are kept with the objective alone."""
    same = objective in (None, config.objective)
    return TrainConfig(
        dim=config.dim,
        negative=config.negative,
        seed=config.seed,
        lr=config.lr if lr is None else lr,
        objective=config.objective if objective is None else objective,
        noise_exponent=config.noise_exponent if same else None,
        collisions=config.collisions if same else "keep",
    )


def _drawn(example: Example) -> list[int]:
    if example.negatives is not None:
        return example.rows(example.negatives)
    rng = np.random.default_rng(example.config.seed)
    q = example.q
    return [int(row) for row in rng.choice(len(q), example.config.negative, p=q)]


def _sampled(example: Example, center: str, target: str, noise: list[int]) -> OneStep:
    """Take a step of an objective with noise words."""
    config = example.config
    c, t = example.rows([center, target])
    ids, places = np.unique([t, *noise], return_inverse=True)  # only these rows take part
    outputs = [int(place) for place in places]
    E, Ep, bias = _copies(example, [c], ids)
    log_kq = None
    evaluate: Callable[..., window.Step] = partial(sgns.evaluate, collisions=config.collisions)
    if config.objective != "sgns":
        log_kq = np.log(max(1, len(noise)) * example.q[ids])
        evaluate = partial(
            nce.evaluate, log_kq=log_kq, form=config.objective, collisions=config.collisions
        )
    before = evaluate(E, Ep, [0], outputs, bias=bias)
    new_E, new_Ep = E.copy(), Ep.copy()
    new_bias = None if bias is None else bias.copy()
    window.update(before, new_E, new_Ep, [0], outputs, config.lr, bias=new_bias)
    dEp, db = np.zeros_like(Ep), np.zeros(len(Ep))
    np.add.at(dEp, outputs, before.dH)
    np.add.at(db, outputs, before.db)
    rows = tuple(
        Row(
            word=example.vocabulary.word(int(ids[place])),
            label=float(n == 0),
            score=float(before.scores[0, n]),
            probability=float(sigmoid(before.scores[0, n])),
            log_kq=None if log_kq is None else float(log_kq[place]),
            term=float(before.terms[0, n]),
            error=float(before.errors[0, n]),
            gradient=dEp[place],
            updated=new_Ep[place],
            **_biases(place, bias, db, new_bias),
        )
        for n, place in enumerate(outputs)
    )
    return _written(
        example,
        (center, target),
        rows,
        outputs=[row.word for row in rows],
        vectors=(E[0], before.dX[0], new_E[0]),
        losses=(
            before.loss,
            evaluate(new_E, Ep, [0], outputs, bias=bias).loss,
            evaluate(new_E, new_Ep, [0], outputs, bias=new_bias).loss,
        ),
    )


def _softmax(example: Example, center: str, target: str) -> OneStep:
    """Take a step of the exact softmax; the likeliest words are written out."""
    c, t = example.rows([center, target])
    words = len(example.vocabulary)
    E, Ep, bias = _copies(example, [c], np.arange(words))
    true = np.zeros((1, words))
    true[0, t] = 1
    before = softmax.evaluate(E, Ep, [0], true, bias=bias)
    new_E, new_Ep = E.copy(), Ep.copy()
    new_bias = None if bias is None else bias.copy()
    softmax.batch_step(new_E, new_Ep, [0], true, example.config.lr, bias=new_bias)
    db = before.errors.sum(axis=0)
    shares = np.exp(log_softmax(before.scores))[0]
    likely = [int(w) for w in np.argsort(-shares, kind="stable") if w != t][: MOST_WORDS - 1]
    rows = tuple(
        Row(
            word=example.vocabulary.word(w),
            label=float(w == t),
            score=float(before.scores[0, w]),
            probability=float(shares[w]),
            log_kq=None,
            term=before.loss if w == t else 0.0,
            error=float(before.errors[0, w]),
            gradient=before.dEp[w],
            updated=new_Ep[w],
            **_biases(w, bias, db, new_bias),
        )
        for w in (t, *likely)
    )
    return _written(
        example,
        (center, target),
        rows,
        outputs=list(example.vocabulary),
        vectors=(E[0], before.dX[0], new_E[0]),
        losses=(
            before.loss,
            softmax.evaluate(new_E, Ep, [0], true, bias=bias).loss,
            softmax.evaluate(new_E, new_Ep, [0], true, bias=new_bias).loss,
        ),
    )


def _biases(
    place: int, old: Matrix | None, gradient: Matrix, new: Matrix | None
) -> dict[str, float | None]:
    """Return a row's bias, as keywords of Row."""
    values = (old, None if old is None else gradient, new)
    names = ("bias", "bias_gradient", "updated_bias")
    return {n: None if v is None else float(v[place]) for n, v in zip(names, values, strict=True)}


def _copies(
    example: Example, inputs: list[int], outputs: npt.NDArray[np.int64]
) -> tuple[Matrix, Matrix, Matrix | None]:
    """Return float64 copies of some input rows, some output rows and their biases."""
    bias = None if example.bias is None else example.bias[outputs].astype(np.float64)
    return example.E[inputs].astype(np.float64), example.Ep[outputs].astype(np.float64), bias


def _written(
    example: Example,
    words: tuple[str, str],
    rows: tuple[Row, ...],
    *,
    outputs: Sequence[str],
    vectors: tuple[Matrix, Matrix, Matrix],
    losses: tuple[float, float, float],
) -> OneStep:
    return OneStep(
        example=example.name,
        objective=example.config.objective,
        center=words[0],
        target=words[1],
        lr=example.config.lr,
        vector=vectors[0],
        gradient=vectors[1],
        updated=vectors[2],
        rows=rows,
        loss=losses[0],
        loss_center_only=losses[1],
        loss_all=losses[2],
        notes=example.notes(words[0], outputs),
    )
