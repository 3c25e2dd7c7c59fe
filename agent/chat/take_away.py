"""Commands that take something out of a run: the winning command line, the report, the table, a picture."""

from __future__ import annotations

import shutil
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
