"""Does a real-time program leave the machine a CPU? The runs of the proof tell, in which nothing competes with it.

Before, CPU time over wall time can hide it: on a busy machine two threads that spin may have had half a CPU together.
A single run of a program that is known to end, with real-time throttling on, is what finding out costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...layers.probes.base import Probe
from ..execution.launch import SCHED_DEADLINE, Launch, Run
from ..machine import Machine
from .checks import Check
from .danger import SPARE
from .verification import Starts


@dataclass
class Timed:
    """Starts runs, and remembers how many CPUs the busiest of them had."""

    spawner: Starts
    most_cpus: float = 0.0

    def run(
        self,
        launch: Launch,
        probes: Sequence[Probe] = (),
        timeout_s: float | None = None,
        capture: bool = False,
        on_started: Callable[[int], None] | None = None,
    ) -> Run:
        """Run once."""
        run = self.spawner.run(launch, probes, timeout_s, capture, on_started)
        used_s = sum(float(run.counters.get(name) or 0.0) for name in ("user_s", "system_s"))
        self.most_cpus = max(self.most_cpus, 1e9 * used_s / run.wall_ns)
        return run


def cpus_at_stake(launch: Launch, machine: Machine) -> int:
    """CPUs of the machine where a real-time run may take all of them; 0 where it cannot."""
    if launch.scheduler is None or launch.scheduler.policy == SCHED_DEADLINE:
        return 0
    there = machine.online or len(machine.cpus)
    return there if len(launch.affinity or machine.cpus) >= there else 0


def room_left(at_stake: int, most_cpus: float) -> tuple[Check, ...]:
    """Fail where every CPU was kept busy; no check where not all are at stake."""
    if not at_stake:
        return ()
    limit = at_stake - 1 + SPARE
    return (
        Check(
            level=2,
            what="CPUs that it keeps busy in real time, where one must be left for the rest of the machine",
            expected=f"at most {limit:.1f} of {at_stake}",
            seen=f"{most_cpus:.1f}",
            passed=most_cpus <= limit,
        ),
    )
