"""What a file's first bytes look like, for the message about one that cannot be read.

Nothing is decided here; which format reads a file is the registry's choice.
"""

from __future__ import annotations

import re

__all__ = ["is_known", "lacks_line_feeds", "looks_like"]

MAGIC = (
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\0", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstandard data"),
    (b"PK\x03\x04", "a zip archive (also .npz and PyTorch files)"),
    (b"\x93NUMPY", "a NumPy array (.npy)"),
    (b"\x89HDF", "an HDF5 file"),
    (b"PAR1", "a Parquet file"),
    (b"\xba\x16\x4f\x2f", "a fastText model (.bin)"),
    (b"GGUF", "a GGUF model"),
    (b"%PDF", "a PDF document"),
    (b"version https://git-lfs", "a Git LFS pointer; the real file was not fetched"),
)
PICKLE = re.compile(rb"\x80[\x02-\x05](?:\x95|c|}|\]|\()", re.DOTALL)
HTML = re.compile(rb"\s*(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I | re.DOTALL)
WORD2VEC = re.compile(rb"(\d{1,19}) (\d{1,19})\s*\n")


def is_known(head: bytes) -> bool:
    """Return whether a file that begins so is of a kind that is no text of vectors."""
    return bool(
        head.startswith(tuple(magic for magic, _ in MAGIC))
        or HTML.match(head)
        or PICKLE.match(head)
    )


def lacks_line_feeds(head: bytes) -> bool:
    """Return whether lines end with a carriage return alone, as they did on old Macs."""
    return b"\n" not in head and b"\r" in head.rstrip()


def looks_like(head: bytes) -> str:
    """Return a few words on what begins with these bytes."""
    for magic, name in MAGIC:
        if head.startswith(magic):
            return name
    if not head:
        return "an empty file"
    if HTML.match(head):
        return "an HTML page, perhaps a failed download"
    if PICKLE.match(head):
        return "a Python pickle, which is never opened because it can run code"
    if header := WORD2VEC.match(head):
        return f"a word2vec file (header {header[0].strip().decode()!r})"
    return _text_or_bytes(head)


def _text_or_bytes(head: bytes) -> str:
    if head[257:262] == b"ustar":
        return "a tar archive; unpack it and name the file"
    if not head.strip(b"\0"):
        return "zero bytes"
    if not head.strip():
        return "nothing but blanks"
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:  # not just a character cut at the end
            return f"unknown binary data ({head[:8].hex(' ')})"
        text = head[: error.start].decode("utf-8-sig")
    line = text.split("\n", 1)[0].strip()
    if not all(letter.isprintable() or letter in "\t\r\n\f\v" for letter in text):
        return f"unknown binary data ({head[:8].hex(' ')})"
    ends = " with \\r alone for line ends; use tr '\\r' '\\n'" if lacks_line_feeds(head) else ""
    return f"text ({line[:40]!a}){ends}"
