"""Small files of the kernel that are read over and over, and the forms of what they say."""

from __future__ import annotations

import os
import re
import resource
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

KEPT = 1 / 3
"""Together, all `SysfsFiles` hold this share of the files that a process may open: often 1024, for 256 CPUs."""
GONE = -1
DIGITS = re.compile(r"(\d+)")
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")


class SysfsFiles:
    """Reads a list of files, at most one page each; one that fails is opened anew the next time, for it may come back.

    Two threads may read at once.
    """

    kept = 0
    """How many are open in all of them."""

    def __init__(self, paths: Iterable[Path]) -> None:
        """Open as many as there is room for; OSError is left to the reading."""
        self.paths = [str(path) for path in paths]
        self._open = [GONE] * len(self.paths)
        most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        for number, path in enumerate(self.paths[: max(0, int(KEPT * most) - SysfsFiles.kept)]):
            self._open[number] = try_to_open(path)
        SysfsFiles.kept += sum(file != GONE for file in self._open)

    def read(self) -> list[bytes | None]:
        """Return what each says now; None for one that cannot be read."""
        return [self._content(number) for number in range(len(self.paths))]

    def close(self) -> None:
        for number, file in enumerate(self._open):
            if file != GONE:
                os.close(file)
                self._open[number] = GONE
                SysfsFiles.kept -= 1

    def _content(self, number: int) -> bytes | None:
        file = self._open[number]
        if file == GONE:
            return read_once(self.paths[number])
        try:
            return os.pread(file, 4096, 0)
        except OSError:
            # A CPU or a device was taken out; the open file stays dead when it comes back.
            return read_once(self.paths[number])


def try_to_open(path: str) -> int:
    """Open a file for reading; GONE where that fails."""
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return GONE


def read_once(path: str) -> bytes | None:
    """Read the first page of a file; None where that fails."""
    file = try_to_open(path)
    if file == GONE:
        return None
    try:
        return os.read(file, 4096)
    except OSError:
        return None
    finally:
        os.close(file)


def why_not(path: str) -> str:
    """Say why a file cannot be read; empty where it can."""
    try:
        with open(path, "rb") as file:
            file.read(4096)
    except OSError as error:
        return f"{path}: {error.strerror}"
    return ""


def text_of(path: Path) -> str:
    """Read a whole file without the space around it; empty where it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def number(said: bytes | None) -> float | None:
    """Read a file that says one number; None where it says none, as `<unknown>` or nothing at all."""
    try:
        return None if said is None else float(said)
    except ValueError:
        return None


def grown(was: bytes | None, now: bytes | None) -> float | None:
    """Return how far a counter went on; None where it cannot be read or went back."""
    start, end = number(was), number(now)
    return None if start is None or end is None or end < start else end - start


def numbers(said: bytes) -> dict[str, float]:
    """Read lines of a word and a number; a number alone has the empty word."""
    pairs = (line.rpartition(b" ") for line in said.splitlines())
    return {name.decode(): float(count) for name, _, count in pairs if count.isdigit()}


def stalls(said: bytes) -> dict[str, float]:
    """Read a pressure file: microseconds of standstill, by `some` and `full`."""
    return {line.split()[0].decode(): float(line.rpartition(b"=")[2]) for line in said.splitlines()}


def by_number(paths: Iterable[Path]) -> list[Path]:
    """Sort paths so that hwmon10 comes after hwmon9."""
    return sorted(paths, key=lambda path: [int(part) if part.isdigit() else -1 for part in DIGITS.split(path.name)])


def last_cpu(stat: bytes | None) -> int:
    """Read from /proc/PID/stat the CPU that a thread is or was last on; -1 where the thread has gone."""
    # The name in brackets may hold anything; what follows it starts with field 3.
    fields = (stat or b"").rpartition(b")")[2].split()
    return int(fields[39 - 3]) if fields else -1


def cpu_numbers(said: str) -> set[int]:
    """Read the kernel's list of CPUs: `0-2,4`; ValueError where it is none."""
    cpus: set[int] = set()
    for part in filter(None, said.strip().split(",")):
        first, dash, last = part.partition("-")
        cpus.update(range(int(first), int(last if dash else first) + 1))
    return cpus


def name_of(said: str) -> str:
    """Make a word of a column name of what the kernel calls something; `other` where it has no letter."""
    return NOT_IN_NAMES.sub("_", said).strip("_") or "other"


def unlike(names: Sequence[str]) -> list[str]:
    """Number those names that occur more than once, in their order: `coretemp0`, `coretemp1`, `nvme`."""
    counts = Counter(names)
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        found.append(f"{name}{seen[name]}" if counts[name] > 1 else name)
        seen[name] += 1
    return found
