"""Checks training on a real Ray cluster: two raylets on loopback, 127.0.0.2 and 127.0.0.3.

    scripts/cluster_check.py                       equal, and killed
    scripts/cluster_check.py gpu
    scripts/cluster_check.py overhead CORPUS --sync-words 1000000 5000000
    mpiexec -n 2 scripts/cluster_check.py mpi

equal:    two actors of one thread give the tensors of two nodes in threads of this process, and
          one actor those of one.
killed:   one actor's process is killed in mid-run; the tensors are still the same.
gpu:      two raylets with a made-up GPU each, on Numba's simulator: what processors do, nearly.
mpi:      two ranks give the tensors of two nodes in threads (extra `mpi`).
overhead: share of the time that merging takes on CORPUS, and what the rule predicted.

Needs the extra `cluster` (for `mpi`, that one). Exits with 1 where a check fails.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ.setdefault("RAY_worker_niceness", str(os.nice(0)))  # Ray's own default is 15
os.environ["PYTHONPATH"] = str(ROOT)  # the actors', too
if "gpu" in sys.argv[1:2]:
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # before Numba is imported

from w2v_sgns.cluster.backend import ClusterBackend
from w2v_sgns.cluster.local import LocalEngine
from w2v_sgns.cluster.ray import RayEngine
from w2v_sgns.cluster.settings import Settings
from w2v_sgns.cluster.shares import SentShares
from w2v_sgns.config import TrainConfig
from w2v_sgns.corpus import load_corpus
from w2v_sgns.corpus.stats import Corpus
from w2v_sgns.kernels.windows import CHUNK
from w2v_sgns.training.schedule import Schedule
from w2v_sgns.training.setup import initial_matrices

DEMO = ROOT / "data" / "demo-corpus.txt"
HOSTS = ("127.0.0.2", "127.0.0.3")
CLOSE = 3e-6  # as tests/contract


@contextmanager
def raylets(store: int, nodes: int = 2, *, gpus: int = 0) -> Iterator[str]:
    """Start a cluster of one or two on loopback, each with so many GPUs; yield its address."""
    from ray.cluster_utils import Cluster

    options: dict[str, Any] = {"num_cpus": 1, "num_gpus": gpus, "object_store_memory": store}
    head = options | {"node_ip_address": HOSTS[0], "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        for host in HOSTS[1:nodes]:
            cluster.add_node(node_ip_address=host, **options)
        yield cluster.address
    finally:
        cluster.shutdown()


def backend_of(
    engine: Any, corpus: Corpus, config: TrainConfig, sync_words: int, **settings: Any
) -> ClusterBackend:
    """Return the backend that trains a corpus on an engine, a thread a node."""
    tokens = np.asarray(corpus.store.tokens)
    counts = corpus.vocabulary.counts
    E, Ep = initial_matrices(len(counts), config)
    return ClusterBackend(
        E,
        Ep,
        engine=engine,
        settings=Settings(
            config=config,
            counts=counts,
            tokens=len(tokens),
            chunks=-(-len(tokens) // CHUNK),
            threads=1,
            **settings,
        ),
        shares=SentShares(tokens, engine.size),
        schedule=Schedule(
            start=config.lr, end=config.final_lr, tokens=len(tokens), epochs=config.epochs
        ),
        say=lambda event: event.text and print(f"  {event.text}", flush=True),
        sync_words=sync_words,
    )


def trained(
    engine: Any,
    corpus: Corpus,
    config: TrainConfig,
    sync_words: int,
    *,
    kill: bool = False,
    **settings: Any,
) -> ClusterBackend:
    """Train on an engine, which ends; `kill`: the second node's process, in the last epoch."""
    try:
        backend = backend_of(engine, corpus, config, sync_words, **settings)
        backend.warm_up()
        for epoch in range(config.epochs):
            if kill and epoch == config.epochs - 1:
                victim = engine.call("process", ranks=[1])[0]
                threading.Timer(0.2, os.kill, (victim, signal.SIGKILL)).start()
            backend.run_epoch(epoch, lambda totals: None)
    finally:
        engine.close()
    return backend


def check_equal(store: int, *, kill: bool) -> bool:
    """Compare a run on two raylets with one in threads."""
    corpus = load_corpus(DEMO, threads=1, memory_bytes=1 << 28)
    config = TrainConfig(dim=32, epochs=3)
    same = True
    for nodes in (2,) if kill else (2, 1):
        local = trained(LocalEngine(nodes), corpus, config, CHUNK)
        with raylets(store, nodes) as address:
            real = trained(RayEngine(address, threads=1), corpus, config, CHUNK, kill=kill)
        same &= all(map(np.array_equal, local.matrices, real.matrices))
    name = "killed" if kill else "equal"
    print(f"{name}: the tensors are {'the same' if same else 'NOT the same'}", flush=True)
    return same


def check_gpu(store: int) -> bool:
    """Compare a run on two raylets that offer a GPU with one in threads: a few words."""
    lines = [["a", "b", "c", "d"], ["d", "c", "a", "b"]]
    corpus = load_corpus(lines, threads=1, memory_bytes=1 << 28, min_count=1)
    config = TrainConfig(dim=8, epochs=2, lr=0.5, window=2, negative=1, sample=0, min_count=1)
    local = trained(LocalEngine(2), corpus, config, 100, int8=False)
    with raylets(store, gpus=1) as address:
        engine = RayEngine(address, threads=1, device="cuda")
        there = trained(engine, corpus, config, 100, device="cuda", streams=1, int8=False)
    pairs = zip(local.matrices, there.matrices, strict=True)
    error = max(float(np.abs(ours - theirs).max()) for ours, theirs in pairs)
    print(f"gpu: the tensors differ by {error:.1e}, allowed {CLOSE:.0e}", flush=True)
    return error < CLOSE


def check_mpi() -> bool:
    """Compare a run on the ranks of this MPI job with one in threads."""
    from w2v_sgns.cluster.mpi import MPIEngine, ranks

    with ranks() as is_first:
        if not is_first:
            return True
        corpus = load_corpus(DEMO, threads=1, memory_bytes=1 << 28)
        config = TrainConfig(dim=32, epochs=3)
        engine = MPIEngine()
        local = trained(LocalEngine(engine.size), corpus, config, CHUNK)
        real = trained(engine, corpus, config, CHUNK)
        same = all(map(np.array_equal, local.matrices, real.matrices))
        print(f"mpi: the tensors are {'the same' if same else 'NOT the same'}", flush=True)
        return same


def check_overhead(path: Path, intervals: list[int], epochs: int, store: int) -> bool:
    """Print the share of the time in merges beside the prediction."""
    corpus = load_corpus(path, threads=1, memory_bytes=1 << 30)
    for words in intervals:
        with raylets(store) as address:
            config = TrainConfig(dim=100, epochs=epochs)
            begun = time.perf_counter()
            backend = trained(RayEngine(address, threads=1), corpus, config, words)
            cost = backend.merging.cost
            print(
                f"overhead: V {len(corpus.vocabulary):,}, d 100, every {backend.pace.words:,} "
                f"words: {cost.merges} merges of {cost.seconds / cost.merges:.2f} s, "
                f"{cost.bytes / cost.merges / 1e6:.1f} MB sent by each; {cost.share:.1%} of the "
                f"time, predicted {backend.pace.share:.1%}; {time.perf_counter() - begun:.0f} s",
                flush=True,
            )
    return True


def main() -> int:
    """Run the checks that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("check", nargs="?", choices=("equal", "killed", "gpu", "mpi", "overhead"))
    parser.add_argument("corpus", nargs="?", type=Path, default=DEMO)
    parser.add_argument("--sync-words", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--store", type=int, default=256 << 20, help="bytes of each object store")
    args = parser.parse_args()
    if args.check == "mpi":
        good = check_mpi()
    elif args.check == "gpu":
        good = check_gpu(args.store)
    elif args.check == "overhead":
        good = check_overhead(args.corpus, args.sync_words, args.epochs, args.store)
    else:
        kinds = [args.check] if args.check else ["equal", "killed"]
        good = all([check_equal(args.store, kill=kind == "killed") for kind in kinds])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
