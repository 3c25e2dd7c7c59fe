"""The files of a running process, and what one look at them shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


class ProcessObservation(NamedTuple):
    """One observation of a process."""

    expected: str
    seen: str
    passed: bool


class Process:
    """The files of one process; a file that is gone or empty raises ProcessLookupError."""

    def __init__(self, pid: int, proc: Path = Path("/proc")) -> None:
        self.pid = pid
        self.proc = proc
        self.folder = proc / str(pid)

    def text(self, name: str) -> str:
        """Read a file of the process; those of a process that has ended are empty."""
        text = (self.folder / name).read_text(errors="replace")
        if not text:
            raise ProcessLookupError(name)
        return text

    def status(self, key: str) -> str:
        """Read one line of the status file."""
        found = re.search(rf"^{key}:\s*(.*)$", self.text("status"), re.M)
        return found.group(1).strip() if found else "not shown by this kernel"

    def stat(self, field: int) -> int:
        """Read a field of the stat file, numbered from 1 as in proc(5); not the first two."""
        return int(self.text("stat").rpartition(")")[2].split()[field - 3])

    def environment(self) -> dict[str, str]:
        """Read the environment that the program was started with."""
        words = self.text("environ").split("\0")
        return dict(word.split("=", 1) for word in words if "=" in word)

    def family(self) -> Iterator[Process]:
        """The process and all below it, whichever of its threads started them: a script's work is done by those."""
        yield self
        for children in self.folder.glob("task/*/children"):
            with suppress(OSError):  # the thread has ended
                for child in children.read_text().split():
                    yield from Process(int(child), self.proc).family()
