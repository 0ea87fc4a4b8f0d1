#!/usr/bin/env python3
"""Make text pairs of a plain text: a piece of a passage is the query, the rest its document.

    scripts/make_pairs.py corpus.txt -o pairs.tsv

The inverse cloze task (Lee et al. 2019) on words between blanks. Passages of 50 to 110 words are
cut from each line (lines that are shorter are passed over), 10 to 25 words of each are the query.
For tuning with `w2v pairs` where no real pairs are at hand.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

PASSAGE, QUERY = (50, 110), (10, 25)  # words, from and to


def pairs(words: list[bytes], draw: random.Random) -> Iterator[bytes]:
    """Yield a line for every passage."""
    start = 0
    while (length := draw.randint(*PASSAGE)) <= len(words) - start:
        passage = words[start : start + length]
        start += length
        size = draw.randint(*QUERY)
        place = draw.randint(0, length - size)
        rest = passage[:place] + passage[place + size :]
        yield b" ".join(passage[place : place + size]) + b"\t" + b" ".join(rest) + b"\n"


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw, count = random.Random(options.seed), 0
    with options.corpus.open("rb") as corpus, options.output.open("wb") as out:
        for line in corpus:
            for pair in pairs(line.split(), draw):
                out.write(pair)
                count += 1
    print(f"{count:,} pairs written to {options.output}")


if __name__ == "__main__":
    main()
