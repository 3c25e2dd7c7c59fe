"""The life of every request: put back leftovers, hold its folder, end an orphan, begin or go on, close."""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from shlex import quote
from typing import IO, TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, TypeVar

from ..knowledge.errors import VgoError
from ..knowledge.shape import Frozen
from ..tools.execution.row_log import SettingRestored
from ..tools.execution.spawn import Spawner
from ..tools.mitigation.restore import restore
from ..tools.subject import Subject
from .began import process_age_s
from .clock import BudgetClock
from .ending import goes_on_with
from .run_folder import KINDS, REQUEST, TALK, RunFolder, end_orphan, experiment_in, write
from .transcript import RunEnd, Transcript
from .worker.link import LOG

if TYPE_CHECKING:
    from .interface import Interface

UNSEALED = ("transcript.jsonl", ".lock", "child.pid", LOG, TALK, "artefacts")
"""Of the folder: what the end record has no hash of; artefacts have it as their name."""
FREED_S = 1.0
"""Of a process that was killed, what it was about to start holds the folder until it has begun its own program."""
Status = Literal["finished", "interrupted", "failed"]


class ShownAnswer(NamedTuple):
    """An answer as a command gives it."""

    values: Mapping[str, Any]
    """The object of `--json`."""
    words: str
    failure: str = ""
    """Why there is none."""


class RequestResult(Protocol):
    """What came of a request."""

    def shown(self, saved: Sequence[Path] = ()) -> ShownAnswer:
        """As a command gives it; `saved` are files that the user asked for."""


class Changes(NamedTuple):
    """What is another when a request goes on."""

    seconds: float | None = None
    """To go on for, from now."""
    accept: tuple[str, ...] = ()
    """Mitigations that may change a promise from here on."""
    on: str = ""
    """Where its hosts are reached now; empty: where they were."""


UNCHANGED = Changes()


class Request(Frozen):
    """What the user asked for: written first, so that what is killed at any moment can go on."""

    FILE: ClassVar[str]
    subject: Subject

    def keep(self, folder: RunFolder) -> None:
        """Write it."""
        write(folder.path / self.FILE, self.model_dump_json(indent=2).encode() + b"\n")

    def resumed(self, folder: RunFolder, interface: Interface, clock: BudgetClock, changes: Changes) -> RequestResult:
        """Go on where it was cut short, or answer again."""
        raise NotImplementedError


R = TypeVar("R", bound=Request)


def read_request(folder: Path, of: type[R]) -> R:
    """Read what a folder was made for."""
    kind = experiment_in(folder)
    path = folder / (REQUEST if kind else "request.json")
    module, name = KINDS.get(kind, ("diagnosis", "DiagnosisRequest"))
    try:
        request = getattr(import_module(f".{module}", __package__), name).model_validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise VgoError(f"{path} is damaged, so it cannot go on: begin a new one.") from error
    assert isinstance(request, of)
    return request


@dataclass(frozen=True)
class RequestSession:
    """A process that works on a request: who watches, the budget, and what starts the program."""

    interface: Interface
    clock: BudgetClock
    spawner: Spawner

    @contextmanager
    def kept_in(self, folder: RunFolder, is_held: bool = False) -> Iterator[Transcript]:
        """Hold a folder, end an orphan, and give its transcript to begin or to go on with; close it however it ends."""
        folder.make()
        with nullcontext() if is_held else resumable(folder):
            end_orphan(folder.child)
            transcript = Transcript.open(folder.transcript)
            if not transcript.ended:  # nothing is written into a folder that is closed
                folder.note_time("begun", age_s=process_age_s())
            try:
                yield transcript
            except (KeyboardInterrupt, SystemExit) as stop:  # SystemExit: the spawner makes it of SIGTERM and SIGHUP
                how = "Ctrl-C" if isinstance(stop, KeyboardInterrupt) else f"exit {stop.code}"
                self._close(folder, transcript, "interrupted", "; ".join([how, *getattr(stop, "__notes__", ())]))
                raise
            except VgoError as error:
                self._close(folder, transcript, "failed", str(error))
                raise
            self._close(folder, transcript, "finished")

    def note_end(self, folder: RunFolder) -> None:
        """Note the time that this process has taken so far, and that of the program in it."""
        folder.note_time("ended", age_s=process_age_s(), program_s=self.spawner.spent_ns / 1e9, process=os.getpid())

    def _close(self, folder: RunFolder, transcript: Transcript, status: Status, reason: str = "") -> None:
        if transcript.events and not transcript.ended:
            self.note_end(folder)
            append_end(transcript, folder, self.clock, status, reason)


@contextmanager
def session(interface: Interface, clock: BudgetClock) -> Iterator[RequestSession]:
    """Begin to work: what a dead process left is put back before anything runs."""
    tell_restored(interface)
    with Spawner() as spawner:
        yield RequestSession(interface, clock, spawner)


def append_end(
    transcript: Transcript, folder: RunFolder, clock: BudgetClock, status: Status = "finished", reason: str = ""
) -> None:
    """Append the end record: why it ended, and the hashes of the files that were made."""
    files = [path for path in sorted(folder.path.rglob("*")) if path.is_file()]
    named = {str(path.relative_to(folder.path)): path for path in files}
    transcript.append(
        RunEnd(
            status=status,
            reason=reason,
            count=len(transcript.events),
            tip=transcript.tip,
            outputs={
                name: hashlib.sha256(path.read_bytes()).hexdigest()
                for name, path in named.items()
                if name.partition("/")[0] not in UNSEALED
            },
            elapsed_s=round(clock.elapsed_s(), 3),
        )
    )


@contextmanager
def resumable(folder: RunFolder) -> Iterator[None]:
    """Keep a second process off the folder; who stops it is told how to go on."""
    with held(folder), goes_on_with(lambda: f"vgo-agent resume {quote(str(folder.path))}"):
        yield


@contextmanager
def held(folder: RunFolder) -> Iterator[None]:
    """Keep a second process off the folder."""
    with (folder.path / ".lock").open("w") as file:
        deadline = time.monotonic() + FREED_S
        while not _locked(file):
            if time.monotonic() > deadline:
                raise VgoError(f"{folder.path} is in use by another vgo-agent; wait until it has ended.")
            time.sleep(FREED_S / 100)
        yield


def _locked(file: IO[str]) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def tell_restored(interface: Interface) -> None:
    """Put back what a dead process left, before anything is measured."""
    for line in restore():
        interface.progressed(SettingRestored(line))
