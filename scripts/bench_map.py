#!/usr/bin/env python3
"""Measure a map of words in a browser: time to make it, its size, opening, redrawing, overlap.

    scripts/bench_map.py -m model.safetensors --top 10000

Needs the extra `browser` and chromium. Redrawing is the median of 200 pans: "script" is what the
page's own code takes, "pixels" waits for the browser's drawing too.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from w2v_sgns.plots.map import build_map, open_words, save_map

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PANS = """(wait) => {
  const times = [];
  for (let i = 0; i < 200; i++) {
    const start = performance.now();
    wordMap.camera.pan(i % 40 < 20 ? 3 : -3, i % 20 < 10 ? 2 : -2);
    wordMap.draw();
    if (wait) wordMap.painter.context.getImageData(0, 0, 1, 1);
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[100];
}"""
OPENED = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
SEARCH = """() => { const start = performance.now();
  for (let row = 0; row < 20; row++) wordMap.space.neighbours(row, 10);
  return (performance.now() - start) / 20; }"""


def cpu_ms(session: Any) -> float:
    """Return the processor time of the page's thread so far, which other work does not lengthen."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return 1000 * {entry["name"]: entry["value"] for entry in metrics}["TaskDuration"]


def measure(page: Any, path: Path) -> dict[str, float]:
    """Return what the browser says about the page, in milliseconds."""
    opened, worked = [], []
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    for _ in range(5):
        page.goto("about:blank")
        before = cpu_ms(session)
        page.goto(path.as_uri())
        page.wait_for_function("() => globalThis.wordMap")
        opened.append(page.evaluate(OPENED))
        worked.append(cpu_ms(session) - before)
    report = {
        "opened_ms": sorted(opened)[2],
        "opened_cpu_ms": sorted(worked)[2],
        "neighbours_ms": page.evaluate(SEARCH),
    }
    for zoom in (1, 4):
        page.evaluate(f"wordMap.showAll(); wordMap.zoom({zoom}); wordMap.draw()")
        for wait, name in ((False, "script"), (True, "pixels")):
            report[f"redraw_{name}_zoom_{zoom}_ms"] = page.evaluate(PANS, wait)
    return {name: round(value, 2) for name, value in report.items()}


def main() -> None:
    """Make the map, open it, print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-m", "--model", default="model.safetensors")
    parser.add_argument("--top", type=int, default=10_000)
    parser.add_argument("--method", default="pca")
    parser.add_argument("--size", default="1440x900", help="of the window, in pixels")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        parser.error("no chromium here (Debian: apt-get install chromium-headless-shell)")
    width, height = map(int, options.size.split("x"))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "map.html"
        wall, cpu = time.perf_counter(), time.process_time()
        vectors = open_words(options.model, top=options.top)
        drawn = build_map(vectors, method=options.method)
        save_map(path, drawn)
        report: dict[str, Any] = {
            "words": len(vectors),
            "dimensions": vectors.vector_size,
            "made_s": round(time.perf_counter() - wall, 2),
            "made_cpu_s": round(time.process_time() - cpu, 2),
            "bytes": path.stat().st_size,
        }
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        page = browser.new_page(viewport={"width": width, "height": height})
        report |= measure(page, path)
        report["overlap"] = page.evaluate("wordMap.data.overlap")
        browser.close()
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
