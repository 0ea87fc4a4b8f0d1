#!/usr/bin/env python3
"""Make data/map.png, the README's picture of `w2v map`, from a model of real text.

    w2v train text8.txt
    scripts/make_map_picture.py -m model.safetensors

Draws the page in chromium (extra: browser; with --method tsne the extra plot, too) with one word
selected; refuses a picture of more than 300 KB.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from w2v_sgns.plots.map import build_map, open_words, save_map

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
MOST_BYTES = 300_000


def photograph(page: Path, word: str, width: int, height: int) -> bytes:
    """Return a PNG of the page with the word selected."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        sys.exit("no chromium here (Debian: apt-get install chromium-headless-shell)")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        window = browser.new_page(viewport={"width": width, "height": height})
        window.goto(f"{page.as_uri()}#{word}")
        window.wait_for_function("() => globalThis.wordMap && !wordMap.waiting")
        picture: bytes = window.screenshot()
        browser.close()
    return picture


def main() -> None:
    """Make the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-m", "--model", default="model.safetensors")
    parser.add_argument("--top", type=int, default=10_000)
    parser.add_argument("--method", default="tsne")
    parser.add_argument("--word", default="king")
    parser.add_argument("--output", default=Path(__file__).parent.parent / "data" / "map.png")
    options = parser.parse_args()
    drawn = build_map(open_words(options.model, top=options.top), method=options.method)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "map.html"
        save_map(page, drawn, name=Path(options.model).name)
        picture = photograph(page, options.word, 1200, 760)
    if len(picture) > MOST_BYTES:
        sys.exit(f"the picture has {len(picture):,} bytes, more than {MOST_BYTES:,}")
    Path(options.output).write_bytes(picture)
    print(f"{options.output}: {len(picture):,} bytes")


if __name__ == "__main__":
    main()
