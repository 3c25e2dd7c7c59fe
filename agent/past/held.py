"""Whether a process works on a run folder now, asked without taking its lock away."""

from __future__ import annotations

import fcntl
from pathlib import Path


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
