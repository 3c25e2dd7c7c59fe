"""Commands that take something out of a run: the winning command line, the report, the table, a picture."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from ...knowledge.errors import VgoError
from ...tools.verdict import confirmed
from .reply import ChatReply
from .session import ChatSession

REPORT = ("report.html", "report.md")


def copy(session: ChatSession, argument: str) -> ChatReply:
    """Give the command line that won."""
    verdict = session.view.verdict
    if verdict is None or (proof := confirmed(verdict)) is None:
        why = "no mitigation is proved to help" if verdict else "the run has no verdict yet"
        raise VgoError(f"There is no winning command line: {why}.")
    command = proof.command
    return ChatReply(f"```text\n{command}\n```", opens="copy", about=[command])


def save(session: ChatSession, argument: str) -> ChatReply:
    """Put the report into another folder, or say where it lies."""
    folder = _folder(session)
    if not (folder / REPORT[0]).exists():
        raise VgoError("There is no report before the verdict; /report concludes.")
    if not argument:
        return ChatReply(f"The report is {folder / REPORT[0]} and {folder / REPORT[1]}; /save FOLDER copies it.")
    place = Path(argument).expanduser()
    try:
        place.mkdir(parents=True, exist_ok=True)
        written = [place / f"{folder.name}-{name}" for name in REPORT]
        for name, path in zip(REPORT, written, strict=True):
            shutil.copyfile(folder / name, path)
    except OSError as error:
        raise VgoError(f"The report cannot be written to {place} ({error.strerror}); name another folder.") from error
    return ChatReply(f"Saved: {written[0]} and {written[1]}")


def export(session: ChatSession, argument: str) -> ChatReply:
    """Write the table of runs as CSV or Parquet."""
    folder = _folder(session)
    path = Path(argument or f"{folder.name}.csv").expanduser()
    if path.exists():
        raise VgoError(f"{path} is there already; name another file: /export OTHER.csv or OTHER.parquet.")
    given = session.desk.ask("export", run=str(folder), path=str(path))
    return ChatReply(f"Saved {given['rows']} runs: {', '.join(given['files'])}", next=[f"vgo-agent analyze {path}"])


def screenshot(session: ChatSession, argument: str) -> ChatReply:
    """Ask the screen for a picture of itself."""
    path = Path(argument or "vgo-agent.svg").expanduser()
    if path.suffix not in (".svg", ".png"):
        raise VgoError(f"{path} has no ending of a picture: name it *.svg or *.png.")
    return ChatReply("", opens="screenshot", about=[str(path)])


def _folder(session: ChatSession) -> Path:
    if session.folder is None:
        raise VgoError("No run is open; /runs lists them, /open opens one.")
    return session.folder.path


TAKEN: dict[str, Callable[[ChatSession, str], ChatReply]] = {
    "copy": copy,
    "save": save,
    "export": export,
    "screenshot": screenshot,
}


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
