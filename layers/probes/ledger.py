"""The probe `ledger`: where each run's time went, in milliseconds that add up to it, by state and by reason.

There is a ladder of ways to see that. Two layers count waits and are no rungs. `bpf`: bpftrace attaches to tracepoints
by perf_event_open, as root, so that the second rung is open wherever it works, and tells more. `delays`: what the
kernel counts as reclaim, compaction and copying is partly time on a CPU, and its sum of waits for a disk cannot be true
in some runs (2 of 60 with 60 waits each, on Linux 6.18: it counted one from the boot of the machine). Runs with more
waits would be left out more often.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ...knowledge.errors import VgoError
from ...knowledge.time_states import WAITS, TimeState
from ..schema import Layer, Value
from .base import Open, Parts, SpawnCommand
from .cgroup import GroupWatch, Throttling
from .instructions import operands_unknown
from .kernel_stack import KernelStacks
from .lanes import lanes_of
from .open_files import OpenFiles
from .opened import Opener
from .own_tasks import BUSY_CURE, FIRST_THREAD, OWN_SWITCHES, STATES, OwnSwitches, OwnTasks
from .perf_open import LOCKED, refusal
from .perf_ring import RingLoad
from .region import FoundBy, Region, on_cpus
from .region_search import RegionSearch
from .sampled_code import CodeMaps, PerfMaps
from .sched_events import SchedTrace
from .sched_trace import RAN, SchedRings
from .shared_lines import LineSearch
from .timeline import Timelines, totals

MIB, MS = 1 << 20, 1e6
RING_MIB = 4.0
PYTHON_STACK = 2048
"""Bytes: of 178 samples of Python 3.12 and 3.13 half had the return into a function 480 down, nearly all 1,024."""
LOST = "the scheduler's events of the run do not fit into their rings: --layer {}:ring_mib={:g}"
LOST_LOCKED = f"the scheduler's events of the run do not fit into rings of {{:.3g}} MiB, and {LOCKED}"


class LedgerProbe(Parts):
    """Keeps what the scheduler does on all CPUs while a run lasts, and splits the run's time by it afterwards.

    With the parameter `stacks` also in which function of the kernel each task waited, who woke it there, what was on a
    CPU each millisecond, and which part of the run the metric measures. Without it, where the rings cannot be had or
    cost too much, the program's own tasks tell less of it: `own_tasks`.
    """

    def __init__(self, layer: Layer, root: Path) -> None:
        """Open the rings, or what the kernel allows instead; columns that it does not tell are absent."""
        super().__init__(layer, ())
        self._key, self._root = layer.key, root
        self._ring_mib = float(layer.parameters.get("ring_mib", RING_MIB))
        if self._ring_mib <= 0:
            raise VgoError(
                f"A ring of {self._ring_mib:g} MiB holds nothing: give {self._key}:ring_mib= a number above 0"
            )
        self._with_stacks, self._python = (bool(layer.parameters.get(name)) for name in ("stacks", "python"))
        self._written: list[bytes] = []
        self._load = RingLoad()
        self._left_files = False
        self._pid = 0
        self._window = (0, 0)
        self._rings: SchedRings | None = None
        self._stacks = self._files = None
        self._search: RegionSearch | None = None
        """Of the part that the metric measures."""

        self._own: OwnTasks | None = None
        self._throttling = Throttling(root)
        self._without = {f"{self._key}.lines": why} if self._with_stacks and (why := operands_unknown()) else {}
        self._absent = self._without
        try:
            memory = PYTHON_STACK if self._python else 0
            self._rings = self._keep(SchedRings(root, int(self._ring_mib * MIB), self._with_stacks, memory))
        except OSError as error:
            if self._with_stacks:
                self._lack(refusal(error))
            else:
                self._step_down(OwnTasks(root, layer.cure, int(self._ring_mib * MIB)))
            return
        if self._with_stacks:
            self._stacks, self._files = KernelStacks(root), self._keep(OpenFiles())
            if why := self._stacks.hidden:
                self._without |= {f"{self._key}.{state}_ms": why for state in WAITS}
            self._parts = [self._files, self._keep(GroupWatch(self._throttling))]

    def wrap(self, command: SpawnCommand) -> SpawnCommand:
        """Where a part of the run is timed, look for it; let Python say what its functions are called."""
        if self._python:
            command = SpawnCommand(command.argv, {**command.environment, "PYTHONPERFSUPPORT": "1"})
        if self._rings is None or self._stacks is None or not self.has_metric:
            return command
        if self._search is None:
            self._search = self._keep(RegionSearch(self._root, self._rings, self._stacks, self.times_part))
        return SpawnCommand(self._search.wrap(command.argv), command.environment)

    def before(self) -> None:
        self._tidy()
        self._throttling.before()
        super().before()
        if self._rings is not None:
            self._rings.rings.on()

    def started(self, pid: int) -> None:
        """Note the process, and watch when it reads the clock."""
        self._pid = pid
        super().started(pid)
        if self._search is not None:
            self.held_until_ns = self._search.started(pid)

    def timed(self, started_ns: int, ended_ns: int) -> None:
        self._window = (started_ns, ended_ns)

    def after(self) -> None:
        self._left_files = self._python
        if self._rings is not None:
            self._written = self._rings.rings.off()
        if self._search is not None:
            self._search.after()
        self._throttling.after()
        super().after()

    def absent(self) -> Mapping[str, str]:
        return self._absent

    def split(self, outcome_ns: float | None) -> Mapping[str, Value]:
        """Split the time of the process that was started, or of the part that its outcome measures.

        Nothing where events were lost.
        """
        self._left_files = False
        if self._own is not None:
            spent = self._own.divide(self._pid, self._window[1] - self._window[0], self._throttling.ns)
            self._tell_rung(self._own)
            return self._cells(spent)
        trace = self._read()
        if trace is None:
            return {}
        self._absent = self._without
        timelines = Timelines(trace, self._pid, self._stacks)
        searched = self._search.find(trace, timelines, outcome_ns, self._window) if self._search else FoundBy.RUN
        region = Region(*self._window, self._pid, searched) if isinstance(searched, FoundBy) else searched
        path = list(timelines.throttled(timelines.walk(region.task, region.start, region.end), self._throttling.ns))
        pieces = on_cpus(timelines, region) if region.cpu_of else path
        values = {**self._cells(totals(pieces)), f"{self._key}.region": region.found_by.value}
        if self._stacks is not None and self._files is not None:
            self._files.settle()
            began_s = time.time() - time.monotonic() + self._window[0] / 1e9
            made, maps = PerfMaps(began_s), CodeMaps(trace, timelines)
            opener = Opener(trace, timelines, self._stacks, self._files, made, maps, self._root)
            values[f"{self._key}.opened"] = opener.opened(pieces, region.start, region.end, region.task).text()
            if not self._without:
                search = LineSearch(trace, timelines, self._stacks, maps)
                values[f"{self._key}.lines"] = search.find(region.start, region.end).text()
            values[f"{self._key}.lanes"] = lanes_of(opener, path, region).text()
            made.remove({timelines.processes.get(task, task) for task in timelines.tree} if self._python else ())
        return self._declared(values)

    def close(self) -> None:
        """Leave nothing of the last run."""
        self._tidy()
        super().close()

    def _tidy(self) -> None:
        """Remove the names of code that a run left which failed and so was not split."""
        if self._left_files:
            self.split(None)

    def _read(self) -> SchedTrace | None:
        """Read what was written, if all was and it did not cost too much.

        A program that reads its CPU time all the time is charged each time: that alone is not watched any more.
        """
        if self._rings is None:
            return None
        trace, wall_ns = self._rings.read(self._written), self._window[1] - self._window[0]
        full, why = self._rings.full(self._written), self._load.too_much(self._written, wall_ns)
        if trace.charged_often:
            self._rings.rings.remove(RAN)
            self._load = RingLoad()
        elif why and not self._with_stacks:
            self._rings, self._written = None, []
            self._step_down(OwnTasks(self._root, f"{why}: {BUSY_CURE}"))
            return None
        size_mib = self._rings.rings.size / MIB
        locked = size_mib < self._ring_mib
        lost = LOST_LOCKED.format(size_mib) if locked else LOST.format(self._key, 4 * self._ring_mib)
        self._lack(lost if full else "")
        return None if full else trace

    def _cells(self, spent: Mapping[TimeState, int]) -> dict[str, Value]:
        cells = {f"{self._key}.{state}_ms": nanoseconds / MS for state, nanoseconds in spent.items()}
        return self._declared({name: cell for name, cell in cells.items() if name not in self._absent})

    def _step_down(self, own: OwnTasks) -> None:
        """Go on with what the program's own tasks tell."""
        self._own, self._parts = self._keep(own), [own]
        self._tell_rung(own)

    def _tell_rung(self, own: OwnTasks) -> None:
        nothing = next(iter(own.absent().values()), "")
        told = () if nothing else {f"{self._key}.{state}_ms" for state in STATES}
        self._absent = {name: nothing or own.rung for name in self._columns if name not in told}


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
    def summary(self) -> dict[str, str]:
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


def _closed(rings: Callable[[], Open]) -> str:
    try:
        rings().close()
    except OSError as error:
        return refusal(error)
    return ""


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
        lambda root: _closed(lambda: SchedRings(root, SMALL, stacks=True)),
    ),
    Rung(
        "ledger",
        WHOLE,
        "what all CPUs do: a wait counts as what the task did that ended it, a queue as behind whom",
        "under 2 % of CPU time, up to 6 % where processes are started one after the other, or it steps down; "
        "1 to 17 ms after a run",
        lambda root: _closed(lambda: SchedRings(root, SMALL)),
    ),
    Rung(
        "ledger",
        "kernel.perf_event_paranoid at most 2, for one's own processes; a container that lets "
        "perf_event_open through (--security-opt seccomp=unconfined)",
        OWN_SWITCHES,
        "less CPU time than runs scatter by, or it steps down; .2 to 4 ms after a run",
        lambda root: _closed(lambda: OwnSwitches(root, SMALL)) or _times(root),
    ),
    Rung(
        "ledger",
        "/proc/PID/schedstat: any user, any container",
        FIRST_THREAD,
        "less CPU time than runs scatter by; .1 to .2 ms after a run",
        _times,
    ),
)
