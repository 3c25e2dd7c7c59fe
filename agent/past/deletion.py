"""Take a run folder away, and nothing that is not one."""

from __future__ import annotations

import fcntl
import shutil
from pathlib import Path

from ...knowledge.errors import VgoError


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


OWN = frozenset({"request.json", "transcript.jsonl", "timing.jsonl"})
"""Files by which a run folder is known; one of them is enough, for a run may have been cut off early."""


def refuse(folder: Path) -> None:
    """Raise VgoError where a folder must stay."""
    if folder.is_symlink():
        raise VgoError(f"{folder} is a link; delete the folder that it names.")
    if not folder.is_dir():
        raise VgoError(f"{folder} is gone already; `vgo-agent runs` lists what there is.")
    if not any((folder / name).is_file() for name in OWN):
        raise VgoError(f"{folder} is not the folder of a run; delete it yourself if you mean it.")
    if is_held(folder):
        raise VgoError(f"{folder} is in use by another vgo-agent; stop that one first.")


def delete(folder: Path) -> int:
    """Delete a run folder; return the bytes that its files held. A crash leaves no half of a run in the list."""
    refuse(folder)
    held = size(folder)
    away = folder.with_name(f".deleted-{folder.name}")
    try:
        shutil.rmtree(away, ignore_errors=True)
        folder.rename(away)
        shutil.rmtree(away)
    except OSError as error:
        raise VgoError(f"{folder} cannot be deleted ({error.strerror}); see who owns it.") from error
    return held


def size(folder: Path) -> int:
    """Bytes of all files of a run."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
