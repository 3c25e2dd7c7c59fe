"""Temporary folders that tell by their name which process made them, so that those of a dead one can be removed."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .owner import Owner, this_process

_NAME = re.compile(r"vgo-agent-(\d+)-(\d+)-")


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
