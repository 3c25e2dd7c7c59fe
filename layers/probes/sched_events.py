"""What the scheduler did while a run lasted, as it is kept: the kinds of events, and all of a run.

Among them those that tell which part of a run a metric measures: its output, its readings of CPU clocks, marks put in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .perf_open import TRACEPOINT
from .perf_ring import RAW, RingEvent

WRITTEN, LEFT = "syscalls/sys_enter_write", "syscalls/sys_enter_exit_group"
READING, CPU_READING = "reading of a clock", "reading of a CPU clock"
MARKED, MARK, BEGIN, END = "task/task_rename", "vgo:", "vgo:begin", "vgo:end"
"""A program marks a part of its run by calling itself so, which any language can: it is one write to a file."""
CPU_CLOCKS = {
    "syscalls/sys_enter_clock_gettime": "which_clock == 2 || which_clock == 3",  # of the process, of the thread
    "syscalls/sys_enter_getrusage": "",
    "syscalls/sys_enter_times": "",
}
"""Calls that tell CPU time, with filters: the C library makes a real one each time."""
PART = (WRITTEN, LEFT, MARKED, *CPU_CLOCKS)
TIMES = (WRITTEN, LEFT, READING, CPU_READING)
"""Of these the time and the task are kept."""


class Mark(NamedTuple):
    """A task called itself, or another one of its process, BEGIN or END."""

    at: int
    task: int
    text: str


def part_events(numbers: Mapping[str, int]) -> tuple[RingEvent, ...]:
    """The events, by the numbers of the tracepoints in PART."""
    written, left, marked, *cpu_clocks = (RingEvent(name, TRACEPOINT, numbers[name], sample=0) for name in PART)
    return (
        written._replace(filter="fd == 1 || fd == 2"),
        left,
        marked._replace(sample=RAW, filter=f'newcomm ~ "{MARK}*"'),
        *(one._replace(name=CPU_READING, filter=CPU_CLOCKS[one.name]) for one in cpu_clocks),
    )


MOST_CHARGES = 2_000
"""Of a run: with fewer, rings of the usual size have room for all."""


class Switch(NamedTuple):
    """A CPU went from one task to another; task 0 is idle."""

    at: int
    """Nanoseconds of CLOCK_MONOTONIC, as in all events."""
    cpu: int
    out: int
    state: int
    """Of the task that went out: 0 or 0x100 if it could have gone on."""
    into: int
    process: int = 0
    """Of the task that went out."""
    stack: bytes = b""
    """Of the task that went out, in the kernel: addresses of 8 bytes, the innermost first."""
    argument: int | None = None
    """The first one of its system call."""


class SwitchedIn(NamedTuple):
    """A task came on a CPU. Says nothing new after a `Switch`, which idle CPUs leave out now and then."""

    at: int
    cpu: int
    into: int


class Waking(NamedTuple):
    """A task made another one able to run; `flags` say whether an interrupt did it in that task's time."""

    at: int
    cpu: int
    waker: int
    woken: int
    flags: int
    stack: bytes = b""
    """Of the CPU that woke it."""


class Fork(NamedTuple):
    """A task started another one, a thread or a process."""

    at: int
    cpu: int
    parent: int
    child: int


class Ran(NamedTuple):
    """The kernel charged a task on a CPU with what it ran since the last time."""

    at: int
    cpu: int
    task: int
    spent: int
    """Nanoseconds, without what the host of a virtual machine ran meanwhile."""


class TimerSet(NamedTuple):
    """A task set the timer by which it wants to be woken."""

    at: int
    cpu: int
    task: int
    due: int
    """When it is to fire, its slack over, on CLOCK_MONOTONIC; another clock's times are far from any of the run."""


Event = Switch | SwitchedIn | Waking | Fork | Ran | TimerSet


class Sampled(NamedTuple):
    """What was on a CPU at a time."""

    at: int
    process: int
    stack: bytes
    """Of the kernel, then of the program, each begun by a marker."""
    memory: bytes = b""
    """Of the program's stack, from its top, where that was asked for."""
    cpu: int = 0
    registers: bytes = b""
    """Of the program, 8 bytes each, in the order of `instructions.NAMES`; empty where they were not kept."""


class FailedCall(NamedTuple):
    """A system call that returned an error."""

    at: int
    task: int
    number: int
    error: int


class Mapped(NamedTuple):
    """A file of code was mapped into a process."""

    process: int
    start: int
    length: int
    offset: int
    path: str


@dataclass
class SchedTrace:
    """What happened, each kind by time, and what the tasks are called."""

    events: list[Event] = field(default_factory=list)
    names: dict[int, tuple[int, bytes]] = field(default_factory=dict)
    """Of a task: when it was last seen to be called so, and how, filled up with bytes of 0; CPUs are read in turn."""
    priorities: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Of a task: when it last had which, as the kernel counts: the lower the number, the sooner it runs."""
    samples: dict[int, list[Sampled]] = field(default_factory=dict)
    """By task."""
    failed: list[FailedCall] = field(default_factory=list)
    times: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: {name: [] for name in TIMES})
    """Time and task: when each wrote to standard output or error, read a clock that is watched, left for good."""
    mapped: list[Mapped] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    stolen: bool = False
    """The host of this virtual machine has taken its CPUs since it started."""

    @property
    def charged_often(self) -> bool:
        """Tasks were charged with what they ran far more often than at each switch and clock tick."""
        count = Counter(map(type, self.events))
        return count[Ran] > MOST_CHARGES and count[Ran] > 4 * count[Switch]

    def name(self, task: int) -> str:
        """What a task is called; it may never have been seen on a CPU."""
        return text_at(self.names.get(task, (0, b"an unseen task"))[1])

    def renumber(self, own: Mapping[int, int]) -> None:
        """Give tasks the numbers that they have in our namespace; those outside of it become negative."""

        def number(task: int) -> int:
            return own.get(task, -task)

        for place, event in enumerate(self.events):
            match event:
                case Switch():
                    self.events[place] = event._replace(out=number(event.out), into=number(event.into))
                case Waking():
                    self.events[place] = event._replace(waker=number(event.waker), woken=number(event.woken))
                case Fork():
                    self.events[place] = event._replace(parent=number(event.parent), child=number(event.child))
                case Ran() | TimerSet():
                    self.events[place] = event._replace(task=number(event.task))
        self.names = {number(task): name for task, name in self.names.items()}
        self.priorities = {number(task): priority for task, priority in self.priorities.items()}

    def call(self, task: int, at: int, name: bytes) -> None:
        """Note what a task is called at a time; a mark is no name."""
        if not name.startswith(MARK.encode()):
            self.names[task] = max(self.names.get(task, (0, b"")), (at, name))


def text_at(content: bytes) -> str:
    """Read text up to its end, a byte of 0."""
    return content.split(b"\0", 1)[0].decode(errors="replace")
