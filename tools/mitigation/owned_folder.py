"""Which process made something, so that what a dead one left is found: temporary folders and working copies."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ...knowledge.errors import VgoError
from ...layers.pid_namespace import NAMESPACE, pid_namespace, told_start
from ..execution.processes import DEAD, stat

_NAME = re.compile(r"vgo-agent-(\d+)-(\d+)-")
SHARED_MEMORY = Path("/dev/shm")
LARGEST = 256 << 20
"""Bytes: memory that the program may need itself."""
# Our own results lie below the working directory unless told otherwise, and are no part of the program.
_NOT_COPIED = "vgo-runs"


class Owner(NamedTuple):
    """A process: its number alone may have been given to another one since."""

    pid: int
    start: int
    """Field 22 of /proc/PID/stat, clock ticks after boot, and NAMESPACE times the inode of its PID namespace."""

    @property
    def hidden(self) -> bool:
        """It is in another PID namespace, and we are not in the machine's own, from which all are seen."""
        return pid_namespace() not in (0, self.start // NAMESPACE)

    @property
    def alive(self) -> bool:
        """A zombie counts as dead: it can put nothing back. One that is hidden counts as alive."""
        if self.hidden:
            return True
        if self.start // NAMESPACE != pid_namespace():
            return _inhabited(self.start // NAMESPACE)
        fields = stat(self.pid)
        return bool(fields) and begun(self.pid) == self.start and fields[0] not in DEAD


def _inhabited(namespace: int) -> bool:
    """Tell whether a process is in a PID namespace below our own."""
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            if os.stat(f"/proc/{pid}/ns/pid").st_ino == namespace:
                return True
    return False


def this_process() -> Owner:
    """Name the calling process."""
    pid = os.getpid()
    return Owner(pid, begun(pid))


def begun(pid: int) -> int:
    """Return when a process of our PID namespace began, as `Owner` has it; 0 where there is none."""
    fields = stat(pid)
    return told_start(fields[19]) if fields else 0


def boot_id() -> str:
    """Name this boot: kernel settings die with it."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def make_folder(parent: Path) -> Path:
    """Make a folder of this process below `parent`."""
    owner = this_process()
    return Path(tempfile.mkdtemp(prefix=f"vgo-agent-{owner.pid}-{owner.start}-", dir=parent))


def stale_folders(parent: Path) -> tuple[Path, ...]:
    """List this user's folders whose agent is dead."""
    return tuple(path for path in sorted(parent.glob("vgo-agent-*")) if _stale(path))


def temporary_place() -> Path:
    """Name the folder that this system keeps temporary files in."""
    return Path(tempfile.gettempdir())


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder for the time of the context; those that killed agents left are removed before."""
    place = temporary_place()
    for left in stale_folders(place):
        shutil.rmtree(left, ignore_errors=True)
    folder = make_folder(place)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _stale(path: Path) -> bool:
    named = _NAME.match(path.name)
    try:
        if named is None or path.is_symlink() or path.lstat().st_uid != os.geteuid():
            return False
    except FileNotFoundError:  # another agent removed it just now
        return False
    return not Owner(int(named[1]), int(named[2])).alive


@dataclass(frozen=True)
class WorkingCopy:
    """Where a program runs instead of `original`."""

    original: Path
    directory: Path
    temporary: Path
    """For TMPDIR."""

    def moved(self, word: str) -> str:
        """Turn an absolute path below the original directory into the one below the copy; leave the rest."""
        path = Path(word)
        return str(self.directory / path.relative_to(self.original)) if path.is_relative_to(self.original) else word


@contextlib.contextmanager
def working_copy(original: Path, shared_memory: Path = SHARED_MEMORY) -> Iterator[WorkingCopy]:
    """Copy `original` below `shared_memory` for the time of the context."""
    original = original.absolute()
    _refuse_large(original, shared_memory)
    folder = make_folder(shared_memory)
    try:
        copy = WorkingCopy(original, folder / "work", folder / "tmp")
        copy.temporary.mkdir()
        _copy(original, copy.directory)
        yield copy
    finally:
        shutil.rmtree(folder)


def _refuse_large(original: Path, shared_memory: Path) -> None:
    if not os.access(shared_memory, os.W_OK):
        raise VgoError(f"Cannot write to {shared_memory}: mount a tmpfs there.")
    room = os.statvfs(shared_memory)
    most = min(LARGEST, room.f_bavail * room.f_frsize // 2)
    size = 0
    for path, folders, names in os.walk(original):
        folders[:] = set(folders) - {_NOT_COPIED}
        size += sum(_size(os.path.join(path, name)) for name in names)
        if size > most:
            raise VgoError(
                f"{original} holds more than the {most >> 20} MB that are copied to {shared_memory}: "
                "start vgo-agent in a directory with only what the program needs."
            )


def _size(path: str) -> int:
    with contextlib.suppress(FileNotFoundError):  # it has gone meanwhile
        return os.lstat(path).st_size
    return 0


def _copy(original: Path, copy: Path) -> None:
    try:
        shutil.copytree(original, copy, symlinks=True, ignore=_ignored, copy_function=_copy_file)
    except (OSError, shutil.Error) as error:
        raise VgoError(f"Cannot copy {original} to {copy.parent}: {error}; make its files readable.") from error


def _copy_file(source: str, target: str) -> None:
    with contextlib.suppress(FileNotFoundError):  # it has gone meanwhile, as temporary files do
        shutil.copy2(source, target)


def _ignored(folder: str, names: list[str]) -> set[str]:
    """Leave out our results, and sockets and pipes, which cannot be copied."""
    copied = (os.path.isdir, os.path.isfile, os.path.islink)
    paths = {name: os.path.join(folder, name) for name in names}
    return {name for name, path in paths.items() if name == _NOT_COPIED or not any(kind(path) for kind in copied)}
