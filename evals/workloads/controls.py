"""Workloads with nothing to find, or nothing to mend: what a tool says of them are its false alarms."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

from .surroundings import with_tenant
from .workload import Workload

BEGAN = "VGO_BEGAN"
STILL = ("steady", "cause not visible")
"""Right where nothing is put in that varies: the second where the machine adds more than needs no reduction."""
INTERFERENCE = ("run_queue_wait", "other_processes", "context_switches", "interrupts", "cpu_steal")
"""Factors by which a machine makes a program vary that does not vary itself."""
SHIELDS = ("sched_fifo", "sched_rr", "own_autogroup")
"""Mitigations that can keep that off the program."""


@contextlib.contextmanager
def begun() -> Iterator[None]:
    """Tell the program when the diagnosis began."""
    before = os.environ.get(BEGAN)
    os.environ[BEGAN] = f"{time.monotonic():.6f}"
    try:
        yield
    finally:
        os.environ.pop(BEGAN)
        if before is not None:
            os.environ[BEGAN] = before


CONTROLS: tuple[Workload, ...] = (
    Workload(
        name="noise",
        file="noise.py",
        description="spins for a time that each run draws anew",
        cause=(),
        cures=(),
        control=True,
        verdicts=("cause not visible",),
        steady=("12",),
    ),
    Workload(
        name="drift",
        file="drift.py",
        description="spins longer with every second since the diagnosis began",
        cause=("run_order",),
        cures=(),
        control=True,
        verdicts=(
            "cause not visible",
            "cause explained, remedy refuted",
            "cause explained, remedy not tried",
            "remedy out of budget",
        ),
        steady=("0",),
        around=begun,
    ),
    Workload(
        name="warm-up",
        file="warm_up.py",
        description="is slow in the first moments of the diagnosis, and steady from then on",
        cause=(),
        cures=(),
        control=True,
        verdicts=STILL,
        steady=("0",),
        around=begun,
    ),
    Workload(
        name="coarse-clock",
        file="coarse_clock.py",
        description="tells its time in steps of 10 ms, which hide what varies",
        cause=(),
        cures=(),
        control=True,
        verdicts=("unusable",),
        steady=("0",),
    ),
    Workload(
        name="tenant",
        file="tenant.py",
        description="computes beside a tenant that takes all CPUs at once, comes and goes",
        cause=("run_queue_wait", "other_processes", "context_switches", "cpu_steal"),
        cures=(),
        control=True,
        not_cures=("plain_nice", "own_autogroup", "pin_to_cpu", "sched_fifo", "sched_rr"),
        # It stays for many runs in a row, so a hundred are but a few visits, and may be too few to tell it by.
        verdicts=("cause explained, remedy refuted", "cause explained, remedy not tried", "cause not visible"),
        needs=("deadline",),
        around=with_tenant,
    ),
)
