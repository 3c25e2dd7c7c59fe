"""The folder of one run: transcript, artefacts by hash, timing, tables, report."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Any

from ..knowledge.errors import VgoError
from ..tools import durable
from ..tools.execution.processes import end_tree
from .began import started_at

REQUEST, ANSWER = "experiment.json", "answer.json"
"""Files that are written first and last: an object with `kind`, and one with `headline` and `command`."""
TALK = "talk.jsonl"
"""What was said about the run, which may go on after its end."""
KINDS = {
    "calibration": ("calibration", "CalibrationRequest"),
    "machine profile": ("machine_profile", "MachineProfileRequest"),
    "measurement": ("step", "StepRequest"),
    "profile": ("step", "StepRequest"),
    "study": ("study", "StudyRequest"),
    "sweep": ("sweep.conduct", "SweepRequest"),
}
"""Module and class of what each kind is asked for."""


@dataclass(frozen=True)
class RunFolder:
    """Paths and the few ways to write them."""

    path: Path

    @classmethod
    def create(cls, parent: Path, name: str) -> RunFolder:
        """Make a new folder, named by time and program."""
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        base = f"{stamp}-{name}"
        try:
            parent.mkdir(parents=True, exist_ok=True)
            for number in range(1000):
                path = parent / (f"{base}-{number}" if number else base)
                try:
                    path.mkdir()
                except FileExistsError:
                    continue
                cls(path).make()
                return cls(path)
        except OSError as error:
            raise VgoError(f"Cannot write in {parent} ({error.strerror}); name another folder with --out.") from error
        raise VgoError(f"{parent} has a thousand runs of this second; name another folder with --out.")

    def make(self) -> None:
        """Make the folder where it is not there."""
        try:
            (self.path / "artefacts").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise VgoError(
                f"Cannot write in {self.path.parent} ({error.strerror}); name another folder with --out."
            ) from error

    @classmethod
    def find(cls, path: Path) -> RunFolder:
        """Open the folder of a run, named by itself or by a file in it."""
        folder = path if path.is_dir() else path.parent
        if not (folder / "request.json").exists():
            named = quote(str(path))
            if kind := experiment_in(folder):
                raise VgoError(f"{named} is the folder of a {kind}, not of a diagnosis: {serves(folder)}.")
            raise VgoError(f"{named} is not the folder of a run (no request.json); `vgo-agent runs` lists them.")
        return cls(folder)

    @classmethod
    def of_any(cls, path: Path) -> RunFolder:
        """Open the folder of a diagnosis or of an experiment."""
        return cls(path) if experiment_in(path) else cls.find(path)

    @property
    def transcript(self) -> Path:
        """The events."""
        return self.path / "transcript.jsonl"

    @property
    def partial(self) -> Path:
        """Rows of calls that are still going on."""
        return self.path / "partial"

    @property
    def child(self) -> Path:
        """The process id of the run that is going on, so that a resume can end an orphan."""
        return self.path / "child.pid"

    def put(self, content: bytes) -> str:
        """Store an artefact; return its SHA-256."""
        digest = hashlib.sha256(content).hexdigest()
        target = self.path / "artefacts" / digest
        if not (target.exists() and target.read_bytes() == content):
            write(target, content)
        return digest

    def get(self, sha256: str) -> bytes:
        """Return an artefact, checked."""
        return self.checked(f"artefacts/{sha256}", sha256)

    def checked(self, name: str, sha256: str) -> bytes:
        """Return the content of a file of the folder; raise VgoError where its SHA-256 is another."""
        path = self.path / name
        try:
            content = path.read_bytes()
        except OSError as error:
            raise VgoError(f"{path} is missing or unreadable ({error.strerror}); the run folder is broken.") from error
        if hashlib.sha256(content).hexdigest() != sha256:
            raise VgoError(f"{path} was changed after it was written.")
        return content

    def note_time(self, what: str, **more: Any) -> None:
        """Append to the wall-clock record, which no hash of an event covers."""
        entry = {"what": what, "at": datetime.now(UTC).isoformat(), "monotonic": time.monotonic(), **more}
        path = self.path / "timing.jsonl"
        try:
            with path.open("a") as file:
                file.write(json.dumps(entry) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise VgoError(f"Cannot write {path} ({error.strerror}); free space there, then resume.") from error

    def times(self) -> list[dict[str, Any]]:
        """The wall-clock record, without lines that a crash tore or a disk damaged."""
        path = self.path / "timing.jsonl"
        texts = path.read_text(errors="replace").splitlines() if path.exists() else []
        found = []
        for text in texts:
            with contextlib.suppress(ValueError):
                found.append(json.loads(text))
        return [entry for entry in found if isinstance(entry, dict)]


def experiment_in(folder: Path) -> str:
    """Tell what a folder holds; empty where it is none of these, `experiment` where its request is damaged."""
    path = folder / REQUEST
    try:
        kind = json.loads(path.read_bytes())["kind"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        kind = None
    return kind if isinstance(kind, str) and kind in KINDS else "experiment" if path.is_file() else ""


def serves(folder: Path) -> str:
    """Name the commands that read it."""
    named = quote(str(folder))
    return (
        f"`vgo-agent resume {named}` goes on with it or answers again; `vgo-agent verify {named}` checks it, "
        f"`vgo-agent analyze {named}` reads its runs"
    )


def write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; it outlasts a loss of power."""
    try:
        durable.write(path, content)
    except OSError as error:
        raise VgoError(f"Cannot write {path} ({error.strerror}); free space there or use another --out.") from error


SAME_MOMENT_S = 2.0
"""Between the start of a process and the note of it: an id that was given anew belongs to another moment."""


class ChildFile:
    """Keeps the process id of the run that is going on, at the cost of one small write into the page cache."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)

    def __call__(self, pid: int) -> None:
        """Note a run that has just started."""
        os.pwrite(self._descriptor, b"%-12d" % pid, 0)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def end_orphan(path: Path) -> None:
    """End the run that a killed process left going, with all below it: it would disturb the runs to come."""
    try:
        pid, noted = int(path.read_text()), path.stat().st_mtime
        if os.getpgid(pid) == pid and abs(started_at(pid) - noted) < SAME_MOMENT_S:
            end_tree(lambda: [pid])
    except (OSError, ValueError):  # nothing was noted, or it has ended
        return


def place_meant(words: str, out: Path) -> Path:
    """Take a path as it stands, else as a name among the runs, whatever lies there."""
    path = Path(words)
    return out / words if not path.exists() and (out / words).exists() else path


def run_meant(words: str, out: Path) -> RunFolder:
    """Open the run that is meant; raises VgoError where there is none."""
    return RunFolder.find(place_meant(words, out))
