"""Open a page in headless Chromium and ask it what a reader would see: no driver, no extra port.

A small script goes in front of the page's own, collects errors, and writes what it measured into the page at the end;
``--dump-dom`` prints that page.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from html import escape
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
PROBE = f"<script>{(Path(__file__).parent / 'page_check.js').read_text(encoding='utf-8')}</script>"
NARROWEST = 500  # a window of Chromium is not narrower; a telephone is a frame in one
RESULT = re.compile(r'<script type="application/json" id="page-check">(.*?)</script>', flags=re.DOTALL)


@dataclass(frozen=True)
class Page:
    """What a browser made of a page."""

    errors: list[str]
    plots: list[dict[str, str | int]]
    text: str
    width: int
    room: int


def program() -> str | None:
    """The browser's path, if there is one."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


def open_page(path: Path, width: int) -> Page:
    """Load a file with a window of this width."""
    source = path.read_text(encoding="utf-8")
    probed, inserted = re.subn(r"(<head[^>]*>)", lambda match: match[0] + PROBE, source, count=1)
    if not inserted:
        raise ValueError(f"{path} has no <head>")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_text(probed if width >= NARROWEST else _framed(probed, width), encoding="utf-8")
        shown = _dump(copy, Path(folder) / "profile", max(width, NARROWEST))
    found = RESULT.search(shown)
    if not found:
        raise ValueError(f"{path} did not finish loading: {shown[:500]}")
    return Page(**json.loads(found[1]))


def _framed(source: str, width: int) -> str:
    """The page in a frame as wide as a telephone, of the same origin, so that its probe can report outwards."""
    frame = (
        f'<iframe style="width: {width}px; height: 800px; border: 0" srcdoc="{escape(source, quote=True)}"></iframe>'
    )
    return f'<!doctype html><html><head><meta charset="utf-8"></head><body>{frame}</body></html>'


def _dump(page: Path, profile: Path, width: int) -> str:
    command = [
        program() or NAMES[0],
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={profile}",
        f"--window-size={width},900",
        "--virtual-time-budget=5000",
        "--dump-dom",
        page.as_uri(),
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
