"""The document of one evaluation: which cases, who answered what, and how each answer was scored."""

from __future__ import annotations

import hashlib
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from ...knowledge.errors import VgoError
from ...knowledge.loader import load
from ...knowledge.shape import Frozen
from ..contest.answer import ContestAnswer
from ..recorded.folders import MANIFEST
from ..recorded.gate import UnsoundCase
from ..recorded.recorded_case import RecordedCase
from .effects import Score


class CaseDescription(Frozen):
    """A case that was answered."""

    key: str
    title: str
    split: Literal["train", "held-out"]
    tags: tuple[str, ...]
    difficulty: int
    manifest: str
    """SHA-256 of its manifest: the same as long as no file of the case is another."""


class ScoredAnswer(Frozen):
    """One answer of one contestant, scored."""

    contestant: str
    case: str
    seed: int
    answer: ContestAnswer
    scores: dict[str, Score]
    seconds: float
    """Wall time of answering."""

    @property
    def unfinished(self) -> str:
        """Say why there is no verdict; empty where there is one."""
        return "" if self.answer.verdict else self.answer.ended or "No verdict, and no reason for that."


class Origin(Frozen):
    """When and with what something was made."""

    made: str
    """Date and time, UTC."""
    command: str
    """The command line."""
    version: str
    commit: str
    """Of the working copy that ran; empty where it is an installed package."""
    knowledge: str
    """Digest of factors and mitigations."""


class Results(Origin):
    """Everything that an evaluation gave; rows by contestant, case and seed."""

    format: Literal[1] = 1
    layers: tuple[str, ...] = ()
    """That every diagnosis was given, as far as a case has them; empty: not told."""
    allow: str = ""
    """What every diagnosis was allowed to change; empty: not told."""
    seeds: tuple[int, ...]
    contestants: tuple[str, ...]
    """In the order asked for."""
    cases: tuple[CaseDescription, ...]
    broken: tuple[UnsoundCase, ...] = ()
    missing: dict[str, str] = {}
    """Contestants that could not take part, with the reason."""
    stopped: str = ""
    """Why not everyone has answered everything."""
    rows: tuple[ScoredAnswer, ...]


def case_description(case: RecordedCase) -> CaseDescription:
    """Describe a case."""
    manifest = hashlib.sha256((case.folder / MANIFEST).read_bytes()).hexdigest()
    return CaseDescription(manifest=manifest, **case.file.model_dump(include=set(CaseDescription.model_fields)))


def origin() -> dict[str, str]:
    """Say when and with what an evaluation is made."""
    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(["vgo-agent", *sys.argv[1:]]),
        "version": version("vgo-agent"),
        "commit": commit(),
        "knowledge": load().digest,
    }


def made_by(made: Origin) -> str:
    """Say by which command and when a page was made."""
    command = (made.command or "vgo-agent eval").replace("`", "'")
    commit = f" ({made.commit})" if made.commit else ""
    return f"Made by `{command}` on {made.made} with version {made.version}{commit}; do not edit."


def commit() -> str:
    """Name the commit of the working copy that runs, with `-dirty` where files differ; empty where there is none."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return ""
    asked = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, timeout=10).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def read(path: Path) -> Results:
    """Read a document that --save wrote; raises VgoError for one that is none."""
    try:
        return Results.model_validate_json(path.read_bytes())
    except OSError as error:
        raise VgoError(
            f"Cannot read {path} ({error.strerror}); give a file that `vgo-agent eval --save` wrote."
        ) from error
    except ValidationError as error:
        raise VgoError(f"{path} is no result of this version; make it again with `vgo-agent eval --save`.") from error


def write(text: str, path: Path, option: str) -> None:
    """Write what an option asked for; raises VgoError where the file cannot be written."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise VgoError(f"Cannot write {path} ({error.strerror}); choose another file for {option}.") from error
