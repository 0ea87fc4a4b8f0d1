"""A real browser for the tests of pages; they skip, with the reason, where there is none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@dataclass
class Shown:
    """A page in the browser, and what must stay empty."""

    page: Any
    requests: list[str] = field(default_factory=list)  # beyond the page itself
    complaints: list[str] = field(default_factory=list)  # errors, warnings, blocked content


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's chromium, driven by playwright."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright: pip install -e '.[browser]'"
    )
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        pytest.skip("needs chromium: apt-get install chromium-headless-shell (.ci/run does)")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"] if root else []
        )
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Shown]]:
    """Open a file in a window of its own; nothing may be asked for, nothing may go wrong."""
    opened: list[Shown] = []

    def show(path: Path, *, width: int = 1200, height: int = 800, **options: Any) -> Shown:
        address = path.as_uri() + options.pop("address", "")
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        shown = Shown(context.new_page())
        page = shown.page
        page.on("request", lambda sent: shown.requests.append(sent.url))
        page.on("console", lambda message: shown.complaints.append(message.text))
        page.on("pageerror", lambda error: shown.complaints.append(str(error)))
        page.on("dialog", lambda dialog: shown.complaints.append(dialog.message))
        page.goto(address)
        page.wait_for_function("() => globalThis.wordMap || document.images.length")
        shown.requests[:] = [url for url in shown.requests if url != address.split("#")[0]]
        opened.append(shown)
        return shown

    yield show
    for shown in opened:
        outside = [url for url in shown.requests if not url.startswith("data:")]
        shown.page.context.close()
        assert (outside, shown.complaints) == ([], [])
