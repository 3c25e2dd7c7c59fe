"""Files that are in force as long as they are held open, so that nothing is left to put back when this process dies."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from pathlib import Path

from ...knowledge.actions import Hold
from ...knowledge.errors import VgoError
from .checks import Check

HELD = ("/dev/cpu_dma_latency",)
"""Elsewhere an open file with a number in it is no request that ends with it."""


class Holds:
    """The files of one mitigation."""

    def __init__(self, holds: Sequence[Hold], root: Path = Path("/")) -> None:
        """Refuse what is no request of this kind."""
        self._holds = holds
        self._root = root
        self._open: dict[str, int] = {}
        for hold in holds:
            if hold.path not in HELD:
                raise VgoError(f"{hold.path} is no file whose value ends when it is closed: take it out.")
        self._before = {hold.path: self._unheld(hold.path) for hold in holds}

    def on(self) -> tuple[Check, ...]:
        """Write the values, keep the files open, and read them back (level 1)."""
        for hold in self._holds:
            if hold.path not in self._open:
                file = self._opened(hold.path, os.O_RDWR)
                self._open[hold.path] = file
                os.pwrite(file, struct.pack("=i", hold.int32), 0)
        return tuple(self._check(hold) for hold in self._holds)

    def off(self) -> tuple[Check, ...]:
        """Close the files, and see that they are as before (level 1)."""
        self.close()
        seen = {hold.path: self._unheld(hold.path) for hold in self._holds}
        return tuple(
            Check(level=1, what=path, expected=str(old), seen=str(seen[path]), passed=seen[path] == old)
            for path, old in self._before.items()
        )

    def close(self) -> None:
        """Close the files."""
        while self._open:
            os.close(self._open.popitem()[1])

    def _check(self, hold: Hold) -> Check:
        seen = _read(self._open[hold.path])
        # The kernel shows the strictest of all requests.
        return Check(level=1, what=hold.path, expected=str(hold.int32), seen=str(seen), passed=0 <= seen <= hold.int32)

    def _unheld(self, path: str) -> int:
        file = self._opened(path, os.O_RDONLY)
        try:
            return _read(file)
        finally:
            os.close(file)

    def _opened(self, path: str, mode: int) -> int:
        try:
            return os.open(self._root / path.lstrip("/"), mode | os.O_CLOEXEC)
        except OSError as error:
            cure = "run vgo-agent as root" if isinstance(error, PermissionError) else "leave it out"
            raise VgoError(f"Cannot hold {path} ({error.strerror}): {cure}.") from error


def _read(file: int) -> int:
    (value,) = struct.unpack("=i", os.pread(file, 4, 0))
    return int(value)
