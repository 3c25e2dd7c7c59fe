"""The ladder of the time ledger: ways to see where a run's time went, the best first, and which are open here.

Two layers count waits and are no rungs. `bpf`: bpftrace attaches to tracepoints by perf_event_open, as root, so that
the second rung is open wherever it works, and tells more. `delays`: what the kernel counts as reclaim, compaction and
copying is partly time on a CPU, and its sum of waits for a disk cannot be true in some runs (2 of 60 with 60 waits
each, on Linux 6.18: it counted one from the boot of the machine). Runs with more waits would be left out more often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from .own_tasks import FIRST_THREAD, OWN_SWITCHES, OwnSwitches, OwnTasks
from .perf_open import refusal
from .sched_trace import SchedRings

LADDERED = "ledger"
"""The probe that stands on it."""
SMALL = 1 << 16
"""Bytes of a ring that is opened to see whether it can be."""


class Rung(NamedTuple):
    """One way to see where time went."""

    layer: str
    needs: str
    sees: str
    costs: str
    """As measured: docs/results/ledger.md."""
    closed: Callable[[Path], str]
    """Says why it cannot be had here, and the cure; empty where it can."""

    @property
    def told(self) -> dict[str, str]:
        """For programs."""
        return {"layer": self.layer, "needs": self.needs, "sees": self.sees, "costs": self.costs}


class OpenRung(NamedTuple):
    """A rung on this machine."""

    rung: Rung
    why_not: str
    """Empty where it is open."""


def ladder(root: Path) -> Iterator[OpenRung]:
    """Try each rung, the best first."""
    return (OpenRung(rung, rung.closed(root)) for rung in RUNGS)


def _rings(root: Path, stacks: bool) -> str:
    try:
        SchedRings(root, SMALL, stacks).close()
    except OSError as error:
        return refusal(error)
    return ""


def _switches(root: Path) -> str:
    try:
        OwnSwitches(root, SMALL).close()
    except OSError as error:
        return refusal(error)
    return _times(root)


def _times(root: Path) -> str:
    tasks = OwnTasks(root, "")
    tasks.close()
    return next(iter(tasks.absent().values()), "")


WHOLE = "root, or CAP_PERFMON and a tracefs that the user can read; a container with --cap-add SYS_ADMIN"
RUNGS = (
    Rung(
        "stacks",
        f"{WHOLE}, and --cap-add SYSLOG for the kinds of waits",
        "what rung 2 sees, the kind, call and file of each wait and who ended it, functions on a CPU, calls that fail, "
        "and which part of a run the metric measures",
        "up to 5 % of CPU time; 16 % where processes start or wake each other thousands of times a second, a third at "
        "1.5 million calls a second; 3 to 65 ms after a run, .6 s at most",
        lambda root: _rings(root, stacks=True),
    ),
    Rung(
        "ledger",
        WHOLE,
        "what all CPUs do: a wait counts as what the task did that ended it, a queue as behind whom",
        "under 2 % of CPU time, up to 6 % where processes are started one after the other, or it steps down; "
        "1 to 17 ms after a run",
        lambda root: _rings(root, stacks=False),
    ),
    Rung(
        "ledger",
        "kernel.perf_event_paranoid at most 2, for one's own processes; a container that lets "
        "perf_event_open through (--security-opt seccomp=unconfined)",
        OWN_SWITCHES,
        "less CPU time than runs scatter by, or it steps down; .2 to 4 ms after a run",
        _switches,
    ),
    Rung(
        "ledger",
        "/proc/PID/schedstat: any user, any container",
        FIRST_THREAD,
        "less CPU time than runs scatter by; .1 to .2 ms after a run",
        _times,
    ),
)
