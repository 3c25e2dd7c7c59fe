"""Where a cell stands: its runs so far, whether they are enough, and why it is given up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..row import Row
from ..statistics.spread import ArmSummary, log_sd_interval, summarise
from ..statistics.stopping.rule import equal
from ..statistics.values import IntervalEstimate
from .space import Repetitions

FAILED_IN_A_ROW = 3
"""Runs that fail one after another at the beginning: the cell cannot be run."""
MOST_FAILED, AFTER = 0.5, 5


class Standing(NamedTuple):
    """One cell in numbers, in the unit of the outcome."""

    runs: int
    """That count."""
    failed: int
    reason: str = ""
    """Why it is given up; empty where it is not."""
    steady: bool = False
    """All runs are equal, so that there is no spread to know."""
    summary: ArmSummary | None = None
    interval: IntervalEstimate | None = None
    """95 %, of the SD."""

    @property
    def known(self) -> float | None:
        """Factor within which the SD is known; None where it is not."""
        return math.sqrt(self.interval.high / self.interval.low) if self.interval else None

    def enough(self, asked: Repetitions) -> bool:
        """Tell whether the spread is known as well as was asked for."""
        well = self.steady or (self.known is not None and self.known <= asked.within)
        return self.runs >= asked.least and well


def given_up(rows: Sequence[Row]) -> str:
    """Say why a cell is not run any more: it could not be begun, or its runs fail; empty while it goes on."""
    if not rows:
        return ""
    failed = [row for row in rows if not row["ok"]]
    if failed and not failed[-1]["begun"]:
        return str(failed[-1]["reason"])
    beginning = len(failed) == len(rows) >= FAILED_IN_A_ROW
    if beginning or (len(rows) >= AFTER and len(failed) > MOST_FAILED * len(rows)):
        return f"{len(failed)} of {len(rows)} runs failed, the last because {failed[-1]['reason']}"
    return ""


def standing(rows: Sequence[Row]) -> Standing:
    """Sum a cell up."""
    outcomes, reason = outcomes_of(rows), given_up(rows)
    failed = sum(not row["ok"] for row in rows)
    if not outcomes.size:
        return Standing(0, failed, reason)
    return Standing(
        runs=outcomes.size,
        failed=failed,
        reason=reason,
        steady=equal(outcomes),
        summary=summarise(outcomes),
        interval=log_sd_interval(outcomes),
    )


def outcomes_of(rows: Sequence[Row]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Outcomes of the runs that count, in run order, shape (runs,)."""
    return np.asarray([row["outcome"] for row in rows if row["ok"]], dtype=np.float64)


def look_due(runs: int, asked: Repetitions) -> bool:
    """Tell whether it is asked after so many runs of each cell whether its spread is known: seldom, so that luck stops
    little.

    At the least number of runs, then after 10 % more each time; at the end of the block in which that falls.
    """
    at = asked.least
    while (later := at + max(1, -(-at // 10))) <= runs:
        at = later
    return runs - (asked.block or 1) < at <= runs


def response_of(statistics: Mapping[str, float | None], response: str, lower_is_better: bool) -> float | None:
    """Give a response that is better the less it is; a spread is, whatever the outcome."""
    value = statistics.get(response)
    if value is None or response in ("sd", "cv") or lower_is_better:
        return value
    return -value
