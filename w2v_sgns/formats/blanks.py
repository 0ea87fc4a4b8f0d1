"""Words with blanks, which text formats cannot hold, made into words without.

Which format holds which words is export.py's business.
"""

from __future__ import annotations

import re

from w2v_sgns.corpus.vocabulary import Vocabulary, encode_word
from w2v_sgns.errors import ConfigError, OutputError
from w2v_sgns.formats.findings import listed, plural

__all__ = ["BLANKS", "replace_blanks"]

BLANKS = b" \t\n\v\f\r"
ANY = re.compile(b"[" + re.escape(BLANKS) + b"]")


def replace_blanks(vocabulary: Vocabulary, by: str) -> tuple[Vocabulary, int]:
    """Return the words with `by` for every blank in them, and how many words have changed.

    Raises:
        ConfigError: `by` is not one character, or is a blank itself.
        OutputError: two words would become one.
    """
    raw = encode_word(by)
    if len(by) != 1 or raw is None or ANY.search(raw):
        raise ConfigError(
            f"--space-replacement must be one character that is no blank, such as _, not {by!a:.40}"
        )
    words = list(vocabulary.iter_bytes())
    taken = set(words)
    changed, same = 0, []
    for row, word in enumerate(words):
        if ANY.search(word):
            words[row] = ANY.sub(lambda _: raw, word)
            changed += 1
            if words[row] in taken:
                same.append(word)
            taken.add(words[row])
    if same:
        raise OutputError(
            f"with --space-replacement {by} {plural(len(same), 'word')} would be written as words "
            f"that are there already: {listed(same)}; use another character"
        )
    return Vocabulary.from_words(words, vocabulary.counts), changed
