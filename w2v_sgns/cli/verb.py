"""How a line of usage reads: `w2v encode [OPTIONS] FILE…`, what may be left out in brackets."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand

__all__ = ["Verb"]

MARKS = re.compile(r"[\[\]{}…]|\.\.\.")


class Verb(TyperCommand):
    """A command whose line of usage names its arguments as its help does."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return [OPTIONS] and the arguments: NAME, [NAME], or with … where several may stand."""
        return [_plain(piece) for piece in super().collect_usage_pieces(ctx)]


def _plain(piece: str) -> str:
    """Return `[FILE]...` as [FILE…], `{FILE}` as FILE."""
    name = MARKS.sub("", piece).upper() + "…" * piece.endswith("...")
    return f"[{name}]" if piece.startswith("[") else name
