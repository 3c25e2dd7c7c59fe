"""A copy of the working directory on tmpfs, gone when the context ends; a dead agent's copy is found by its name."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...knowledge.errors import VgoError
from .owned_folder import make_folder

SHARED_MEMORY = Path("/dev/shm")
LARGEST = 256 << 20
"""Bytes: memory that the program may need itself."""

# Our own results lie below the working directory unless told otherwise, and are no part of the program.
_NOT_COPIED = "vgo-runs"


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
