"""What is started: the command of the user and the conditions under which it runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ...layers.schema import Value
from .environment import as_given

OnStarted = Callable[[int], None] | None
"""Called with the process of a program as soon as it runs."""
SCHED_DEADLINE = 6
"""Python's os has no name for it."""
REAL_TIME = (os.SCHED_FIFO, os.SCHED_RR, SCHED_DEADLINE)
"""Policies that go before every normal task: a program gets them for its main thread alone."""


@dataclass(frozen=True)
class Scheduler:
    """A scheduling policy of the kernel (`os.SCHED_*`) and its priority."""

    policy: int
    priority: int = 0
    runtime_ns: int = 0
    period_ns: int = 0
    """Of SCHED_DEADLINE: so much CPU time in each period."""


@dataclass(frozen=True)
class RunGroup:
    """A control group that the run is born in; it exists before and after."""

    folder: Path
    home: Path
    """Where this process is, and goes back to."""
    members: str
    """The file to which a member writes itself: `tasks` moves one thread, `cgroup.procs` the process."""
    controllers: tuple[str, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict)
    """What was set, by file."""


@dataclass(frozen=True)
class Launch:
    """One way to start the program; every field left at its default changes nothing."""

    argv: tuple[str, ...]
    """Absolute or PATH-resolved program first; no shell unless the user named one."""
    environment: Mapping[str, str] = field(default_factory=as_given)
    directory: Path | None = None
    affinity: frozenset[int] | None = None
    scheduler: Scheduler | None = None
    autogroup_nice: int | None = None
    nice: int | None = None
    timer_slack_ns: int | None = None
    fixed_layout: bool = False
    thp_disable: bool = False
    io_class: int | None = None
    """ioprio class: 1 realtime, 2 best effort, 3 idle."""
    io_level: int = 4
    """Within the class, 0 first."""
    limits: Mapping[int, int] = field(default_factory=dict)
    """Soft resource limits, by `resource.RLIMIT_*`."""
    groups: tuple[RunGroup, ...] = ()
    sync: bool = False
    """Write dirty pages back before the clock starts."""
    evict: tuple[Path, ...] = ()
    """Files dropped from the page cache before the clock starts."""
    output: Literal["", "null", "file"] = ""
    """Where standard output goes; empty: to /dev/null, or to memory when it is wanted."""
    prewarm: tuple[Path, ...] = ()
    """Files read into the page cache before the clock starts."""


@dataclass(frozen=True)
class Run:
    """What one run gave."""

    wall_ns: int
    """Monotonic time from just before posix_spawn until the program has ended."""
    exit_code: int
    """0 to 255, or minus the signal that ended it."""
    counters: Mapping[str, Value]
    """Values of the probes and of rusage, by column."""
    output: bytes = b""
    """Standard output, when it was captured; of much of it, whole lines of the beginning and of the end."""
    output_left_out: int = 0
    """Bytes between the two that were not kept."""
    error: bytes = b""
    """The last part of standard error."""
    timed_out: bool = False
    stopped_for_terminal: bool = False
    """It stopped (SIGTTIN, SIGTTOU) waiting for a terminal, and was ended."""
    stopped: bool = False
    """When its time was over it, or a process of its, stood still: a program may stop itself (SIGSTOP)."""
    survivors: int = 0
    """Processes it left behind; they were ended."""
