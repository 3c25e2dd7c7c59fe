"""Run times of applications on two machines, from a CSV file with the columns name, seconds_a and seconds_b."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from ...knowledge.errors import VgoError
from ...knowledge.shape import Frozen
from ...knowledge.user_files import regular


class Application(Frozen):
    """One program."""

    name: str
    seconds_a: float
    seconds_b: float

    @property
    def speed_up(self) -> float:
        """How many times as fast it is on B."""
        return self.seconds_a / self.seconds_b


def read_applications(path: Path) -> tuple[Application, ...]:
    """Read name, seconds on A, seconds on B a line; a first line without numbers is a header."""
    try:
        with regular(path).open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.reader(file) if any(cell.strip() for cell in row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise VgoError(f"Cannot read {path} ({error}): name a CSV file of name,seconds on A,seconds on B.") from error
    if rows and len(rows[0]) == 3 and _seconds(rows[0][1]) is None and _seconds(rows[0][2]) is None:
        del rows[0]
    if not rows:
        raise VgoError(f"{path} names no application: write lines of name,seconds on A,seconds on B.")
    return tuple(_read(path, number, row) for number, row in enumerate(rows, 1))


def _read(path: Path, number: int, row: list[str]) -> Application:
    seconds = [_seconds(cell) for cell in row[1:]]
    if len(seconds) != 2 or seconds[0] is None or seconds[1] is None:
        raise VgoError(f"{path}, application {number}: write name,seconds on A,seconds on B with times above 0.")
    return Application(name=row[0].strip(), seconds_a=seconds[0], seconds_b=seconds[1])


def _seconds(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None
