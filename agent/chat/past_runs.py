"""Commands about runs that were made before and recorded files, and those that take something out of a run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from ...knowledge.errors import VgoError
from ...tools.verdict import confirmed
from ..answers.of_experiment import experiment_answer
from ..desk.markdown import as_markdown
from ..history import ListedRun, delete, history, listed, refuse, size
from ..run_folder import ANSWER, RunFolder, experiment_in
from ..terminal import table
from .session import ChatSession
from .words import ChatReply

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
    answer, words = answered_by_experiment(session, ""), as_markdown(given["words"])
    return ChatReply(f"{answer.text}\n\n{words}" if answer else words, opens="files", about=paths)


def answered_by_experiment(session: ChatSession, question: str) -> ChatReply | None:
    """Give what came of the study, sweep or series of runs that is looked at; None where there is no such answer."""
    paths = [Path(path) for path in session.files["paths"]] if session.files else []
    folder = paths[0] if paths and paths[0].is_dir() else paths[0].parent if paths else None
    if folder is None or len(paths) > 1 or not experiment_in(folder) or not (folder / ANSWER).exists():
        return None
    found = experiment_answer(folder, question)
    return ChatReply("\n".join(f"- {said}" for said in found.sentences) + f"\n\n*{found.serves}*")


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
    command.__name__: command for command in (copy, save, export, screenshot)
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
