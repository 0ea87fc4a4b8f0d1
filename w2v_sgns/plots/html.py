"""Pages: one HTML file that needs no network and allows none.

Styles and scripts are plain files in the folder page; they are put into the page, and its
Content-Security-Policy lets those run that have their hash, and nothing else.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Any

__all__ = ["assemble"]

_NONE = "'none'"
SLOT = re.compile(r"\{\{(\w+)\}\}")


def assemble(
    page: str, *, style: str, scripts: Sequence[str] = (), data: Any = None, **texts: str
) -> bytes:
    """Return the page with what belongs into its slots: policy, style, script, data, texts.

    Args:
        page: the HTML file in the folder page.
        style: the CSS file there.
        scripts: the JavaScript files there; they share one scope, in this order.
        data: becomes a JSON element; no text in it can end that element.
        **texts: HTML for slots of that name; the caller has escaped what is not his own.
    """
    styles = _read(style)
    script = "\n".join(map(_read, scripts))
    slots = texts | {
        "policy": f"default-src 'none'; script-src {_hash(script) if scripts else _NONE}; "
        f"style-src {_hash(styles)}; img-src data:; base-uri 'none'; form-action 'none'",
        "style": styles,
        "script": script,
        "data": json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
    }
    return SLOT.sub(lambda slot: slots[slot[1]], _read(page)).encode()


def _read(name: str) -> str:
    return (files("w2v_sgns.plots") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the source expression that allows this very text (CSP level 3)."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
