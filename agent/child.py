"""The run that is going on, by process id, so that a resume can end it when its diagnosis was killed."""

from __future__ import annotations

import os
from pathlib import Path

from ..tools.execution.tree import end_tree
from .began import started_at

SAME_MOMENT_S = 2.0
"""Between the start of a process and the note of it: an id that was given anew belongs to another moment."""


class ChildFile:
    """Keeps the process id of the run that is going on, at the cost of one small write into the page cache."""

    def __init__(self, path: Path) -> None:
        """Open the file."""
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)

    def __call__(self, pid: int) -> None:
        """Note a run that has just started."""
        os.pwrite(self._descriptor, b"%-12d" % pid, 0)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def end_orphan(path: Path) -> None:
    """End the run that a killed process left going, with all below it: it would disturb the runs to come."""
    try:
        pid, noted = int(path.read_text()), path.stat().st_mtime
        if os.getpgid(pid) == pid and abs(started_at(pid) - noted) < SAME_MOMENT_S:
            end_tree(lambda: [pid])
    except (OSError, ValueError):  # nothing was noted, or it has ended
        return
