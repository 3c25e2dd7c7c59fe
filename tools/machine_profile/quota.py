"""CPU bandwidth of a control group of its own: chosen, made, counted, gone after (even a dead agent's).

The kernel's bounds (Documentation/scheduler/sched-bwc.rst): a quota of 1 ms at least, a period of 1 ms to 1 s.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from ...knowledge.errors import VgoError
from ...layers.probes.cgroup_tree import own_groups
from ..ending_signals import handled_by
from ..execution.launch import RunGroup, start_failure
from ..execution.system_calls import prctl
from ..mitigation.run_group import CURE, MEMBERS, ControlGroupFolder, made_group, place_of, quota_files
from .form import Quota

PERIOD_US = 10_000
"""That of the paper: a run of half a second then has 50 periods, and the edges count for little."""
LEAST_QUOTA_US, LONGEST_PERIOD_US = 2_000, 1_000_000
"""Twice the kernel's least quota: at the least one a single tick overruns it by its own size."""
MOST_WEIGHT = {1: {"cpu.shares": "262144"}, 2: {"cpu.weight": "10000"}}
"""By version of control groups."""
PR_SET_PDEATHSIG = 1


def quota_of(cpus: float, period_us: int | None = None) -> Quota:
    """Choose the period for a share of CPUs: 10 ms, longer where the quota would be too short for the kernel."""
    if not 0.002 <= cpus <= 1024:
        raise VgoError(f"A quota of {cpus:g} CPUs cannot be set: name 0.002 to 1024, such as 0.6 or 60%.")
    if period_us is None:
        period_us = min(LONGEST_PERIOD_US, max(PERIOD_US, -int(-LEAST_QUOTA_US // cpus)))
    quota_us = round(cpus * period_us)
    if not (1000 <= period_us <= LONGEST_PERIOD_US and quota_us >= 1000):
        raise VgoError(
            f"The kernel takes no quota of {quota_us} us in a period of {period_us} us: both are 1000 us at least, and "
            "a period is 1000000 at most."
        )
    return Quota(quota_us=quota_us, period_us=period_us)


def share_of(words: str) -> float:
    """Read `0.6` or `60%` as CPUs."""
    try:
        return float(words.removesuffix("%")) / (100 if words.endswith("%") else 1)
    except ValueError as error:
        raise VgoError(f"{words!r} is no CPU quota: write 0.6 or 60%.") from error


@contextmanager
def limited_group(quota: Quota | None, ahead: bool = False, root: Path = Path("/")) -> Iterator[RunGroup]:
    """Make a control group with the quota, or with none, for the time of the context.

    `ahead` gives it the greatest weight, so that other programs of the machine take little from what runs in it.
    """
    place = place_of("cpu", root)
    if place is None:
        raise VgoError(f"No control group with the controller cpu can be made here: {CURE}.")
    with made_group(ControlGroupFolder(place, ("cpu",)), own_groups(root)) as group:
        if ahead:
            _put(group, MOST_WEIGHT[place.version])
        if quota is not None:
            set_quota(group, quota)
        yield replace(group, values=_files(quota, group) if quota else {})


def set_quota(group: RunGroup, quota: Quota) -> None:
    """Give a group another quota, and read it back."""
    wanted = _files(quota, group)
    if "cpu.cfs_quota_us" in wanted:  # the old one may be too large for the new period
        _put(group, {"cpu.cfs_quota_us": "-1"})
    _put(group, wanted)


def _files(quota: Quota, group: RunGroup) -> dict[str, str]:
    return quota_files(2 if group.members == MEMBERS[2] else 1, quota.quota_us, quota.period_us)


def _put(group: RunGroup, values: dict[str, str]) -> None:
    """Write files of a group and read them back."""
    try:
        for name, value in values.items():
            (group.folder / name).write_text(value)
        seen = {name: (group.folder / name).read_text().strip() for name in values}
    except OSError as error:
        raise VgoError(
            f"The kernel refuses {values} in {group.folder} ({error.strerror}): the group above it may allow less "
            "(cpu.max, cpu.cfs_quota_us), or this kernel has no CFS bandwidth control."
        ) from error
    if seen != values:
        raise VgoError(f"The kernel made {seen} of {values} in {group.folder}: choose another quota or period.")


def throttled(folder: Path) -> int:
    """Count the periods so far in which the group was stopped."""
    return counted(folder).get("nr_throttled", 0)


def counted(folder: Path) -> dict[str, int]:
    """Read cpu.stat of a group."""
    try:
        lines = (folder / "cpu.stat").read_text().splitlines()
    except OSError:
        return {}
    return {name: int(value) for name, _, value in (line.partition(" ") for line in lines) if value.isdigit()}


def docker_flag(quota: Quota) -> str:
    """The same quota for a container runtime."""
    return f"docker run --cpu-period={quota.period_us} --cpu-quota={quota.quota_us}  (or --cpus={quota.cpus:.4g})"


class LimitedRunResult(NamedTuple):
    """How it ended, and what the group counted."""

    exit_code: int
    """As a shell gives it: 128 + N for a signal."""
    throttled: int
    periods: int
    wall_s: float
    cpu_s: float
    """Of the program and the children that it waited for."""
    left: str
    """What could not be removed, in words."""


def limited_run(argv: Sequence[str], quota: Quota) -> LimitedRunResult:
    """Run it to its end; nothing of the group stays, whoever ends it."""
    with limited_group(quota) as group:
        began_s, before = time.monotonic(), os.times()
        code = _run(argv, _entering(group.folder))
        wall_s, after = time.monotonic() - began_s, os.times()
        found = counted(group.folder)
        folder = group.folder
    left = f"{folder} stays: end what runs in it, then vgo-agent restore." if folder.exists() else ""
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    code = 128 - code if code < 0 else code
    return LimitedRunResult(code, found.get("nr_throttled", 0), found.get("nr_periods", 0), wall_s, cpu_s, left)


def _entering(folder: Path) -> Callable[[], None]:
    """Make what the child does before it becomes the program: it enters the group, and dies with this process."""
    members = str(folder / "cgroup.procs")

    def enter() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        with open(members, "w") as file:
            file.write(str(os.getpid()))

    return enter


def _run(argv: Sequence[str], enter: Callable[[], None]) -> int:
    """Start it and wait; Ctrl-C reaches it from the terminal, and what ends this process is handed on."""
    with _handing_on() as programs:
        try:
            programs.append(subprocess.Popen(argv, preexec_fn=enter))
        except OSError as error:
            raise start_failure(argv[0], error) from error
        return programs[0].wait()


@contextmanager
def _handing_on() -> Iterator[list[subprocess.Popen[bytes]]]:
    programs: list[subprocess.Popen[bytes]] = []

    def hand_on(number: int, frame: FrameType | None) -> None:
        if number != signal.SIGINT:  # the program had it too
            for program in programs:
                program.send_signal(number)

    with handled_by(hand_on):  # what they mean is for the program to say: this command is but around it
        yield programs
