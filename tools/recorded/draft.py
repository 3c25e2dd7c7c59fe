"""One group of runs on its way to what the statistics see: columns are offered one by one, and kept or set aside."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from ...knowledge.errors import VgoError
from ..execution.outcomes import ITERATION, RUN
from ..statistics.values import BoolArray, FloatArray, IntArray
from .columns import Mixed, parse, seconds
from .recorded import NO_ORDER, ColumnOptions, RecordedRuns
from .understand import GroupColumn, at_sight, restated

__all__ = ["ITERATION", "of_runs", "runs_of", "sample_notes", "within"]
_KEY = ("call", RUN)
"""Runs are counted within a call; a table that measured once may lack the first."""
WHOLE_RUNS = "the same in all samples of each run, and what differs between whole runs was taken out"


class RunOrder(NamedTuple):
    """Rows of the table in run order."""

    rows: IntArray
    ordered: bool
    column: str | None
    """The column that they were sorted by; None: the order of the file."""
    warnings: tuple[str, ...]


def run_order(recorded: RecordedRuns, wanted: ColumnOptions, rows: IntArray) -> RunOrder:
    """Sort rows by the column that gives their order; without one, the order of the file is taken."""
    if wanted.order == NO_ORDER:
        return RunOrder(rows, False, None, ())
    by_format = next((name for name, role in recorded.roles.items() if role == "order"), None)
    name = wanted.order or by_format
    if name is None or name not in recorded.frame.columns:
        return RunOrder(rows, True, None, ())
    moments = _moments(recorded.frame[name])
    if moments is None:
        raise VgoError(f"{name} gives no order: name a column of numbers or ISO times, or give --order {NO_ORDER}.")
    values = moments[rows]
    known = np.isfinite(values)
    if not wanted.order and not known.all():
        return RunOrder(rows, True, None, (f"{name} is missing in some runs, so the order of the file is taken.",))
    if not known.any():
        raise VgoError(f"{name} is empty and gives no order: give --order {NO_ORDER}.")
    rows, values = rows[known], values[known]
    if len(rows) > 1 and np.ptp(values) == 0:
        raise VgoError(f"{name} is the same in all runs and gives no order: give --order {NO_ORDER}.")
    return RunOrder(rows[np.argsort(values, kind="stable")], True, name, _warnings(name, known, values))


def _warnings(name: str, known: np.ndarray[tuple[int], np.dtype[np.bool_]], values: FloatArray) -> tuple[str, ...]:
    warnings = []
    missing = int((~known).sum())
    if missing:
        warnings.append(f"{missing} runs have no {name}, which gives the order: left out.")
    ties = len(values) - len(np.unique(values))
    if ties:
        warnings.append(f"{name} is the same for {ties} runs and the run before: their order is that of the file.")
    return tuple(warnings)


def _moments(column: pl.Series) -> FloatArray | None:
    """Turn a column into numbers to sort by; None where it has none."""
    if column.dtype == pl.String:
        read = parse(column)
        numbers = seconds(column) if read is None or isinstance(read, Mixed) else read.numbers
        return None if numbers is None else numbers.to_numpy(writable=True)
    if column.dtype.is_temporal():
        column = column.to_physical()
    if not column.dtype.is_numeric():
        return None
    return column.cast(pl.Float64).to_numpy(writable=True)


def runs_of(frame: pl.DataFrame) -> IntArray:
    """Number the run that each row is a sample of, shape (rows,); where rows are runs, each has its own."""
    if RUN not in frame.columns:
        return np.arange(frame.height)
    key = [name for name in _KEY if name in frame.columns]
    numbers: IntArray = frame.select(pl.struct(key).rank("dense")).to_series().to_numpy().astype(np.int64)
    return numbers


def of_runs(runs: IntArray) -> int:
    """Say how many runs the rows are samples of; 0 where each row is a run of its own."""
    number = len(np.unique(runs))
    return number if number < len(runs) else 0


def within(values: FloatArray, runs: IntArray) -> FloatArray:
    """Take out what all samples of a run share: its median, the overall one put in its place; shape (rows,).

    What differs between whole runs is one piece of evidence a run, not one a sample: left in, any column with a level
    of its own in each run, such as a temperature, looks like a cause.
    """
    value = pl.col("value")
    table = pl.DataFrame({"value": values, "run": runs})
    left = table.select(value - value.median().over("run") + value.median())
    moved: FloatArray = left.to_series().to_numpy(writable=True)
    return moved


def sample_notes(outcome: FloatArray, runs: IntArray) -> Iterator[str]:
    """Say what was taken out of an outcome, `outcome` being as it was."""
    number = of_runs(runs)
    if number == 1:
        yield "Rows are samples of 1 run: nothing here says what differs between runs."
    elif number:
        variance = float(outcome.var())
        share = max(0.0, 1 - float(within(outcome, runs).var()) / variance) if variance else 0.0
        yield (
            f"Rows are samples of {number} runs: what differs between whole runs was taken out "
            f"({share:.0%} of the variance)."
        )


class MatrixBuilder:
    """The matrix of one group, filled from the left; room that stays unused is never touched, so it costs nothing."""

    def __init__(
        self, rows: IntArray, outcome: FloatArray, ordered: bool, most_columns: int, runs: IntArray | None = None
    ) -> None:
        """Make room; `outcome` has one value a row of `rows`, in run order.

        `runs` numbers the run that each row is a sample of; what its samples share is then taken out of all values.
        """
        self.runs = runs if runs is not None and of_runs(runs) else None
        self.rows, self.ordered = rows, ordered
        self.outcome = outcome if self.runs is None else within(outcome, self.runs)
        self.names: list[str] = []
        self.settings: set[str] = set()
        self.aside: dict[str, str] = {}
        self.filled: dict[str, int] = {}
        self._values = np.empty((len(rows), most_columns), dtype=np.float64, order="F")
        self._digests: list[bytes] = []

    def offer(self, name: str, whole: FloatArray, setting: bool) -> None:
        """Keep a column, or set it aside; `whole` covers the table, with NaN or infinity where missing."""
        place = len(self.names)
        column = self._values[:, place]
        np.take(whole, self.rows, out=column, mode="clip")
        finite = np.isfinite(column)
        complete = bool(finite.all())
        reason = at_sight(GroupColumn(name, column if complete else column[finite], len(column), self.ordered), setting)
        if reason:
            self.aside[name] = reason
            return
        if self.runs is not None and self._for_whole_runs(column[finite], self.runs[finite]):
            self.aside[name] = WHOLE_RUNS
            return
        self._digests.append(_digest(column, finite, complete))
        if not complete:
            self.filled[name] = int((~finite).sum())
            column[~finite] = np.median(column[finite])
        if self.runs is not None and not setting:
            column[:] = within(column, self.runs)
        self.names.append(name)
        if setting:
            self.settings.add(name)

    def indicate(self, setting: str, codes: IntArray, labels: tuple[str, ...], most: int) -> tuple[str, ...]:
        """Add one indicator for each value that a text setting takes in this group; `codes` covers the table."""
        mine = codes[self.rows]
        present = np.unique(mine)
        if len(present) == 1:
            self.aside[setting] = f"constant (always {labels[present[0]]})"
        elif len(present) > most:
            self.aside[setting] = f"a setting with {len(present)} values, more than {most}: give it with --group"
        elif self.runs is not None and self._for_whole_runs(mine, self.runs):
            self.aside[setting] = WHOLE_RUNS
        else:
            return tuple(self._indicator(f"{setting}={labels[code]}", mine == code) for code in present)
        return ()

    @staticmethod
    def _for_whole_runs(column: FloatArray | IntArray, runs: IntArray) -> bool:
        """Say whether all samples of each run have the same value, so that it tells runs apart and no samples."""
        order = np.argsort(runs, kind="stable")
        same = np.diff(runs[order]) == 0
        return bool((np.diff(column[order])[same] == 0).all())

    def _indicator(self, name: str, true: BoolArray) -> str:
        while name in self.names:  # a column may be called so already
            name += "'"
        column = self._values[:, len(self.names)]
        column[:] = true
        self._digests.append(_digest(column, true, True))
        self.names.append(name)
        self.settings.add(name)
        return name

    def finish(self) -> FloatArray:
        """Set aside what says the same twice or restates the outcome, and return the matrix of the rest."""
        drop = self._twins()
        kept = self._values[:, : len(self.names)]
        exempt = {place for place, name in enumerate(self.names) if name in self.settings} | set(drop)
        drop |= restated(kept, self.outcome, exempt)
        self.aside |= {self.names[place]: reason for place, reason in drop.items()}
        keep = [place for place in range(len(self.names)) if place not in drop]
        for target, place in enumerate(keep):
            if target != place:
                self._values[:, target] = self._values[:, place]
        self.names = [self.names[place] for place in keep]
        self.filled = {name: count for name, count in self.filled.items() if name not in self.aside}
        return self._values[:, : len(keep)]

    def _twins(self) -> dict[int, str]:
        """Find exact duplicates: equal digests first, then value by value; a setting stays, then the shorter name."""
        same: dict[bytes, list[int]] = {}
        for place, digest in enumerate(self._digests):
            same.setdefault(digest, []).append(place)
        found = {}
        for places in same.values():
            first, *others = sorted(places, key=self._standing)
            for other in others:
                if np.array_equal(self._values[:, first], self._values[:, other]):
                    found[other] = f"the same as {self.names[first]}"
        return found

    def _standing(self, place: int) -> tuple[bool, int, str]:
        name = self.names[place]
        return name not in self.settings, len(name), name


def _digest(column: FloatArray, finite: BoolArray, complete: bool) -> bytes:
    """Digest the values and, where some are missing, which; adding 0 makes -0 and 0 alike."""
    digest = hashlib.blake2b(((column if complete else column[finite]) + 0.0).tobytes(), digest_size=16)
    if not complete:
        digest.update(np.packbits(finite).tobytes())
    return digest.digest()
