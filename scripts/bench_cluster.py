"""What merging costs in quality: nodes in threads of this machine, each on its share of a text.

    scripts/bench_cluster.py CORPUS --analogies FILE --pairs FILE --nodes 1 2 4 8 --seeds 1 2 3

Every node trains on one thread. One node is the plain training of one machine. `mean` averages
the moves, as most programs do. Prints a line a training, and a table of means over the seeds.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from w2v_sgns.cluster.backend import ClusterBackend
from w2v_sgns.cluster.local import LocalEngine
from w2v_sgns.cluster.node import Node
from w2v_sgns.cluster.rows import Merge
from w2v_sgns.cluster.settings import Settings
from w2v_sgns.cluster.shares import SentShares
from w2v_sgns.config import TrainConfig
from w2v_sgns.corpus import load_corpus
from w2v_sgns.corpus.stats import Corpus
from w2v_sgns.evaluation import evaluate_analogies, evaluate_similarity
from w2v_sgns.kernels.windows import CHUNK
from w2v_sgns.model import Model
from w2v_sgns.training.schedule import Schedule
from w2v_sgns.training.setup import initial_matrices


class MeanNode(Node):
    """Averages, where the package's rule weighs directions."""

    def _steps(self, part: slice, sums: list[Any], merge: Merge) -> list[Any]:
        return [total / np.float32(self.size) for total in sums]


NODES = {"spec": Node, "mean": MeanNode}


def trained(corpus: Corpus, nodes: int, rule: str, args: Any, seed: int) -> tuple[Model, Any]:
    """Return the vectors, and the backend that made them."""
    config = TrainConfig(dim=100, epochs=args.epochs, lr=args.lr, seed=seed)
    tokens = np.asarray(corpus.store.tokens)
    counts = corpus.vocabulary.counts
    E, Ep = initial_matrices(len(counts), config)
    engine = LocalEngine(nodes, NODES[rule])
    backend = ClusterBackend(
        E,
        Ep,
        engine=engine,
        settings=Settings(
            config=config,
            counts=counts,
            tokens=len(tokens),
            chunks=-(-len(tokens) // CHUNK),
            threads=1,
            int8=not args.float32,
        ),
        shares=SentShares(tokens, nodes),
        schedule=Schedule(
            start=config.lr, end=config.final_lr, tokens=len(tokens), epochs=config.epochs
        ),
        say=lambda event: print(event.text, file=sys.stderr, flush=True),
        sync_words=args.sync_words if nodes > 1 else len(tokens),  # one node has nothing to merge
    )
    try:
        backend.warm_up()
        for epoch in range(config.epochs):
            totals = backend.run_epoch(epoch, lambda totals: None)
        loss = totals.loss / totals.pairs
    finally:
        engine.close()
    model = Model(E, Ep, vocabulary=corpus.vocabulary, config=config, history=[], provenance={})
    return model, (backend, loss)


def main() -> None:
    """Train, evaluate, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--analogies", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--rules", nargs="+", default=["spec", "mean"], choices=list(NODES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=0.025)
    parser.add_argument("--sync-words", type=int)
    parser.add_argument("--float32", action="store_true")
    args = parser.parse_args()
    corpus = load_corpus(args.corpus, threads=1, memory_bytes=1 << 30)
    found = defaultdict(list)
    for seed in args.seeds:
        for nodes in args.nodes:
            for rule in args.rules if nodes > 1 else args.rules[:1]:
                begun = time.perf_counter()
                model, (backend, loss) = trained(corpus, nodes, rule, args, seed)
                scores = judged(model, args)
                found[nodes, rule].append(scores)
                line = {"nodes": nodes, "rule": rule, "seed": seed, "rounds": backend.pace.rounds}
                line |= dict(zip(("analogies", "wordsim"), scores, strict=True))
                line |= {
                    "loss": round(loss, 4),
                    "merge_share": round(backend.merging.cost.share, 3),
                }
                line |= {"seconds": round(time.perf_counter() - begun)}
                print(json.dumps(line), flush=True)
    for (nodes, rule), scores in found.items():
        analogies, wordsim = np.mean(scores, axis=0)
        print(f"| {nodes} | {rule} | {analogies:.1f} | {wordsim:.3f} | {len(scores)} |")


def judged(model: Model, args: Any) -> tuple[float, float]:
    """Return the analogies that are right, in %, and Spearman's rho of the pairs."""
    total = evaluate_analogies(model.vectors, args.analogies).total
    return 100 * total.right / total.of, evaluate_similarity(model.vectors, args.pairs).spearman


if __name__ == "__main__":
    main()
