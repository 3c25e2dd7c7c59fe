"""What the control group of this process means for a program that is started in it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from ..layers.probes.cgroup_tree import own_groups

Limited = Literal["cpu", "memory"]
_UNLIMITED = ("", "-1", "max")
_NO_MEMORY_LIMIT = 1 << 60
"""Bytes; version 1 writes the greatest number of pages for no limit."""


def limited(root: Path = Path("/")) -> tuple[Limited, ...]:
    """Name the controllers of which this group has a limit, or one further out has."""
    found: list[Limited] = []
    if any(_quota(group) not in _UNLIMITED for group in _folders(root, "cpu")):
        found.append("cpu")
    memory = [_first(group, "memory.limit_in_bytes", "memory.max") for group in _folders(root, "memory")]
    if any(limit not in _UNLIMITED and int(limit) < _NO_MEMORY_LIMIT for limit in memory):
        found.append("memory")
    return tuple(found)


def autogrouped(root: Path = Path("/")) -> bool:
    """Tell whether the scheduler's groups by session count: they are on, and no cpu control group stands before them.

    See autogroup_task_group() in the kernel's kernel/sched/autogroup.h.
    """
    if _read(root / "proc/sys/kernel/sched_autogroup_enabled") != "1":
        return False
    groups = own_groups(root)
    if groups.get("cpu"):
        return len(groups["cpu"]) == 1
    # In version 2 a group without the controller has no weight; the top group never has one.
    return not any((group / "cpu.weight").exists() for group in groups.get("", []))


def _folders(root: Path, controller: str) -> list[Path]:
    groups = own_groups(root)
    return groups.get(controller) or groups.get("", [])


def _quota(group: Path) -> str:
    return _first(group, "cpu.cfs_quota_us", "cpu.max").partition(" ")[0]


def _first(group: Path, *names: str) -> str:
    return next((said for name in names if (said := _read(group / name))), "")


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
