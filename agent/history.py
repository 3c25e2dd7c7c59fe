"""The runs below a folder, each from the first line and the last lines of its transcript."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from ..knowledge.errors import VgoError
from ..tools.verdict import factors_found, from_json, helpful
from .experiment_folder import experiment_in
from .transcript import Event, ExperimentStart, RunEnd, RunStart, ToolEnd, VerdictGiven

TAIL = 1 << 16
"""Bytes read from the end of a transcript: the verdict and the call before it."""


class ListedRun(NamedTuple):
    """One run; `verdict` is in brackets when there is none to show."""

    when: str
    """Local time, ISO 8601; empty where it is not recorded."""
    verdict: str
    factor: str | None
    ratio: float | None
    command: str
    folder: str


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
    """Describe one run without reading its middle."""
    when = _when(folder)
    try:
        first, last = _ends(folder / "transcript.jsonl")
        events = [Event.model_validate_json(line) for line in last]
        start = Event.model_validate_json(first).body
        factor, ratio = _finding(events)
    except FileNotFoundError:
        if kind := experiment_in(folder):
            return ListedRun(when, f"({kind}, unfinished)", None, None, "", str(folder))
        begun = "not begun" if (folder / "request.json").exists() else "no transcript"
        return ListedRun(when, f"({begun})", None, None, "", str(folder))
    except OSError as error:
        return ListedRun(when, f"(unreadable: {error.strerror})", None, None, "", str(folder))
    except ValidationError:
        return ListedRun(when, "(broken)", None, None, "", str(folder))
    command = " ".join(start.subject.command) if isinstance(start, RunStart | ExperimentStart) else ""
    verdict = _verdict(events)
    if isinstance(start, ExperimentStart):
        verdict = f"({start.experiment}, {verdict[1:]}" if verdict[0] == "(" else f"{start.experiment}: {verdict}"
    return ListedRun(when, verdict, factor, ratio, command, str(folder))


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
