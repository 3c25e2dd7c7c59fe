"""Finds the part of each run that the metric measures, with what earlier runs of the program have shown."""

from __future__ import annotations

import os
import statistics
from contextlib import suppress
from pathlib import Path

from .kernel_stack import KernelStacks
from .perf_ring import WRITING_NS
from .region import (
    MOST_BACK,
    FoundBy,
    Region,
    before_output,
    between_cpu_readings,
    between_marks,
    between_readings,
    later_by,
    readings,
)
from .sched_events import CPU_READING, READING, SchedTrace
from .sched_trace import BODY, SchedRings
from .timeline import Timelines
from .uprobes import ClockReadings, spent_looking

LOOKING, COSTLY, MISSED = 0.02, 2, 2
"""Of a region: where looking for it takes a larger share, the run is left out, and after so many of them the clock is
not watched any more; nor after so many more runs without a pair of readings than with one."""
ENOUGH, ALIKE_NS, ALIKE = 8, 50_000, 0.01
"""Regions after which the output alone tells where the next ones end, if half of them end within so many nanoseconds,
or within this share of a region, of each other before it: to watch a clock takes a fifth of a second a run."""


class RegionSearch:
    """Watches clocks, marks and output, and finds the part of a run between two of them."""

    def __init__(self, root: Path, rings: SchedRings, stacks: KernelStacks, times_part: bool) -> None:
        """Open the events, switched off; those of clocks only where the metric is a time of a part of the run."""
        self._rings, self._stacks, self._timed = rings, stacks, times_part
        with suppress(OSError):  # no more files may be open, of many CPUs: by what could be opened
            rings.watch_part(times_part)
        self._clock: ClockReadings | None = None
        with suppress(OSError):  # without uprobes, by the output and by CPU time
            self._clock = ClockReadings(root) if times_part else None
        self._later_ns: list[float] = []
        """From the end of a region to the output, in the runs where both were found."""
        self._watch_clock, self._why = True, FoundBy.UNREAD
        self._watched = False
        """The clock, in this run: whatever else stops the program at breakpoints is no doing of ours."""
        self._costly = self._missed = 0

    def wrap(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """Let a program wait until its readings of the clock can be watched."""
        return self._clock.gate.wrap(argv) if self._clock else argv

    def started(self, pid: int) -> int:
        """Watch when the program reads the clock, and let it go on; return when it could, 0 where nothing held it."""
        self._watched = self._watch_clock
        return self._clock.follow(self._rings.rings, pid, self._watch_clock) if self._clock else 0

    def after(self) -> None:
        if self._clock is not None:
            self._clock.end()

    def find(
        self, trace: SchedTrace, timelines: Timelines, length_ns: float | None, window: tuple[int, int]
    ) -> Region | FoundBy:
        """Find the part of a run, in a window, that took as long as was printed; else say why there is none.

        Where what was printed is no time, the part between the marks.
        """
        if length_ns is None or not self._timed:
            return between_marks(trace, timelines, None) or FoundBy.RUN
        if length_ns > (os.cpu_count() or 1) * (window[1] - window[0]):
            return FoundBy.LONGER
        if found := between_marks(trace, timelines, length_ns):
            self._watch_clock = False
        else:
            timed = between_readings(trace, timelines, length_ns)
            if self._watch_clock:
                self._learn(trace, timelines, timed)
            later_ns = statistics.median_low(self._later_ns) if len(self._later_ns) > self._missed else None
            found = timed or between_cpu_readings(trace, timelines, length_ns)
            found = found or before_output(trace, timelines, length_ns, later_ns)
        if found is None or found.start < window[0]:
            return self._why
        return FoundBy.OFTEN if self._changed_by_looking(trace, timelines, found) else found

    def _learn(self, trace: SchedTrace, timelines: Timelines, timed: Region | None) -> None:
        read = sum(map(len, readings(trace, timelines, READING).values()))
        self._why = FoundBy.OFTEN if read > MOST_BACK else FoundBy.UNPAIRED if read else FoundBy.UNREAD
        if timed is None:
            self._missed += 1
            self._watch_clock = self._missed < MISSED + len(self._later_ns)
        elif (later := later_by(trace, timelines, timed)) is not None:
            self._later_ns.append(later)
            if len(self._later_ns) >= ENOUGH:
                low, _, high = statistics.quantiles(self._later_ns, n=4)
                self._watch_clock = high - low > max(ALIKE_NS, ALIKE * (timed.end - timed.start))

    def _changed_by_looking(self, trace: SchedTrace, timelines: Timelines, found: Region) -> bool:
        """Tell whether looking took too much of a region; then it is found by less in later runs."""
        most = LOOKING * (found.end - found.start)
        samples = (one for task in timelines.tree for one in trace.samples.get(task, ()))
        stopped = self._watched and spent_looking(samples, self._stacks, found.start, found.end) > most
        self._costly += stopped
        self._watch_clock &= self._costly < COSTLY
        times = [at for each in readings(trace, timelines, CPU_READING).values() for at in each]
        written = sum(found.start < at < found.end for at in times) * BODY * WRITING_NS > most
        if written:
            self._rings.rings.remove(CPU_READING)
        return stopped or written

    def close(self) -> None:
        if self._clock is not None:
            self._clock.close()
