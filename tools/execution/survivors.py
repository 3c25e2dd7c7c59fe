"""Find and end what a run left behind: background jobs, daemons, processes in sessions of their own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ...knowledge.errors import VgoError
from .launch import RunGroup
from .processes import end_tree, kin, stat

PART = 2048
"""A read shorter than this was the last: pages have 4 kB or more, a number at most 8 bytes."""


class Survivors:
    """Watches the children of this process, to which the kernel hands every orphan of a run (we are the subreaper)."""

    def __init__(self) -> None:
        """Open the list of children once."""
        self._group = os.getpgrp()
        # Orphans go to the first living thread of the subreaper, which is its main thread.
        path = f"/proc/self/task/{os.getpid()}/children"
        self._list = os.open(path, os.O_RDONLY | os.O_CLOEXEC) if os.path.exists(path) else None

    def children(self) -> bytes:
        """Return the numbers of our children, ended ones too, as the kernel writes them."""
        if self._list is None:
            return b" ".join(sorted(b"%d" % pid for pid in kin()(os.getpid())))
        # One read ends at the kernel's buffer of a page, so a long list comes in parts.
        text = part = os.pread(self._list, 65536, 0)
        while len(part) > PART:
            part = os.pread(self._list, 65536, len(text))
            text += part
        return text

    def end(self, known: bytes, leader: int = 0, groups: Sequence[RunGroup] = ()) -> int:
        """End the leader of a run, its groups and all children but the `known` and our own; return how many lived.

        The leader stays a zombie to be read. What cannot be ended is said, and not waited for.
        """
        if not leader and self.children() == known:
            return 0
        for group in groups:
            kill_group(group.folder)
        ended = end_tree(lambda: [*filter(None, [leader]), *self.orphans(known, leader)])
        self.orphans(known, leader)
        if ended.left:
            raise VgoError(unending(ended.left))
        return ended.number

    def orphans(self, known: bytes, leader: int) -> list[int]:
        """Return what the run handed to us and lives; reap what does not, as init would."""
        spared = {leader, *map(int, known.split())}
        found = [pid for pid in map(int, self.children().split()) if pid not in spared and self._is_foreign(pid)]
        return [pid for pid in found if not reaped(pid)]

    def _is_foreign(self, pid: int) -> bool:
        """Tell whether a child is a run's: runs have process groups of their own, our other children have ours."""
        try:
            return os.getpgid(pid) != self._group
        except ProcessLookupError:  # Another thread reaped its own child meanwhile.
            return False

    def close(self) -> None:
        """Close the list."""
        if self._list is not None:
            os.close(self._list)


def reaped(pid: int) -> bool:
    """Reap a child if it has ended."""
    try:
        return os.waitpid(pid, os.WNOHANG) != (0, 0)
    except ChildProcessError:  # another thread was first
        return True


def kill_group(folder: Path) -> None:
    """Kill all that is in a control group of a run at once, where the kernel can (version 2, Linux 5.14)."""
    with suppress(OSError):
        (folder / "cgroup.kill").write_text("1")


def unending(pids: Sequence[int]) -> str:
    """Say in one sentence what would not die, and why."""
    first = pids[0]
    try:
        name = Path(f"/proc/{first}/comm").read_text().strip()
        owner = os.stat(f"/proc/{first}").st_uid
    except OSError:
        name, owner = "?", os.geteuid()
    more = f" and {len(pids) - 1} more" if len(pids) > 1 else ""
    who = f"Process {first} ({name}){more} of the run cannot be ended"
    if os.geteuid() not in (0, owner):
        return f"{who}, because it runs as another user: end it yourself."
    state = next(iter(stat(first)), "?")
    return f"{who}: it was killed and waits in the kernel (state {state}), for a disk or a driver; see `ps -l {first}`."
