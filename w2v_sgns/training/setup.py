"""What a training starts with: the matrices, and the backend that fits the settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from w2v_sgns.config import TrainConfig
from w2v_sgns.training.schedule import Schedule

if TYPE_CHECKING:
    from w2v_sgns.corpus import Corpus
    from w2v_sgns.corpus.store import TokenStore
    from w2v_sgns.kernels.matrices import Matrix
    from w2v_sgns.training.backends import TrainingData
    from w2v_sgns.training.batches import BatchBackend
    from w2v_sgns.training.hogwild import HogwildBackend

__all__ = [
    "backend_for",
    "cpu_backend",
    "initial_matrices",
    "matrices_for",
    "output_bias",
    "settled",
    "training_data",
]


def cpu_backend(
    E: Matrix,
    Ep: Matrix,
    corpus: Corpus,
    config: TrainConfig,
    *,
    threads: int,
    window: int | None,
    held: TokenStore | None = None,
    stripes: int | None = None,
) -> tuple[HogwildBackend | BatchBackend, Schedule]:
    """Return what trains on this corpus, and its learning rates.

    `held`: a text to judge by instead, under the corpus's noise and subsampling, at rate zero.
    `stripes`: see backend_for.
    """
    data, schedule = settled(corpus, config, held)
    backend = backend_for(
        E, Ep, data, config, schedule, threads=threads, window=window, stripes=stripes
    )
    return backend, schedule


def settled(
    corpus: Corpus, config: TrainConfig, held: TokenStore | None = None
) -> tuple[TrainingData, Schedule]:
    """Return what every epoch reads, and the learning rates; `held`: see cpu_backend."""
    counts = corpus.vocabulary.counts
    assert counts is not None  # a counted corpus
    tokens = np.asarray((held or corpus.store).tokens)
    rates = (0.0, 0.0) if held is not None else (config.lr, config.final_lr)
    schedule = Schedule(start=rates[0], end=rates[1], tokens=len(tokens), epochs=config.epochs)
    data = training_data(tokens, counts, config, tokens_in_all=len(corpus.store.tokens))
    return data, schedule


def backend_for(
    E: Matrix,
    Ep: Matrix,
    data: TrainingData,
    config: TrainConfig,
    schedule: Schedule,
    *,
    threads: int,
    window: int | None,
    stripes: int | None = None,
) -> HogwildBackend | BatchBackend:
    """Return the backend of the objective: products for the softmaxes and shared noise.

    `stripes`: for threads in step (see stripes.py), what their result depends on; None: they race.
    """
    from w2v_sgns.training.batches import SharedNoiseBackend, SoftmaxBackend
    from w2v_sgns.training.hogwild import HogwildBackend
    from w2v_sgns.training.inbatch import InBatchBackend
    from w2v_sgns.training.stripes import StripedBackend

    kind: Callable[..., HogwildBackend | BatchBackend] = HogwildBackend
    if config.objective == "softmax":
        kind = SoftmaxBackend
    elif config.objective == "inbatch":
        kind = InBatchBackend
    elif config.in_batches:
        kind = SharedNoiseBackend
    elif stripes is not None and stripes > 1:  # one thread alone has nobody to race with
        kind = partial(StripedBackend, stripes=stripes)
    return kind(E, Ep, data=data, config=config, schedule=schedule, threads=threads, window=window)


def training_data(
    tokens: npt.NDArray[np.uint32],
    counts: npt.NDArray[np.int64],
    config: TrainConfig,
    *,
    tokens_in_all: int | None = None,
) -> TrainingData:
    """Return the tables that every epoch reads; tokens_in_all: where these are a part of a text."""
    from w2v_sgns import sampling
    from w2v_sgns.training.backends import TrainingData

    sample = sampling.effective_sample(config.sample, tokens_in_all or len(tokens))
    kept = sampling.keep_probabilities(counts, sample)
    q = sampling.noise_distribution(counts, config.noise_exponent or 0.0)
    if config.objective == "inbatch":  # what stands in a batch: words as often as they are kept
        q = np.maximum(counts * kept / (counts @ kept), np.finfo(np.float64).tiny)
    return TrainingData(
        tokens=tokens,
        keep=sampling.keep_thresholds(kept),
        noise=sampling.pack_alias(*sampling.alias_table(q)),
        log_kq=np.log(config.negative * q),
        kept_share=float(np.average(kept, weights=counts)),
    )


def matrices_for(words: int, config: TrainConfig) -> tuple[Matrix, Matrix]:
    """Return E and Ep of zeros, (V, d), padded, with room for the output biases behind them."""
    from w2v_sgns.kernels.matrices import aligned_matrix

    E, Ep = (aligned_matrix(words, config.dim + config.bias) for _ in range(2))
    return E[:, : config.dim], Ep[:, : config.dim]


def output_bias(Ep: Matrix, config: TrainConfig) -> Matrix | None:
    """Return a view of the biases behind such an Ep, (V,); None where none are trained."""
    from w2v_sgns.kernels.matrices import padded

    return padded(Ep, 1)[:, config.dim] if config.bias else None


def initial_matrices(words: int, config: TrainConfig) -> tuple[Matrix, Matrix]:
    """Return E uniform in ±0.5/d, and Ep zero: both (V, d), padded, as word2vec.c starts."""
    E, Ep = matrices_for(words, config)
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(config.seed)))
    for start in range(0, words, 4096):
        rows = E[start : start + 4096]
        rows[:] = (generator.random(rows.shape, np.float32) - 0.5) / config.dim
    return E, Ep
