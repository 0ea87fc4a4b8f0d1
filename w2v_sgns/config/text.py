"""How bytes become lines of words."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from w2v_sgns.config.ranges import MAX_SEED, one_of, whole
from w2v_sgns.errors import ConfigError

__all__ = ["TextOptions"]


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
        one_of("encoding_errors", self.encoding_errors, ("keep", "strict"))
        one_of("split", self.split, ("ascii", "unicode"))
        one_of("tokenizer", self.tokenizer, ("whitespace", "words"))
        if self.max_token_bytes is not None:
            whole("max_token_bytes", self.max_token_bytes, 1, MAX_SEED)
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
