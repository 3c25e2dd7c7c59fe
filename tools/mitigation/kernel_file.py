"""Read and write one file of the kernel, and put a value back together with those that the kernel couples to it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from ...knowledge.errors import VgoError

# `always [madvise] never`; sched/preempt marks its choice as `(full)`.
_MARKED = re.compile(r"(?:^|\s)(?:\[(\S+)\]|\((\S+)\))(?=\s|$)")


def in_force(text: str) -> str:
    """Pick the value in force out of what the file shows: the marked word, otherwise the words as they stand."""
    marked = _MARKED.search(text)
    return next(filter(None, marked.groups())) if marked else " ".join(text.split())


def cpu_list(text: str) -> tuple[int, ...]:
    """Parse the kernel's way of naming CPUs: `0-3,8`."""
    cpus: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cpus.extend(range(int(first), int(last or first) + 1))
    return tuple(cpus)


class KernelFiles:
    """The files below `root`; only tests have another root than `/`."""

    def __init__(self, root: Path = Path("/")) -> None:
        """Look below `root`."""
        self.root = root

    def read(self, path: str) -> str:
        """Read the value in force."""
        try:
            return in_force((self.root / path.lstrip("/")).read_text())
        except OSError as error:
            raise VgoError(f"Cannot read {path} ({error.strerror}): leave out the mitigation that sets it.") from error

    def write(self, path: str, value: str) -> None:
        """Write `value`; a refusal is told with its cure."""
        try:
            # Never creates: a path that this kernel does not have must not become a plain file.
            file = os.open(self.root / path.lstrip("/"), os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
            try:
                os.write(file, f"{value}\n".encode())
            finally:
                os.close(file)
        except PermissionError as error:
            raise VgoError(f"Cannot write {path}: run vgo-agent as root, or use --allow process.") from error
        except OSError as error:
            raise VgoError(
                f"The kernel refuses {value!r} for {path} ({error.strerror}): use --allow process to leave it as it is."
            ) from error

    def put_back(self, saved: Mapping[str, str]) -> tuple[str, ...]:
        """Write the saved values of a coupled group; name those that still differ.

        Nonzero values first: writing vm.dirty_ratio clears vm.dirty_bytes, whose own old value 0 is refused.
        """
        for path in sorted(saved, key=lambda path: saved[path] == "0"):
            if self.read(path) != saved[path]:
                self._try(path, saved[path])
        return tuple(path for path in saved if self.read(path) != saved[path])

    def _try(self, path: str, value: str) -> None:
        try:
            self.write(path, value)
        except VgoError:
            # Not silent: put_back reads the whole group again and names what differs.
            return
