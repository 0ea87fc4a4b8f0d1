#!/usr/bin/env python3
"""Write data/demo-pairs.tsv: questions and their answers, made of sentence patterns of our own.

    scripts/make_demo_pairs.py -o data/demo-pairs.tsv

A line is `query<TAB>document`. Queries and documents share few words (a question says `costs`, its
answer `price`), so that tuning has something to learn. It shows how the tool works, nothing more.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

# fmt: off
THINGS = (
    "lamp", "kettle", "bicycle", "tent", "violin", "ladder", "clock", "suitcase", "hammer",
    "blanket", "teapot", "compass", "mirror", "basket", "umbrella", "saddle", "telescope",
    "stove", "rope", "bench", "carpet", "drum", "lantern", "sled", "hammock", "anvil", "globe",
    "easel", "loom", "canoe",
)
# fmt: on
QUESTIONS = {
    "how much does the {} cost": "price list: one {} is {} coins , tax included",
    "where can i find a {}": "the {} stands on shelf {} of the store room",
    "my {} is broken , what now": "repairs: bring the {} to workshop {} and ask for the mender",
    "who made this {}": "every {} was built by the makers of house {} before winter",
    "can i borrow a {} today": "lending desk: a {} may be taken home for {} days",
    "how do i clean the {}": "wipe the {} with warm water , then let it dry for {} hours",
}


def lines() -> list[str]:
    """Return one line for every thing and question."""
    pairs = product(enumerate(THINGS), enumerate(QUESTIONS.items()))
    return [
        f"{query.format(thing)}\t{answer.format(thing, 2 + (7 * a + 3 * b) % 29)}"
        for (a, thing), (b, (query, answer)) in pairs
    ]


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("data/demo-pairs.tsv"))
    options = parser.parse_args()
    options.output.write_text("\n".join(lines()) + "\n")


if __name__ == "__main__":
    main()
