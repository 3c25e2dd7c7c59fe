"""The runs below a folder, each from the first line and the last lines of its transcript, and what can be done."""

from __future__ import annotations

import fcntl
import json
import shutil
import textwrap
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ValidationError

from ..knowledge.errors import VgoError
from ..tools.verdict import factors_found, from_json, helpful
from .run_folder import experiment_in, serves
from .transcript import FORMAT, Event, EventBody, ExperimentStart, RunEnd, RunStart, ToolEnd, VerdictGiven

TAIL = 1 << 16
"""Bytes read from the end of a transcript: the verdict and the call before it."""
RunState = Literal["finished", "unfinished", "going on", "empty", "newer", "broken", "experiment"]
LONGEST_VERDICT = 60
"""Characters of a table; that of an experiment is a sentence or two."""
CUT_OFF = {
    "(unfinished)": "It was cut off; it can be resumed.",
    "(interrupted)": "It was stopped; it can be resumed.",
    "(failed)": "It ended in an error; mend the cause and resume it.",
}
"""What is to know of a run without a verdict, by what stands in place of the verdict."""


class ListedRun(NamedTuple):
    """One run; `verdict` is in brackets when there is none to show."""

    when: str
    """Local time, ISO 8601; empty where it is not recorded."""
    verdict: str
    factor: str | None
    ratio: float | None
    """SD with the mitigation over SD without."""
    command: str
    folder: str
    state: RunState
    note: str
    """A sentence wherever the verdict is not the whole story."""

    @property
    def can_open(self) -> bool:
        """Whether it can be read."""
        tabled = self.state == "experiment" and (Path(self.folder) / "runs.csv").exists()
        return tabled or self.state in ("finished", "unfinished", "going on")

    @property
    def can_resume(self) -> bool:
        """Whether a diagnosis can go on in it."""
        return self.state in ("unfinished", "empty") and (Path(self.folder) / "request.json").exists()

    @property
    def minute(self) -> str:
        """Local time to the minute."""
        return self.when[:16].replace("T", " ")

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """When, verdict, factor and ratio, for a table."""
        verdict = textwrap.shorten(self.verdict, LONGEST_VERDICT, placeholder="...")
        return self.minute, verdict, self.factor or "", "" if self.ratio is None else f"{self.ratio:.2g}"


def history(out: Path) -> list[ListedRun]:
    """List the runs, newest first; a broken one is listed as such."""
    try:
        folders = [path for path in out.iterdir() if path.is_dir() and not path.name.startswith(".")]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise VgoError(f"{out} cannot be read ({error.strerror}); name another folder with --out.") from error
    return sorted(map(listed, folders), key=lambda one: (one.when, one.folder), reverse=True)


def listed(folder: Path) -> ListedRun:
    """Describe one run without reading its middle, and say what is the matter with one that cannot be opened."""
    found = _recorded(folder)
    if kind := experiment_in(folder):
        return found._replace(state="experiment", note=f"{kind.capitalize()}: {serves(folder)}.")
    if is_held(folder):
        return found._replace(state="going on", note="Another vgo-agent works on it: it can be watched.")
    return found


def _recorded(folder: Path) -> ListedRun:
    when = _when(folder)

    def without(verdict: str, state: RunState, note: str) -> ListedRun:
        return ListedRun(when, verdict, None, None, "", str(folder), state, note)

    try:
        first, last = _ends(folder / "transcript.jsonl")
        if (written := _format(first)) > FORMAT:
            note = f"A newer vgo-agent made it (format {written}; this one reads {FORMAT}): open it with that one."
            return without("(newer)", "newer", note)
        events = [Event.model_validate_json(line) for line in last]
        return _read(when, folder, Event.model_validate_json(first).body, events)
    except FileNotFoundError:
        if kind := experiment_in(folder):
            return without(f"({kind}, unfinished)", "experiment", "")
        if (folder / "request.json").exists():
            return without("(not begun)", "empty", "It ended before its first step; it can be resumed.")
        return without("(no transcript)", "broken", "It has neither transcript nor request: this is no run folder.")
    except OSError as error:
        return without(
            f"(unreadable: {error.strerror})", "broken", f"It cannot be read ({error.strerror}); see who owns it."
        )
    except ValidationError:
        note = f"Its transcript is damaged; `vgo-agent verify {folder}` says where."
        return without("(broken)", "broken", note)


def _read(when: str, folder: Path, start: EventBody, events: list[Event]) -> ListedRun:
    command = " ".join(start.subject.command) if isinstance(start, RunStart | ExperimentStart) else ""
    verdict = _verdict(events)
    note = CUT_OFF.get(verdict, "")
    if isinstance(start, ExperimentStart):
        verdict = f"({start.experiment}, {verdict[1:]}" if verdict[0] == "(" else f"{start.experiment}: {verdict}"
    state: RunState = "unfinished" if note else "finished"
    return ListedRun(when, verdict, *_finding(events), command, str(folder), state, note)


def _format(first: bytes) -> int:
    """Format that the first line of a transcript names, whatever else is in it; 0: none."""
    try:
        written = json.loads(first)["body"]["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0
    return written if isinstance(written, int) else 0


def _ends(path: Path) -> tuple[bytes, list[bytes]]:
    """Return the first line and the whole lines at the end; a line that is still being written is left out."""
    with path.open("rb") as file:
        first = file.readline()
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL))
        lines = file.read().split(b"\n")
    return first, lines[1 if size > TAIL else 0 : -1]


def _verdict(events: list[Event]) -> str:
    end = events[-1].body if events else None
    if not isinstance(end, RunEnd):
        return "(unfinished)"
    given = [event.body.verdict for event in events if isinstance(event.body, VerdictGiven)]
    return given[-1] if given and end.status == "finished" else f"({end.status})"


def _finding(events: list[Event]) -> tuple[str | None, float | None]:
    """Read the factor, and the ratio that decided, from the call that gave the verdict."""
    ends = [event.body.result for event in events if isinstance(event.body, ToolEnd)]
    given = [result["verdict"] for result in ends if result and isinstance(result.get("verdict"), dict)]
    if not given:
        return None, None
    verdict = from_json(given[-1])
    factor, proof = next(iter(factors_found(verdict)), None), helpful(verdict)
    return factor.factor if factor else None, proof.claim.ratio if proof else None


def _when(folder: Path) -> str:
    from datetime import datetime

    try:
        with (folder / "timing.jsonl").open() as file:
            return datetime.fromisoformat(json.loads(file.readline())["at"]).astimezone().isoformat()
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def is_held(folder: Path) -> bool:
    """Tell whether someone holds the lock of a run folder.

    `/proc/locks` names it by inode; only where it does, the lock is tried, shared and for a moment, since the number
    may be that of a file on another disk. Trying it at once could get in the way of a diagnosis that begins.
    """
    lock = folder / ".lock"
    try:
        return _named(lock.stat().st_ino) and not _free(lock)
    except OSError:
        return False


def _named(inode: int) -> bool:
    words = (line.split() for line in Path("/proc/locks").read_text().splitlines())
    return any("FLOCK" in line and any(word.endswith(f":{inode}") for word in line) for line in words)


def _free(lock: Path) -> bool:
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


OWN = frozenset({"request.json", "transcript.jsonl", "timing.jsonl"})
"""Files by which a run folder is known; one of them is enough, for a run may have been cut off early."""


def refuse(folder: Path) -> None:
    """Raise VgoError where a folder must stay."""
    if folder.is_symlink():
        raise VgoError(f"{folder} is a link; delete the folder that it names.")
    if not folder.is_dir():
        raise VgoError(f"{folder} is gone already; `vgo-agent runs` lists what there is.")
    if not any((folder / name).is_file() for name in OWN):
        raise VgoError(f"{folder} is not the folder of a run; delete it yourself if you mean it.")
    if is_held(folder):
        raise VgoError(f"{folder} is in use by another vgo-agent; stop that one first.")


def delete(folder: Path) -> int:
    """Delete a run folder; return the bytes that its files held. A crash leaves no half of a run in the list."""
    refuse(folder)
    held = size(folder)
    away = folder.with_name(f".deleted-{folder.name}")
    try:
        shutil.rmtree(away, ignore_errors=True)
        folder.rename(away)
        shutil.rmtree(away)
    except OSError as error:
        raise VgoError(f"{folder} cannot be deleted ({error.strerror}); see who owns it.") from error
    return held


def size(folder: Path) -> int:
    """Bytes of all files of a run."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
