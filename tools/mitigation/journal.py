"""The journal of changed settings, one per machine: written before a knob is touched, removed when it is back."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from ...knowledge.errors import VgoError
from ..subject import Frozen
from .kernel_file import KernelFiles
from .owner import Owner, boot_id, this_process


class Group(Frozen):
    """One knob with the files that the kernel changes along with it, by path."""

    path: str
    wanted: str
    """What reads back once it is set; until `applied`, what was asked for."""
    saved: dict[str, str]
    """`path` and its siblings before."""


class Entry(Frozen):
    """What one mitigation changes on this machine."""

    mitigation: str
    boot_id: str
    pid: int
    start: int
    root: str
    """`/`, or the fake tree of a test."""
    groups: tuple[Group, ...]
    applied: bool = False
    """False while the knobs are set for the first time: then any value but the old one is ours, because the kernel
    may round what is written."""

    @property
    def left_behind(self) -> bool:
        """Nobody else will put it back: its process is dead, or the machine has booted since."""
        return self.boot_id != boot_id() or not Owner(self.pid, self.start).alive


def new_entry(mitigation: str, groups: tuple[Group, ...], root: Path) -> Entry:
    """Describe a change that this process is about to make."""
    owner = this_process()
    return Entry(
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
        lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._take(lock)
            yield
        finally:
            os.close(lock)

    def _take(self, lock: int) -> None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise VgoError(
                f"Another vgo-agent is changing settings of this machine ({self.folder}): wait until it has ended, "
                "or use --allow process."
            ) from error

    def record(self, entry: Entry) -> None:
        """Put an entry on the disk, there when this returns; a full disk means that nothing is changed."""
        path = self._path(entry)
        draft = path.with_suffix(".draft")
        try:
            with draft.open("wb") as file:
                file.write(entry.model_dump_json(indent=1).encode())
                file.flush()
                os.fsync(file.fileno())
            draft.rename(path)
            self._sync_folder()
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise VgoError(
                f"Cannot write the journal in {self.folder} ({error.strerror}), so nothing was changed: make room or "
                "set VGO_AGENT_JOURNAL to another folder."
            ) from error

    def remove(self, entry: Entry) -> None:
        """Forget an entry whose settings are back."""
        self._path(entry).unlink(missing_ok=True)
        self._sync_folder()

    def remove_drafts(self) -> None:
        """Remove what a killed agent had begun to write; the caller holds the lock."""
        for draft in self.folder.glob("*.draft"):
            draft.unlink()

    def entries(self) -> tuple[Entry, ...]:
        """Read what stands in the journal; one that others could have written is not believed."""
        self._refuse_foreign()
        return tuple(self._read(path) for path in sorted(self.folder.glob("*.json")))

    def _path(self, entry: Entry) -> Path:
        return self.folder / f"{entry.mitigation}-{entry.pid}-{entry.start}.json"

    def _read(self, path: Path) -> Entry:
        try:
            entry = Entry.model_validate_json(path.read_bytes())
        except (ValidationError, OSError) as error:
            raise VgoError(
                f"The journal entry {path} cannot be read: compare the settings it names, then delete it."
            ) from error
        named = [knob for group in entry.groups for knob in (group.path, *group.saved)]
        if entry.root == "/" and (other := [knob for knob in named if not _is_setting(knob)]):
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

    def _sync_folder(self) -> None:
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _is_setting(path: str) -> bool:
    return path.startswith(("/proc/sys/", "/sys/")) and ".." not in path.split("/")


class Returned(NamedTuple):
    """What became of a knob that was not as before."""

    said: str
    foreign: bool
    """Someone else changed it in between, so it was left alone."""


def put_back(entry: Entry) -> list[Returned]:
    """Put the settings of one entry back, last set first."""
    files = KernelFiles(Path(entry.root))
    returned = [put_group_back(files, group, entry.applied) for group in reversed(entry.groups)]
    return [one for one in returned if one]


def put_group_back(files: KernelFiles, group: Group, applied: bool) -> Returned | None:
    """Put one group back and check all of it; None when it is as before."""
    if as_before(files, group):
        return None
    now, old = files.read(group.path), group.saved[group.path]
    if applied and now != group.wanted:
        said = f"{group.path}: left at {now}, because someone else changed it; it was {old} before vgo-agent"
        return Returned(said, foreign=True)
    differing = files.put_back(group.saved)
    if differing:
        values = ", ".join(f"{group.saved[path]} into {path}" for path in differing)
        raise VgoError(f"Cannot put back a setting: write {values} as root, then run vgo-agent restore.")
    return Returned(f"{group.path}: {now} -> {old}", foreign=False)


def as_before(files: KernelFiles, group: Group) -> bool:
    """Tell whether a knob and its siblings have the values they had."""
    return all(files.read(path) == old for path, old in group.saved.items())
