"""Rows of a call that is still going on, kept run by run so that a crash loses none, and what is told meanwhile."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path

from ...knowledge.errors import VgoError
from ..durable import sync, write
from ..row import Row

SYNC_S = 1.0
"""A row that is kept sooner after the log was last seen through to the disk may be lost with the power."""


@dataclass(frozen=True)
class RunEnded:
    """One more run of a series has ended."""

    rows: Sequence[Row]
    """Of the series so far."""
    planned: int
    """Runs at most; 0: nobody knows."""


@dataclass(frozen=True)
class SettingRestored:
    """A setting that a dead process had left was put back."""

    words: str


@dataclass(frozen=True)
class Remark:
    """Anything else: a host was lost, a condition was left out, a step of an experiment begins."""

    words: str


ProgressEvent = RunEnded | SettingRestored | Remark
Listener = Callable[[ProgressEvent], None]


def ignore(event: ProgressEvent) -> None:
    """Show nothing."""


@dataclass
class RowsInMemory:
    """Rows of a series; a `RowLog` keeps them in a file, too."""

    rows: list[Row] = field(default_factory=list)

    def append(self, *rows: Row) -> None:
        """Keep the rows of one run."""
        self.rows += rows

    def drop(self, rows: Sequence[Row]) -> None:
        """Forget these very rows: others may look the same."""
        gone = set(map(id, rows))
        self.rows[:] = [row for row in self.rows if id(row) not in gone]


class RowLog(RowsInMemory):
    """JSON lines, one a row; what a killed process left is read back at the start."""

    def __init__(self, path: Path, cure: str = "go on with `vgo-agent resume`", sync_s: float = SYNC_S) -> None:
        """Open, dropping what is torn; `cure` says how to go on when there is no room."""
        path.parent.mkdir(parents=True, exist_ok=True)
        kept, rows = _sound(path)
        super().__init__(rows)
        self._path = path
        self._cure = cure
        self._file = self._opened()
        self._file.truncate(len(kept))
        self._sync_s, self._synced_s = sync_s, time.monotonic()
        sync(path.parent)

    def append(self, *rows: Row) -> None:
        """Keep the rows of one run, all at once; they survive the death of this process from here on."""
        lines = _lines(rows)
        with self._writing():
            if self._file.write(lines) != len(lines):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if (now_s := time.monotonic()) - self._synced_s >= self._sync_s:
                os.fdatasync(self._file.fileno())
                self._synced_s = now_s
        super().append(*rows)

    def drop(self, rows: Sequence[Row]) -> None:
        """Forget rows of it, on the disk too; a kill leaves all rows or none of these."""
        gone = set(map(id, rows))
        with self._writing():
            write(self._path, _lines(row for row in self.rows if id(row) not in gone))
            self._file.close()
            self._file = self._opened()
        super().drop(rows)

    def close(self) -> None:
        """Close the file, with all rows on the disk; it stays until the call's table is stored."""
        with self._file, self._writing():
            os.fdatasync(self._file.fileno())

    def _opened(self) -> FileIO:
        """Open it to add to it; a row that does not fit is told now, not at the end."""
        return self._path.open("ab", buffering=0)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise VgoError(
                f"Cannot write {self._path} ({error.strerror}); free space there, then {self._cure}."
            ) from error


def rows_in(path: Path) -> list[Row]:
    """Read a log and leave it as it is; what is torn is no row."""
    return _sound(path)[1]


def _lines(rows: Iterable[Row]) -> bytes:
    return b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)


def _sound(path: Path) -> tuple[bytes, list[Row]]:
    """Read up to the first line that is not whole: a kill leaves half of one, a loss of power blocks of zeros."""
    kept, rows = 0, list[Row]()
    content = path.read_bytes() if path.exists() else b""
    for line in content.splitlines(keepends=True):
        try:
            row = json.loads(line) if line.endswith(b"\n") else None
        except ValueError:  # of JSON, or of its encoding
            row = None
        if not isinstance(row, dict):
            break
        kept += len(line)
        rows.append(row)
    return content[:kept], rows
