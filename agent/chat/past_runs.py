"""Commands about runs that were made before, and about recorded files."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

from ...knowledge.errors import VgoError
from ..desk.markdown import as_markdown
from ..history import ListedRun, history, listed
from ..past.deletion import delete, refuse, size
from ..run_folder import RunFolder, experiment_in
from ..terminal import table
from .reply import ChatReply
from .session import ChatSession

HEADER = ("WHEN", "VERDICT", "FACTOR", "SD RATIO", "COMMAND", "RUN")
LONGEST_COMMAND = 40
MOST_LISTED = 20
SURE = "yes"
JUDGED_BY = ("--metric", "--outcome")


def runs(session: ChatSession, argument: str) -> ChatReply:
    """List the runs, newest first."""
    found = history(session.out)
    if not found:
        return ChatReply(f"There are no runs in {session.out} yet.", opens="runs")
    lines = [table(HEADER, [row(one) for one in found[:MOST_LISTED]])]
    lines += [f"... and {len(found) - MOST_LISTED} older ones."] if len(found) > MOST_LISTED else []
    lines += [f"{Path(one.folder).name}: {one.note}" for one in found[:MOST_LISTED] if one.note]
    return ChatReply("```text\n" + "\n".join(lines) + "\n```", opens="runs")


def row(one: ListedRun) -> tuple[str, ...]:
    """Give one run as the cells of a table."""
    command = one.command
    short = command if len(command) <= LONGEST_COMMAND else f"...{command[3 - LONGEST_COMMAND :]}"
    return *one.cells, short, Path(one.folder).name


def open_run(session: ChatSession, argument: str) -> ChatReply:
    """Open a run; a file of recorded runs, or several, are looked at side by side."""
    words, metric = _judged_by(split(argument))
    if not words:
        raise VgoError("Name a run or files: /open last, /open vgo-runs/NAME, /open a.csv b.csv; /runs lists runs.")
    places = [_place(session, word) for word in words]
    if len(places) > 1 or not _is_run(places[0]):
        return open_files(session, places, metric)
    one = listed(places[0])
    if not (one.can_open or one.can_resume):
        raise VgoError(f"{Path(one.folder).name} cannot be opened. {one.note}")
    session.open(RunFolder(places[0]))
    said = one.verdict if one.state == "finished" else one.note
    return ChatReply(f"{one.folder}: {said}", opens="run")


def open_files(session: ChatSession, places: list[Path], metric: str) -> ChatReply:
    """Show recorded files in the tabs, as a run is shown; several are held against the first."""
    paths = [str(place) for place in places]
    given = session.desk.ask("recorded", paths=paths, metric=metric)
    session.leave()
    session.files = {**given, "paths": paths}
    return ChatReply(as_markdown(given["words"]), opens="files", about=paths)


def compared(session: ChatSession, argument: str) -> ChatReply | None:
    """Hold runs or files side by side; None where none is named."""
    words, metric = _judged_by(split(argument.replace(" and ", " ").replace(" with ", " ")))
    if argument.strip() in ("last two", "the last two", "last two runs"):
        words = [one.folder for one in history(session.out)[:2]]
        if len(words) < 2:
            raise VgoError(f"There are no two runs in {session.out}; make another one first.")
        words.reverse()  # the older one is the baseline
    return side_by_side(session, [_place(session, word) for word in words], metric) if words else None


def side_by_side(session: ChatSession, places: list[Path], metric: str = "") -> ChatReply:
    """Look at recorded runs together, the first one the baseline; one alone is described."""
    paths = [str(place) for place in places]
    given = session.desk.ask("recorded", paths=paths, metric=metric)
    return ChatReply(
        f"```text\n{given['words']}\n```", opens="recorded", about=[metric, *paths], brief=given["headline"]
    )


def delete_run(session: ChatSession, argument: str) -> ChatReply:
    """Delete a run, once that was confirmed."""
    *words, last = split(argument) or [""]
    sure = bool(words) and last.lower() == SURE
    name = words[0] if sure else last
    if not name or len(words) > 1:
        raise VgoError("Name one run: /delete NAME; /runs lists them.")
    place = _place(session, name)
    refuse(place)
    if not sure:
        question = f"{place} ({size(place) / 1e6:.1f} MB) would be deleted for good."
        return ChatReply(f"{question} To do it, say: /delete {name} {SURE}", opens="delete", about=[str(place)])
    if session.folder is not None and session.folder.path.resolve() == place.resolve():
        session.leave()
    return ChatReply(f"{place} is deleted ({delete(place) / 1e6:.1f} MB).", opens="runs")


def _judged_by(words: list[str]) -> tuple[list[str], str]:
    """Take the column that runs are judged by out of a line: `--metric COL`, or `--outcome COL`."""
    places = [place for place, word in enumerate(words) if word in JUDGED_BY]
    if not places:
        return words, ""
    at = places[0]
    if at + 1 == len(words):
        raise VgoError(f"{words[at]} takes the name of a column: /open a.csv b.csv {words[at]} time_s")
    return words[:at] + words[at + 2 :], words[at + 1]


def split(words: str) -> list[str]:
    """Split a line as a shell does."""
    try:
        return shlex.split(words)
    except ValueError as error:
        raise VgoError(f"{words!r} is not understood ({error}); close the quotation.") from error


def _place(session: ChatSession, word: str) -> Path:
    """Find what a word names: the newest run, a path, or a run by its name."""
    if word == "last":
        found = history(session.out)
        if not found:
            raise VgoError(f"There are no runs in {session.out} yet.")
        return Path(found[0].folder)
    path = Path(word).expanduser()
    if not path.exists() and (session.out / word).exists():
        path = session.out / word
    if not path.exists():
        raise VgoError(f"There is no run or file {word}; /runs lists the runs.")
    return path


def _is_run(path: Path) -> bool:
    """Tell the folder of a diagnosis, which may have been emptied, from what has a table alone."""
    files = ("request.json", "transcript.jsonl")
    diagnosed = any((path / name).exists() for name in files) and not experiment_in(path)
    return diagnosed or (path.is_dir() and not any(path.iterdir()))


PAST: dict[str, Callable[[ChatSession, str], ChatReply]] = {"runs": runs, "open": open_run, "delete": delete_run}
