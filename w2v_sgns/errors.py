"""Every error the package raises on purpose.

Catch :class:`W2VError` for all of them, or a leaf for one kind::

    W2VError
    ├── ConfigError        a setting out of range
    ├── CorpusError        a corpus that cannot be read or holds nothing to train on
    ├── VocabularyError    no usable vocabulary after pruning
    ├── UnknownWordError   a word the vectors do not have (also a KeyError)
    ├── StreamError        a compressed stream that is truncated or damaged
    ├── FormatError        a file of vectors that is damaged or of an unknown kind
    ├── OutputError        a place that cannot be written
    ├── ResourceError      more memory or disk needed than there is
    └── DivergenceError    training left the finite numbers

A message is one line: what, where, found, needed, what to try. The command line prints it
and exits with 1.
"""

from __future__ import annotations

__all__ = [
    "ConfigError",
    "CorpusError",
    "DivergenceError",
    "FormatError",
    "OutputError",
    "ResourceError",
    "StreamError",
    "UnknownWordError",
    "VocabularyError",
    "W2VError",
]


class W2VError(Exception):
    """The root: anything the user's input, values, files or machine made impossible."""


class ConfigError(W2VError, ValueError):
    """A setting is out of its range."""


class CorpusError(W2VError):
    """A corpus cannot be read or holds nothing to train on."""


class VocabularyError(W2VError):
    """Pruning left no vocabulary that could be trained."""


class UnknownWordError(W2VError, KeyError):
    """A word is not in the vocabulary."""

    def __str__(self) -> str:
        """Return the message itself; KeyError would quote it."""
        return str(self.args[0]) if self.args else ""


class StreamError(W2VError):
    """A compressed stream is truncated or damaged; names the file, the kind and the offset."""


class FormatError(W2VError, ValueError):
    """A file is damaged, or not of a kind that can be read."""


class OutputError(W2VError):
    """A file cannot be written where it was asked for."""


class ResourceError(W2VError):
    """The machine has less memory or disk than the work needs."""


class DivergenceError(W2VError):
    """The vectors or the loss left the finite numbers."""
