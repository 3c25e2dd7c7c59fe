"""Find and end what a run left behind: background jobs, daemons, processes in sessions of their own."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from ...knowledge.errors import VgoError

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
        if self._list is None:  # A kernel built without CONFIG_PROC_CHILDREN.
            return b" ".join(sorted(pid.encode() for pid in os.listdir("/proc") if pid.isdigit() and is_child(pid)))
        # One read ends at the kernel's buffer of a page, so a long list comes in parts.
        text = part = os.pread(self._list, 65536, 0)
        while len(part) > PART:
            part = os.pread(self._list, 65536, len(text))
            text += part
        return text

    def end(self, known: bytes) -> int:
        """Kill and reap all children but the `known` and our own; return how many were still alive."""
        alive = 0
        # Ending one hands its children to us: go round until none is new.
        while (text := self.children()) != known:
            new = [pid for pid in map(int, set(text.split()) - set(known.split())) if self._is_foreign(pid)]
            if not new:
                break
            for pid in new:
                if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                    alive += 1
                    kill(pid)
            for pid in new:
                os.waitpid(pid, 0)
        return alive

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


def kill(pid: int, group: bool = False) -> None:
    """End a process, or the whole group that it leads, at once."""
    try:
        if group:
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)
    except PermissionError as error:
        raise VgoError(f"Process {pid} runs as another user and cannot be ended: end it yourself.") from error


def is_child(pid: str) -> bool:
    """Tell whether a process is a child of this one, from its status file."""
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return int(status.rpartition(b")")[2].split()[1]) == os.getpid()
