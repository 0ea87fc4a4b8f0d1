"""Vocabularies as text files: a word and its count a line, and plain lists of words.

Two formats: word<TAB>count, and word2vec.c's "word count" behind a first row `</s> 0` (that
program takes its first word for the end of a sentence). Reading tells them apart by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from w2v_sgns.corpus.openers import opener_for
from w2v_sgns.corpus.vocabulary import Vocabulary, decode_word
from w2v_sgns.errors import VocabularyError

__all__ = ["read_vocabulary", "read_words", "write_vocabulary"]

SENTENCE_END = b"</s>"  # word2vec.c's; an ordinary word here
_BOM = b"\xef\xbb\xbf"
_MOST = (1 << 63) - 1
_LISTED = 3  # faults in a message
_ROWS = 1 << 16  # written at once


def write_vocabulary(stream: BinaryIO, words: Vocabulary, vocab_format: str = "tsv") -> None:
    """Write all words with their counts, in the order of rows; `tsv` or `word2vec`.

    Raises:
        VocabularyError: a word holds a blank that the format separates fields by.
    """
    assert words.counts is not None
    between = b"\t" if vocab_format == "tsv" else b" "
    rows = zip(words.iter_bytes(), words.counts.tolist(), strict=True)
    lines: list[bytes] = []
    if vocab_format == "word2vec":
        row = words.index(SENTENCE_END)
        count = 0 if row is None else int(words.counts[row])
        lines.append(b"%s %d\n" % (SENTENCE_END, count))
    for word, count in rows:
        if vocab_format == "word2vec" and word == SENTENCE_END:
            continue
        if between in word or b"\n" in word:
            raise VocabularyError(
                f"the word {decode_word(word)!a} holds a {'tab' if between in word else 'line end'}"
                if between == b"\t"
                else f"the word {decode_word(word)!a} holds a blank, which --vocab-format word2vec "
                "cannot write; use --vocab-format tsv"
            )
        lines.append(b"%s%s%d\n" % (word, between, count))
        if len(lines) >= _ROWS:
            stream.write(b"".join(lines))
            lines.clear()
    stream.write(b"".join(lines))


def read_vocabulary(path: Path | str) -> Vocabulary:
    """Read words and counts, sorted by falling count, ties by the word's bytes.

    Raises:
        CorpusError: the file cannot be read.
        VocabularyError: a line without a count, a count below 1, a word given twice.
    """
    found: dict[bytes, int] = {}
    faults: list[str] = []
    for number, line in _lines(path):
        word, count, fault = _word_and_count(line)
        if number == 1 and (word, count, fault) == (SENTENCE_END, 0, ""):
            continue  # word2vec.c's first row
        if word in found and not fault:
            fault = f"{_shown(word)} was there before"
        elif count < 1 and not fault:
            fault = f"{_shown(word)} has the count 0, leave it out"
        if fault:
            faults.append(f"line {number:,}: {fault}")
        found[word] = count
    if faults:
        more = f"; and {len(faults) - _LISTED:,} lines more" if len(faults) > _LISTED else ""
        wanted = "needed: word<TAB>count, each word once"
        raise VocabularyError(f"{path}: {'; '.join(faults[:_LISTED])}{more}; {wanted}")
    if sum(found.values()) > _MOST:
        raise VocabularyError(f"{path}: the counts add up to more than {_MOST:,}")
    rows = sorted(found.items(), key=lambda row: (-row[1], row[0]))
    return Vocabulary.from_words([word for word, _ in rows], np.array([n for _, n in rows], int))


def read_words(path: Path | str) -> list[bytes]:
    """Read a word a line, each once; what follows a tab is passed over.

    Raises:
        CorpusError: the file cannot be read.
        VocabularyError: it holds no word.
    """
    words = list(dict.fromkeys(line.split(b"\t")[0] for _, line in _lines(path)))
    if not words:
        raise VocabularyError(f"{path}: holds no word; needed: one a line")
    return words


def _lines(path: Path | str) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the bytes of every line that is not blank."""
    with opener_for(path).open() as stream:
        data = stream.read().removeprefix(_BOM)
    if b"\0" in data:
        raise VocabularyError(f"{path}: holds NUL bytes; needed: a text file, a word a line")
    for number, line in enumerate(data.split(b"\n"), 1):
        line = line.removesuffix(b"\r")
        if line.strip():
            yield number, line


def _word_and_count(line: bytes) -> tuple[bytes, int, str]:
    """Return a line's word, its count, and what is wrong with them."""
    word, between, count = line.rpartition(b"\t" if b"\t" in line else b" ")
    if not between or not word:
        return line, 0, f"{_shown(line)} has no count"
    digits = count.strip()
    if not digits.isdigit() or not int(digits) <= _MOST:
        return word, 0, f"the count {_shown(count)} is no whole number"
    return word, int(digits), ""


def _shown(raw: bytes) -> str:
    text = ascii(decode_word(raw))
    return text if len(text) <= 60 else text[:59] + "…"
