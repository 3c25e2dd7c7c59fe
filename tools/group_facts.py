"""What the program asks for in CPUs and memory, and what the control group of this process lets it have."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..layers.probes.cgroup_tree import own_groups
from ..layers.probes.sysfs import text_of

Limited = Literal["cpu", "memory"]
_UNLIMITED = ("", "-1", "max")
_NO_MEMORY_LIMIT = 1 << 60
"""Bytes; version 1 writes the greatest number of pages for no limit."""


def limited(root: Path = Path("/")) -> tuple[Limited, ...]:
    """Name the controllers of which this group has a limit, or one further out has."""
    found: list[Limited] = []
    if any(_quota(group) not in _UNLIMITED for group in groups_with("cpu", root)):
        found.append("cpu")
    memory = [first_text(group, "memory.limit_in_bytes", "memory.max") for group in groups_with("memory", root)]
    if any(limit not in _UNLIMITED and int(limit) < _NO_MEMORY_LIMIT for limit in memory):
        found.append("memory")
    return tuple(found)


def autogrouped(root: Path = Path("/")) -> bool:
    """Tell whether the scheduler's groups by session count: they are on, and no cpu control group stands before them.

    See autogroup_task_group() in the kernel's kernel/sched/autogroup.h.
    """
    if text_of(root / "proc/sys/kernel/sched_autogroup_enabled") != "1":
        return False
    groups = own_groups(root)
    if groups.get("cpu"):
        return len(groups["cpu"]) == 1
    # In version 2 a group without the controller has no weight; the top group never has one.
    return not any((group / "cpu.weight").exists() for group in groups.get("", []))


def groups_with(controller: str, root: Path) -> list[Path]:
    """Return the folders from the group of this process up to the top that have this controller."""
    groups = own_groups(root)
    return groups.get(controller) or groups.get("", [])


def first_text(group: Path, *names: str) -> str:
    """Read the first of these files that says something; empty where none does."""
    return next((said for name in names if (said := text_of(group / name))), "")


def _quota(group: Path) -> str:
    return first_text(group, "cpu.cfs_quota_us", "cpu.max").partition(" ")[0]


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
