"""The journal of changed settings, one per machine: written before a knob is touched, removed when it is back."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from ...knowledge.errors import VgoError
from ...knowledge.shape import Frozen
from .. import durable, ending_signals
from .gpu_values import gpu_values
from .guard import TOLD
from .kernel_file import GPU, KernelFiles, KnobReturn, SavedKnob, is_setting, put_group_back
from .owned_folder import Owner, boot_id, this_process

_DRAFT = re.compile(r"-(\d+)-(\d+)\.draft$")
_WAIT_S, _PAUSE_S = 5.0, 0.01
"""For a watchdog that puts back what its agent left."""


class JournalEntry(Frozen):
    """What one mitigation changes on this machine."""

    mitigation: str
    boot_id: str
    pid: int
    start: int
    root: str
    """`/`, or the fake tree of a test."""
    groups: tuple[SavedKnob, ...]
    applied: bool = False
    """False while the knobs are set for the first time: then any value but the old one is ours, because the kernel
    may round what is written."""
    revert: tuple[str, ...] = ()
    """A command that undoes what a script did, as words."""

    @property
    def values(self) -> dict[str, str]:
        """Each knob with its value before."""
        return {group.path: group.saved[group.path] for group in self.groups}

    @property
    def left_behind(self) -> bool:
        """Nobody else will put it back: its process is dead, or the machine has booted since.

        Of one that is hidden in another container only its lock on the journal tells that it lives.
        """
        owner = Owner(self.pid, self.start)
        return self.boot_id != boot_id() or owner.hidden or not owner.alive


def new_entry(mitigation: str, groups: tuple[SavedKnob, ...], root: Path) -> JournalEntry:
    """Describe a change that this process is about to make."""
    owner = this_process()
    return JournalEntry(
        mitigation=mitigation, boot_id=boot_id(), pid=owner.pid, start=owner.start, root=str(root), groups=groups
    )


def journal_folder() -> Path:
    """Find the folder of this machine's journal, the same for every agent of this user."""
    named = os.environ.get("VGO_AGENT_JOURNAL")
    if named:
        return Path(named)
    if os.geteuid() == 0:
        return Path("/run/vgo-agent")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime) / "vgo-agent" if runtime else Path(f"/tmp/vgo-agent-{os.geteuid()}")


@dataclass(frozen=True)
class Journal:
    """The entries below `folder`."""

    folder: Path

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the right to change settings; a second agent is refused at once."""
        self._make_folder()
        try:
            lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            self._take(lock, time.monotonic() + _WAIT_S)
            yield
        finally:
            os.close(lock)

    def _take(self, lock: int, deadline_s: float) -> None:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError as error:
                # Else it is a watchdog that puts back what its agent left.
                if time.monotonic() > deadline_s or not any(entry.left_behind for entry in self.entries()):
                    raise VgoError(
                        f"Another vgo-agent is changing settings of this machine ({self.folder}): wait until it has "
                        "ended, or use --allow process."
                    ) from error
            time.sleep(_PAUSE_S)

    def record(self, entry: JournalEntry) -> None:
        """Put an entry on the disk, there when this returns; a full disk means that nothing is changed."""
        ending_signals.changes(entry.values)
        path = self._path(entry)
        try:
            durable.write(path, entry.model_dump_json(indent=1).encode(), path.with_suffix(".draft"))
        except OSError as error:
            raise self._unwritable(error) from error

    def remove(self, entry: JournalEntry) -> None:
        """Forget an entry whose settings are back."""
        self._path(entry).unlink(missing_ok=True)
        durable.sync(self.folder)
        ending_signals.changed_no_more(entry.values)

    def take_told(self) -> list[str]:
        """Read what watchdogs did, once."""
        told = []
        for path in sorted(self.folder.glob(f"*{TOLD}")):
            with contextlib.suppress(FileNotFoundError):  # another agent was first
                told += path.read_text(encoding="utf-8").splitlines()
                path.unlink()
        return told

    def remove_drafts(self) -> None:
        """Remove what killed agents had begun to write; those of the living are left."""
        for draft in self.folder.glob("*.draft"):
            named = _DRAFT.search(draft.name)
            if named is None or not Owner(int(named[1]), int(named[2])).alive:
                draft.unlink(missing_ok=True)

    def entries(self) -> tuple[JournalEntry, ...]:
        """Read what stands in the journal; one that others could have written is not believed."""
        self._refuse_foreign()
        read = (self._read(path) for path in sorted(self.folder.glob("*.json")))
        return tuple(entry for entry in read if entry)

    def _unwritable(self, error: OSError) -> VgoError:
        return VgoError(
            f"Cannot write the journal in {self.folder} ({error.strerror}), so nothing stays changed: make room or set "
            "VGO_AGENT_JOURNAL to another folder."
        )

    def _path(self, entry: JournalEntry) -> Path:
        return self.folder / f"{entry.mitigation}-{entry.pid}-{entry.start}.json"

    def _read(self, path: Path) -> JournalEntry | None:
        try:
            entry = JournalEntry.model_validate_json(path.read_bytes())
        except FileNotFoundError:  # a watchdog, or another agent, has just put it back
            return None
        except (ValidationError, OSError) as error:
            raise VgoError(
                f"The journal entry {path} cannot be read: compare the settings it names, then delete it."
            ) from error
        named = [knob for group in entry.groups for knob in (group.path, *group.saved)]
        if entry.root == "/" and (other := [knob for knob in named if not is_setting(knob)]):
            raise VgoError(f"The journal entry {path} names {other[0]}, which is no kernel setting: delete the entry.")
        return entry

    def _refuse_foreign(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            found = self.folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
                raise VgoError(
                    f"The journal folder {self.folder} is not yours alone: set VGO_AGENT_JOURNAL to a folder of yours."
                )

    def _make_folder(self) -> None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise VgoError(
                f"Cannot make the journal folder {self.folder} ({error.strerror}): set VGO_AGENT_JOURNAL."
            ) from error


def put_back(entry: JournalEntry) -> list[KnobReturn]:
    """Put the settings of one entry back, last set first; one that cannot be does not keep the others."""
    of_gpus = any(group.path.startswith(GPU) for group in entry.groups)
    files = gpu_values() if of_gpus else KernelFiles(Path(entry.root))
    returned, failed = list[KnobReturn](), list[VgoError]()
    for group in reversed(entry.groups):
        try:
            one = put_group_back(files, group, entry.applied and not group.coupled)
        except VgoError as error:
            failed.append(error)
        else:
            returned += [one] if one else []
    if failed:
        raise failed[0]
    return returned
