"""The pieces of a run opened: for each wait its call, its file and who ended it; for time on a CPU the functions."""

from __future__ import annotations

import bisect
import errno
import functools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ...knowledge.time_states import QUEUES, TimeState
from .kernel_stack import TELLING, KernelStacks
from .open_files import OpenFiles
from .sampled_code import CodeMaps, PerfMaps, SampledCode
from .sched_events import Sampled, SchedTrace
from .sysfs import cpu_numbers, text_of
from .task_names import TaskNames
from .timeline import BEFORE_BIRTH, ChargedTime, Stretch, Timelines

OF_FILES = frozenset(
    (
        *("read", "write", "pread64", "pwrite64", "readv", "writev", "preadv", "pwritev", "preadv2", "pwritev2"),
        *("recvfrom", "sendto", "recvmsg", "sendmsg", "recvmmsg", "sendmmsg", "accept", "accept4", "connect"),
        *("fsync", "fdatasync", "sync_file_range", "ftruncate", "fallocate", "flock", "fcntl", "ioctl", "getdents64"),
        *("epoll_wait", "epoll_pwait", "sendfile64", "lseek", "syncfs"),
    )
)
"""Calls whose first argument is an open file."""
NUMBERS = Path("/usr/include/asm-generic/unistd.h"), Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
SIBLINGS = "sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
LEAST = 0.002
"""Of the window: what is shorter is kept with its state alone."""
MOST_CALLERS = 40
"""Functions that called others, those with most samples."""
MOST_LENGTHS = 12
"""Episodes of each part whose length is kept, the longest ones."""


class OpenedPart(NamedTuple):
    """Time of one run in one state, for one reason."""

    state: TimeState
    own: TimeState
    """What the first task itself was in: of a wait that a task ended, the kind of that wait."""
    what: str
    """Call and file and who ended it; the task, of time on a CPU; who had the CPU, of a queue."""
    via: str
    """The waits that led here, the first task's first."""
    ms: float
    episodes: int
    longest_ms: tuple[float, ...]


class CpuSamples(NamedTuple):
    """Samples of one run in one function."""

    what: str
    """The task."""
    via: str
    kind: str
    """user, system, page_fault or interrupt."""
    function: str
    samples: int


class OpenedRun(NamedTuple):
    """Where the time of a run went, opened."""

    parts: tuple[OpenedPart, ...]
    samples: tuple[CpuSamples, ...]
    failed: dict[str, int]
    """Calls that failed in the region: `read EAGAIN` to how often."""
    started: int
    """Tasks of the program that began in the region."""
    moves: int
    """Times that the timed task changed its CPU in the region."""
    beside_ms: float = 0.0
    """On a CPU, while other programs had another one of the same core."""
    same_core: bool = False
    """That is so; else any other CPU counts, since cores have one each, or the kernel does not tell which have more."""
    processes: Mapping[str, int] = MappingProxyType({})
    """Of other programs, by their names: their process numbers."""
    under: Mapping[str, int] = MappingProxyType({})
    """Samples of the program below a function that called what ran: known where code keeps frame pointers."""
    files: tuple[str, ...] = ()
    """Paths of the programs and libraries that samples are in."""
    threads: int = 0
    """Of the program's process that had most on a CPU; 0 where they were not counted."""
    own_ms: float = 0.0
    """On CPUs, of all tasks of the program together."""

    def text(self) -> str:
        """As a cell of a table."""
        return json.dumps(self._replace(processes={**self.processes}, under={**self.under}), separators=(",", ":"))

    @classmethod
    def read(cls, text: str) -> OpenedRun:
        parts, samples, *counts = json.loads(text)
        counts[7:8] = map(tuple, counts[7:8])
        return cls(
            tuple(
                OpenedPart(TimeState(state), TimeState(own), what, via, ms, episodes, tuple(longest))
                for state, own, what, via, ms, episodes, longest in parts
            ),
            tuple(CpuSamples(*one) for one in samples),
            *counts,
        )


@dataclass
class Opener:
    """Opens the pieces of one run."""

    trace: SchedTrace
    timelines: Timelines
    stacks: KernelStacks
    files: OpenFiles
    made: PerfMaps
    maps: CodeMaps
    root: Path
    """Where `sys` lies."""

    def __post_init__(self) -> None:
        """Name the tasks, and what was sampled."""
        self._code = SampledCode(self.stacks, self.made, self.maps)
        self._names = TaskNames(self.trace, self.timelines, self.files.commands)

    def opened(self, pieces: Sequence[ChargedTime], start: int, end: int, task: int) -> OpenedRun:
        """Open the pieces of a task's time from `start` to `end`."""
        lengths: dict[tuple[TimeState, TimeState, str, str], list[int]] = defaultdict(list)
        samples: Counter[tuple[str, str, str, str]] = Counter()
        under: Counter[str] = Counter()
        for piece in pieces:
            via, what = self._via(piece), self._what(piece)
            lengths[piece.state, self._own(piece), what, via].append(piece.end - piece.start)
            if piece.state in (TimeState.ON_CPU, TimeState.PEER_ON_CPU):
                samples.update((what, via, *self._code.sampled(one)) for one in self._within(piece))
            if piece.state is TimeState.ON_CPU:
                under.update(name for one in self._within(piece) for name in self._code.callers(one))
        return OpenedRun(
            tuple(shortened(lengths, end - start)),
            tuple(CpuSamples(*key, count) for key, count in samples.most_common()),
            self._failed(start, end),
            sum(start <= fork.at <= end for task, fork in self.timelines.born.items() if task in self.timelines.tree),
            self._moves(task, start, end),
            *self._busy_beside(pieces),
            self._names.numbers(),
            dict(under.most_common(MOST_CALLERS)),
            self._files({function.rpartition(" in ")[2] for *_, function in samples}),
            self._threads(start, end),
            self._own_ns(start, end) / 1e6,
        )

    def _threads(self, start: int, end: int) -> int:
        ran = (
            self.timelines.processes.get(task, task)
            for task in self.timelines.tree
            if any(one.kind == "cpu" and one.start < end and one.end > start for one in self.timelines.tasks[task])
        )
        return max(Counter(ran).values(), default=0)

    def _own_ns(self, start: int, end: int) -> int:
        stretches = (one for task in self.timelines.tree for one in self.timelines.tasks[task] if one.kind == "cpu")
        return sum(max(0, min(one.end, end) - max(one.start, start)) for one in stretches)

    def _own(self, piece: ChargedTime) -> TimeState:
        above = [stretch for _, stretch in piece.above if stretch is not BEFORE_BIRTH]
        return self.timelines.wait(above[0]) if above else piece.state

    def _call(self, task: int, stretch: Stretch) -> str:
        call, switch = self.timelines.call(stretch), stretch.switch
        if switch is None or switch.argument is None or call not in OF_FILES:
            return call
        file = self.files.name(self.timelines.processes.get(task, task), switch.argument, switch.at)
        return f"{call}({file})" if file else call

    def _via(self, piece: ChargedTime) -> str:
        waits = [(task, stretch) for task, stretch in piece.above if stretch is not BEFORE_BIRTH]
        return " < ".join(
            f"{self._names.label(task)} waits in {self._call(task, stretch)} for {self._names.label(stretch.waker)}"
            for task, stretch in waits
        )

    def _what(self, piece: ChargedTime) -> str:
        if piece.state in (TimeState.ON_CPU, TimeState.PEER_ON_CPU):
            return self._names.label(piece.task)
        if piece.state is TimeState.THROTTLED:
            return f"{self._names.label(piece.task)}, by its CPU quota"
        if piece.state in (TimeState.QUEUE_NOBODY, TimeState.STOLEN):
            return self._names.label(piece.task)
        if piece.state in QUEUES:
            named = self._names.name if piece.state is TimeState.QUEUE_OTHERS else self._names.label
            return f"behind {named(piece.other)}{self._inverted(piece)}"
        if piece.stretch is None:
            return self._names.label(piece.task)
        # Other interrupts say no more than the call, and an idle CPU does not always tell which one it was.
        telling = piece.stretch.interrupt if piece.stretch.interrupt in TELLING else ""
        by = telling or (self._names.label(piece.stretch.waker) if piece.stretch.waker else "")
        call = self._call(piece.task, piece.stretch)
        return f"{self._names.label(piece.task)}{f': {call}' * bool(call)}{f', woken by {by}' * bool(by)}"

    def _inverted(self, piece: ChargedTime) -> str:
        """Say where a task waits for one in a queue, and whoever has the CPU is of lower priority than itself, too."""
        waiter, known = piece.above[-1][0] if piece.above else 0, self.trace.priorities
        if not {waiter, piece.task, piece.other} <= known.keys() - {0}:
            return ""
        lower = known[waiter][1] < min(known[piece.task][1], known[piece.other][1])
        return f", both of lower priority than {self._names.label(waiter)}" if lower else ""

    def label(self, piece: ChargedTime) -> str:
        """What a task did in a piece: the function that most samples are in; whom it queued behind; the call.

        Empty where nothing was sampled or seen.
        """
        if piece.state in (TimeState.ON_CPU, TimeState.PEER_ON_CPU):
            counts = Counter(function for _, function in map(self._code.sampled, self._within(piece)))
            return counts.most_common(1)[0][0] if counts else ""
        task = self._names.label(piece.task)
        said = self._what(piece) if piece.stretch else task
        return "" if said == task else said.removeprefix(f"{task}: ")

    def _within(self, piece: ChargedTime) -> Iterable[Sampled]:
        there = self.trace.samples.get(piece.task, [])
        first = bisect.bisect_left(there, piece.start, key=lambda one: one.at)
        last = bisect.bisect_left(there, piece.end, key=lambda one: one.at)
        return there[first:last]

    def _files(self, names: Container[str]) -> tuple[str, ...]:
        """Paths of files of these names that the program's processes mapped."""
        own = {one.path for one in self.trace.mapped if one.process in self.timelines.tree}
        return tuple(sorted(path for path in own if Path(path).name in names))

    def _failed(self, start: int, end: int) -> dict[str, int]:
        calls = [one for one in self.trace.failed if one.task in self.timelines.tree and start <= one.at <= end]
        known = call_names()
        names = (
            f"{known.get(one.number, f'call {one.number}')} {errno.errorcode.get(one.error, one.error)}"
            for one in calls
        )
        return dict(Counter(names).most_common(8))

    def _moves(self, task: int, start: int, end: int) -> int:
        ran = [one.cpu for one in self.timelines.tasks.get(task, ()) if one.kind == "cpu" and start <= one.start <= end]
        return sum(a != b for a, b in zip(ran, ran[1:], strict=False))

    def _busy_beside(self, pieces: Sequence[ChargedTime]) -> tuple[float, bool]:
        """Milliseconds on a CPU while other programs had another CPU of the core, else any other CPU; and which."""
        ran = defaultdict[int, list[tuple[int, int]]](list)
        for piece in pieces:
            if piece.state is TimeState.ON_CPU and piece.stretch is not None:
                ran[piece.stretch.cpu].append((piece.start, piece.end))
        spent, same = 0, bool(ran)
        for cpu, own in ran.items():
            core = cpu_numbers(text_of(self.root / SIBLINGS.format(cpu))) - {cpu}
            others = (self.timelines.cpus[one] for one in core or self.timelines.cpus.keys() - {cpu})
            foreign = (one for ran in others for one in ran if one.waker and one.waker not in self.timelines.tree)
            spent += overlap([(one.start, one.end) for one in foreign], own)
            same &= bool(core)
        return round(spent / 1e6, 6), same


def overlap(some: Iterable[tuple[int, int]], others: Iterable[tuple[int, int]]) -> int:
    """How much of the others is in at least one of some intervals."""
    merged = list[tuple[int, int]]()
    for start, end in sorted(some):
        if merged and start <= merged[-1][1]:
            start, end = merged[-1][0], max(merged.pop()[1], end)
        merged.append((start, end))
    sums = [0, *accumulate(end - start for start, end in merged)]

    def before(at: int) -> int:
        place = bisect.bisect_left(merged, (at, at))
        return sums[place] - max(0, merged[place - 1][1] - at) if place else 0

    return sum(before(end) - before(start) for start, end in others)


def shortened(lengths: dict[tuple[TimeState, TimeState, str, str], list[int]], window: int) -> Iterable[OpenedPart]:
    """The parts, the longest first; what is too short to matter is put together by its states."""
    kept: dict[tuple[TimeState, TimeState, str, str], list[int]] = defaultdict(list)
    for (state, own, what, via), each in lengths.items():
        long = sum(each) >= LEAST * window
        kept[state, own, what if long else "", via if long else ""] += each
    for key, each in sorted(kept.items(), key=lambda item: -sum(item[1])):
        longest = tuple(round(one / 1e6, 4) for one in sorted(each, reverse=True)[:MOST_LENGTHS])
        yield OpenedPart(*key, round(sum(each) / 1e6, 6), len(each), longest)


@functools.cache
def call_names() -> dict[int, str]:
    """System calls by their numbers; none where the headers of the kernel are not there."""
    found: dict[int, str] = {}
    for path in NUMBERS:
        if path.exists():
            found = {int(number): name for name, number in re.findall(r"__NR_(\w+)\s+(\d+)", path.read_text())}
    return found
