"""How many CPUs and how much memory the program asks for, told from profiled runs."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_Row = Mapping[str, Any]


class Demand(NamedTuple):
    """What profiled runs show of it; each None where it was not read."""

    busy_cpus: float | None
    """CPUs that it had, or is known to have waited for, the median over runs.

    CPU time over wall time alone would shrink where others compete, so that two threads would look like one.
    """
    peak_bytes: float | None
    """The largest resident set of one of its processes."""


def demand(rows: Sequence[_Row]) -> Demand:
    """Read it from the rows of runs."""
    peak = max((row["max_rss_kb"] * 1024.0 for row in rows if _has(row, "max_rss_kb")), default=None)
    timed = [row for row in rows if _has(row, "user_s", "system_s") and row["wall_s"] > 0]
    had = [(row["user_s"] + row["system_s"]) / row["wall_s"] for row in timed]
    waited = [_waited_s(row) / row["wall_s"] for row in timed]
    if not timed:
        return Demand(None, peak)
    return Demand(statistics.median(map(sum, zip(had, waited, strict=True))), peak)


def _waited_s(row: _Row) -> float:
    """Time that it was ready and waited for a CPU: all of its threads, or the main one where only that was read."""
    return max((row[name] for name in ("run_delay_ms", "delay.cpu_ms") if _has(row, name)), default=0.0) / 1e3


def _has(row: _Row, *names: str) -> bool:
    """The row has numbers there; a cell that is missing is absent, None or NaN."""
    return all((value := row.get(name)) is not None and value == value for name in names)
