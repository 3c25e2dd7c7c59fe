"""Write the picture of a screen: SVG as it is, PNG through a program that draws SVG, where there is one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from ...knowledge.errors import VgoError

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_S = 60
_FONT = re.compile(r"@font-face\s*\{[^}]*\}")
"""They are fetched over the network; the font that the machine has is taken instead."""


def write_picture(svg: str, path: Path) -> None:
    """Write `*.svg` or `*.png`; raise VgoError where it cannot be written, or nothing here draws PNG."""
    drawn = _FONT.sub("", svg)
    try:
        if path.suffix == ".svg":
            path.write_text(drawn)
            return
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "screen.svg"
            source.write_text(drawn)
            _to_png(source, path.absolute(), drawn)
    except OSError as error:
        raise VgoError(f"{path} cannot be written ({error.strerror}); name another file.") from error


def _to_png(source: Path, path: Path, svg: str) -> None:
    words = _command(source, path, svg)
    if words is None:
        raise VgoError("PNG takes rsvg-convert or Chromium, and neither is here: name the picture *.svg.")
    try:
        done = subprocess.run(words, capture_output=True, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise VgoError(f"{words[0]} did not draw the picture in {PATIENCE_S} s; name it *.svg.") from error
    if done.returncode or not path.exists():
        raise VgoError(f"{words[0]} could not draw {path}; name the picture *.svg.")


def _command(source: Path, path: Path, svg: str) -> list[str] | None:
    if rsvg := shutil.which("rsvg-convert"):
        return [rsvg, "-o", str(path), str(source)]
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return None
    size = re.search(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"', svg)
    width, height = (int(float(part)) for part in size.groups()) if size else (1200, 800)
    rights = ["--no-sandbox"] if os.geteuid() == 0 else []
    alone = ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={source.parent / 'profile'}"]
    shown = [f"--window-size={width},{height}", f"--screenshot={path}", source.as_uri()]
    return [browser, "--headless", "--disable-gpu", "--hide-scrollbars", *rights, *alone, *shown]
