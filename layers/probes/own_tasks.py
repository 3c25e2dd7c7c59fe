"""Where a run's time went as far as its own tasks tell it, without rights over the machine.

Of the first thread the kernel keeps nanoseconds on a CPU and in the queue of one until it is reaped (schedstat); the
rest of the run it was off a CPU. What the other tasks did meanwhile is seen by records of their switches, where
perf_event_open gives them; else only the CPU time of threads and of children that were waited for is known (wait4).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...knowledge.time_states import TimeState
from .base import Probe
from .opened import overlap
from .perf_open import DUMMY, ENABLE_ON_EXEC, EXCLUDE_HV, EXCLUDE_KERNEL, INHERIT, SOFTWARE, refusal
from .perf_ring import CONTEXT_SWITCH, TASKS, PerfRings, RingEvent, RingLoad
from .process import Zombie
from .sched_events import Fork, SchedTrace, Switch, SwitchedIn
from .sched_trace import RECORD, SWITCHED_OUT
from .timeline import DEAD, Timelines

EXITED, FORKED, SWITCHED = 4, 7, 14
"""PERF_RECORD_EXIT, _FORK and _SWITCH."""
PREEMPTED = 0x4000
"""Of a record of a switch: the task could have gone on."""
LONGEST = 64
"""Bytes of a record."""
LARGEST = 512 << 10
"""Bytes of a ring: without CAP_IPC_LOCK more may not be locked for each CPU (kernel.perf_event_mlock_kb)."""
END, TASK_BODY = struct.Struct("=IIQI"), struct.Struct("=IIII")
"""Process, task, time and CPU, before the identifier at the end; process, its parent, task and parent task."""
END_SIZE = 32
SWITCHES = RingEvent(
    "switches",
    SOFTWARE,
    DUMMY,
    sample=0,
    flags=INHERIT | ENABLE_ON_EXEC | EXCLUDE_KERNEL | EXCLUDE_HV | CONTEXT_SWITCH | TASKS,
)
STATES = (TimeState.ON_CPU, TimeState.QUEUE, TimeState.THROTTLED, TimeState.OFF_CPU, TimeState.UNDIVIDED)
"""What can be told in this way."""
OWN_SWITCHES = "switches of the program's own tasks, not who woke them or who else had the CPU"
FIRST_THREAD = "the times of the program's first thread, of others their CPU time alone"
RUNG = "rung {} of 4: it sees {}: {}"
"""Of the ladder: what is seen on it, and why it is not a better one or what the cure is."""
BUSY_CURE = "vgo-agent measure --ledger as root, whose layer stacks stays on"


class OwnSwitches:
    """Rings of what the tasks of each run do, from its exec on; raises OSError where the kernel refuses."""

    def __init__(self, root: Path, size: int) -> None:
        self.rings = PerfRings(root, [SWITCHES], min(size, LARGEST), own=True)

    def full(self, written: Sequence[bytes]) -> bool:
        """Tell whether further records may not have fitted into a ring."""
        return self.rings.full(written, LONGEST)

    def read(self, written: Sequence[bytes]) -> SchedTrace:
        """Parse what was written; nobody sees who woke a task."""
        trace = SchedTrace()
        for records in written:
            at = 0
            while at < len(records):
                kind, flags, size = RECORD.unpack_from(records, at)
                _, task, time, cpu = END.unpack_from(records, at + size - END_SIZE)
                if kind == SWITCHED and not flags & SWITCHED_OUT:
                    trace.events.append(SwitchedIn(time, cpu, task))
                elif kind == SWITCHED:
                    trace.events.append(Switch(time, cpu, task, 0 if flags & PREEMPTED else 1, 0))
                elif kind in (FORKED, EXITED):
                    _, _, ended, parent = TASK_BODY.unpack_from(records, at + RECORD.size)
                    dead = Switch(time, cpu, ended, DEAD, 0)
                    trace.events.append(dead if kind == EXITED else Fork(time, cpu, parent, ended))
                at += size
        trace.events.sort(key=lambda event: event.at)
        return trace

    def close(self) -> None:
        self.rings.close()


class OwnTasks(Probe):
    """What the kernel shows of a run's own tasks to any user."""

    def __init__(self, root: Path, cure: str, size: int = 0) -> None:
        """Open rings of `size` bytes for what they do, with 0 none; the `cure` is for what is not seen."""
        self._zombie = Zombie(("on_cpu_ms", "run_delay_ms"))
        self._switches: OwnSwitches | None = None
        self._written: list[bytes] = []
        self._load = RingLoad()
        self._used_ns = 0
        self._one_cpu = False
        self.rung = RUNG.format(4, FIRST_THREAD, cure)
        """What is seen, in words, and the cure for what is not."""
        if size:
            try:
                self._switches = self._keep(OwnSwitches(root, size))
                self.rung = RUNG.format(3, OWN_SWITCHES, cure)
            except OSError as error:
                self.rung = RUNG.format(4, FIRST_THREAD, refusal(error))

    def before(self) -> None:
        """Forget the run before; see whether it has a single CPU."""
        self._zombie.before()
        self._used_ns, self._one_cpu = 0, len(os.sched_getaffinity(0)) == 1
        if self._switches is not None:
            self._switches.rings.on()

    def at_exit(self, pid: int) -> None:
        self._zombie.at_exit(pid)

    def after(self) -> None:
        if self._switches is not None:
            self._written = self._switches.rings.off()

    def used(self, cpu_ns: int) -> None:
        self._used_ns = cpu_ns

    def absent(self) -> Mapping[str, str]:
        return self._zombie.absent()

    def divide(self, first: int, wall_ns: int, throttled_ns: int) -> dict[TimeState, int]:
        """Divide the wall time of a run of a first task into STATES; nothing where the kernel kept no account of it.

        Where no switches were seen, others of its tasks had at most the CPU time that is left: so long it is open
        whether one of them ran or all were off a CPU. On a single CPU no two ran at once, so that beyond the time that
        the first thread was in its queue the others ran while it was off.
        """
        shown = {name: round(1e6 * ms) for name, ms in self._zombie.values().items()}
        if "on_cpu_ms" not in shown:
            return {}
        on_cpu = min(shown["on_cpu_ms"], wall_ns)
        queue = min(shown["run_delay_ms"], wall_ns - on_cpu)
        off = wall_ns - on_cpu - queue
        seen = self._seen(first, wall_ns)
        if seen is not None:
            ran, undivided = min(seen[0], off), 0
        else:
            others = max(0, self._used_ns - shown["on_cpu_ms"])
            ran = min(max(0, others - queue), off) if self._one_cpu else 0
            undivided = min(others, off) - ran
        ready = min(seen[1], off - ran) if seen else 0
        throttled = min(throttled_ns, queue + ready)
        spent = (on_cpu + ran, queue + ready - throttled, throttled, off - ran - ready - undivided, undivided)
        return dict(zip(STATES, spent, strict=True))

    def _seen(self, first: int, wall_ns: int) -> tuple[int, int] | None:
        if self._switches is None:
            return None
        why = "its switches do not fit into a ring" if self._switches.full(self._written) else ""
        if why := why or self._load.too_much(self._written, wall_ns):
            self._switches, self._written = None, []
            self.rung = RUNG.format(4, FIRST_THREAD, f"{why}: {BUSY_CURE}")
            return None
        return beside(self._switches.read(self._written), first)


def beside(trace: SchedTrace, first: int) -> tuple[int, int]:
    """How long, while a first thread was blocked, another task had a CPU; none had, and one was ready."""
    timelines = Timelines(trace, first)
    others = [one for task in timelines.tree - {first} for one in timelines.tasks.get(task, ())]
    waits = [(one.start, one.end) for one in timelines.tasks.get(first, ()) if one.kind == "blocked"]
    cpu = overlap([(one.start, one.end) for one in others if one.kind == "cpu"], waits)
    either = overlap([(one.start, one.end) for one in others if one.kind in ("cpu", "queue")], waits)
    return cpu, either - cpu
