"""What each task did over a run, from events of the scheduler, and where the time of one task went.

The walk charges every nanosecond of the window once, so that its states add up to it. A wait is replaced by what the
task that ended it was doing meanwhile: what did not delay the first task is not in it.
"""

from __future__ import annotations

import bisect
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ...knowledge.time_states import MEASURED, QUEUES, TimeState
from .kernel_stack import KernelStacks, call_of, interrupt_of, wait_of
from .sched_events import Event, Fork, Ran, SchedTrace, Switch, SwitchedIn, TimerSet, Waking

DEAD = 0x30
RUNNABLE = 0xFF
"""Bits of prev_state: one of the first, the task has ended; none of the second, it could have gone on."""
DEEPEST = 10
"""Waits that are followed from waker to waker."""
IDLE_CPU = "an interrupt on an idle CPU"
SWITCHING_NS = 100_000
"""A switch takes less, from when a task is charged for the last time to the event."""
LEAST_STOLEN_NS = 1_000
"""Shorter, and two clocks of the kernel may have been read at different times."""
LATE_NS = 100_000
"""A timer that fires this much after it was due is late."""
WITH_TIMER = re.compile("do_nanosleep|schedule_hrtimeout")
"""Functions of the kernel in which a task waits for the timer that it has set."""
UNTOLD = frozenset({TimeState.BLOCKED, TimeState.UNSEEN})
"""States that say nothing of what a task did."""


class Stretch(NamedTuple):
    """A task from `start` to `end`: on a CPU, on one that the host took away, in its queue, or blocked until woken.

    Blocked by a timer that is late it is from when that was due.
    """

    start: int
    end: int
    kind: str
    """`cpu`, `stolen`, `queue`, `blocked` or `late`."""
    cpu: int = -1
    waker: int = 0
    """Task that ended the wait; 0 where an interrupt did, or where it was not seen."""
    interrupt: str = ""
    """That ended the wait, in words."""
    switch: Switch | None = None
    """With which it left the CPU."""

    @property
    def held_back(self) -> bool:
        """Tell whether it left its CPU ready, and that idled.

        The scheduler does so only where it holds a task back: for a quota of a control group, or of all real-time
        tasks. Seen on Linux 6.18: 331 ms of a run of which cpu.stat counted 330; without a quota none of 4,901 tasks
        that left a CPU ready left it idle.
        """
        return self.kind == "queue" and self.switch is not None and self.switch.into == 0


Waits = tuple[tuple[int, "Stretch"], ...]
"""The waits that led somewhere, from the first task's on: who waited, and in which stretch."""


class ChargedTime(NamedTuple):
    """Part of the window, charged to a state."""

    start: int
    end: int
    state: TimeState
    task: int
    """Who was in that state."""
    other: int
    """Whom it waited behind in a queue; 0 for nobody."""
    stretch: Stretch | None = None
    above: Waits = ()


class Timelines:
    """The stretches of every task, by time, and who ran on each CPU."""

    def __init__(self, trace: SchedTrace, root: int, stacks: KernelStacks | None = None) -> None:
        """`root` is the first task of the program; without stacks all waits are of one kind."""
        self.tasks: dict[int, list[Stretch]] = defaultdict(list)
        self.cpus: dict[int, list[Stretch]] = defaultdict(list)
        """Stretches of a CPU; `waker` is the task that ran."""
        self.born: dict[int, Fork] = {}
        self.processes: dict[int, int] = {}
        """Of tasks."""
        self._stacks, self._stolen = stacks, trace.stolen
        self._now: dict[int, Stretch] = {}
        self._woken: set[int] = set()
        """Tasks that were woken on their way to block, while they still had their CPU."""
        self._running: dict[int, tuple[int, int]] = {}
        self._due: dict[int, int] = {}
        """When the timer fires that each task has set last."""
        self._charged_at: dict[int, int] = {}
        """When each task was last charged with what it ran."""
        self._since = trace.events[0].at if trace.events else 0
        for event in trace.events:
            self._take(event)
        end = trace.events[-1].at if trace.events else 0
        for task, open_stretch in self._now.items():
            self._close(task, end, open_stretch)
        for cpu, (task, since) in self._running.items():
            self.cpus[cpu].append(Stretch(since, end, "cpu", cpu, task))
        self.root, self.tree = root, {root}
        for fork in sorted(self.born.values(), key=lambda fork: fork.at):
            if fork.parent in self.tree:
                self.tree.add(fork.child)

    def _take(self, event: Event) -> None:
        match event:
            case Switch():
                self._switch_out(event)
                self._switch_in(event.at, event.cpu, event.into)
            case SwitchedIn():
                self._switch_in(event.at, event.cpu, event.into)
            case Waking():
                self._wake(event)
            case Ran():
                self._charge(event)
            case TimerSet():
                self._due[event.task] = event.due
            case Fork():
                self.born.setdefault(event.child, event)
                self._now[event.child] = Stretch(event.at, event.at, "queue", event.cpu)

    def _close(self, task: int, at: int, stretch: Stretch) -> None:
        if at > stretch.start and stretch.kind != "dead":
            self.tasks[task].append(Stretch(stretch.start, at, *stretch[2:]))  # _replace takes longer

    def _close_wait(self, task: int, at: int, stretch: Stretch) -> None:
        """Close a stretch; part off from a wait for a timer what came after that was due."""
        due = self._due.pop(task, 0) if stretch.kind == "blocked" else 0
        late = stretch.interrupt and stretch.start <= due < at - LATE_NS
        if late and any(map(WITH_TIMER.search, self.stack(stretch))):
            self._close(task, due, stretch)
            stretch = stretch._replace(start=due, kind="late")
        self._close(task, at, stretch)

    def _switch_out(self, event: Switch) -> None:
        task = event.out
        if task == 0:
            return
        self.processes[task] = event.process or task
        open_stretch = self._now.get(task)
        if open_stretch is None or open_stretch.kind != "cpu":
            # Its coming on the CPU was not seen: it came when the task before it left.
            since = self._running.get(event.cpu, (0, event.at))[1]
            if open_stretch is not None:
                since = max(since, open_stretch.start)
                self._close(task, since, open_stretch)
            open_stretch = Stretch(since, since, "cpu", event.cpu)
        left = self._left(task, event.at, open_stretch)
        self._close(task, left, open_stretch)
        gone = "dead" if event.state & DEAD else "blocked" if event.state & RUNNABLE else "queue"
        self._now[task] = Stretch(left, left, gone, event.cpu, switch=event)

    def _left(self, task: int, at: int, stretch: Stretch) -> int:
        """When a task that was switched away `at` a time was last charged with what it ran: just before."""
        charged = self._charged_at.get(task, -SWITCHING_NS)
        return charged if stretch.start <= charged and at - charged < SWITCHING_NS else at

    def _switch_in(self, at: int, cpu: int, task: int) -> None:
        if self._running.get(cpu, (None,))[0] == task and task in self._now and self._now[task].kind == "cpu":
            return  # told twice
        if cpu in self._running:
            before, since = self._running[cpu]
            if at > since:
                self.cpus[cpu].append(Stretch(since, at, "cpu", cpu, before))
        self._running[cpu] = (task, at)
        if task == 0:
            return
        if (open_stretch := self._now.get(task)) is not None:
            self._close_wait(task, at, self._ended(task, open_stretch, cpu))
        self._now[task] = Stretch(at, at, "cpu", cpu)

    def _charge(self, event: Ran) -> None:
        """Part off what the host took of a CPU since a task was last charged; it runs on when the CPU is back.

        A task is charged from when it was picked, which is earlier than the switch to it.
        """
        task, open_stretch = event.task, self._now.get(event.task)
        if open_stretch is not None and open_stretch.kind == "cpu":
            since = max(open_stretch.start, self._charged_at.get(task, 0))
            stolen = event.at - since - event.spent
            if stolen > LEAST_STOLEN_NS and self._stolen:
                self._close(task, event.at - stolen, open_stretch)
                self._close(task, event.at, open_stretch._replace(start=event.at - stolen, kind="stolen"))
                self._now[task] = open_stretch._replace(start=event.at)
            elif stolen < 0 and since == open_stretch.start:
                self._now[task] = open_stretch._replace(start=self._picked(task, since, since + stolen))
        self._charged_at[task] = event.at

    def _picked(self, task: int, switched: int, charged: int) -> int:
        """When a task left its queue: when it was `charged` from, if it was ready then."""
        waited = self.tasks[task][-1] if self.tasks[task] else None
        if waited is None or waited.kind != "queue" or waited.end != switched:
            return switched
        picked = max(waited.start, charged)
        self.tasks[task][-1:] = [waited._replace(end=picked)] if picked > waited.start else []
        return picked

    def _ended(self, task: int, stretch: Stretch, cpu: int) -> Stretch:
        """What ended when a task came on a CPU; a wake-up that came while it was still on its way to block counts."""
        if stretch.kind == "blocked" and task in self._woken:
            stretch = stretch._replace(kind="queue")
        self._woken.discard(task)
        if stretch.kind == "queue":
            return stretch._replace(cpu=cpu)
        return stretch._replace(interrupt=IDLE_CPU) if stretch.kind == "blocked" else stretch

    def _wake(self, event: Waking) -> None:
        # A task of which nothing was seen before it is woken has been blocked all the time.
        open_stretch = self._now.get(event.woken, Stretch(self._since, self._since, "blocked"))
        if open_stretch.kind != "blocked":
            if open_stretch.kind == "cpu":
                self._woken.add(event.woken)
            return
        interrupt = interrupt_of(event.flags, self._stacks.names(event.stack) if self._stacks else None)
        ended = open_stretch._replace(waker=0 if interrupt else event.waker, interrupt=interrupt)
        self._woken.discard(event.woken)
        self._close_wait(event.woken, event.at, ended)
        self._now[event.woken] = Stretch(event.at, event.at, "queue", event.cpu)

    def wait(self, stretch: Stretch) -> TimeState:
        """The kind of a wait."""
        return wait_of(self.stack(stretch)) if self._stacks else TimeState.BLOCKED

    def stack(self, stretch: Stretch) -> tuple[str, ...]:
        """Functions of the kernel in which a task left its CPU."""
        return self._stacks.names(stretch.switch.stack) if self._stacks and stretch.switch else ()

    def call(self, stretch: Stretch) -> str:
        """The system call in which a task left its CPU."""
        return call_of(self.stack(stretch))

    def behind(self, cpu: int, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Who had a CPU between two times: pairs of nanoseconds and task; 0 is idle, or was not seen."""
        ran = self.cpus.get(cpu, [])
        index = max(0, bisect.bisect_right(ran, start, key=lambda stretch: stretch.start) - 1)
        seen = 0
        for place in range(index, len(ran)):
            stretch = ran[place]
            if stretch.start >= end:
                break
            if (length := min(stretch.end, end) - max(stretch.start, start)) > 0:
                seen += length
                yield length, stretch.waker
        if seen < end - start:
            yield end - start - seen, 0

    def walk(self, task: int, start: int, end: int, above: Waits = ()) -> Iterator[ChargedTime]:
        """Charge all of `start` to `end` of a task: pieces in order that cover it without gap or overlap."""
        at = start
        if (fork := self.born.get(task)) is not None and fork.at > at:
            until = min(fork.at, end)
            if above and all(fork.parent != waiting for waiting, _ in above):
                yield from self.walk(fork.parent, at, until, (*above, (task, BEFORE_BIRTH)))
            else:
                yield ChargedTime(at, until, TimeState.START_AND_END, task, 0, None, above)
            at = until
        stretches = self.tasks.get(task, [])
        index = max(0, bisect.bisect_right(stretches, at, key=lambda stretch: stretch.start) - 1)
        for place in range(index, len(stretches)):
            stretch = stretches[place]
            if stretch.start >= end or at >= end:
                break
            if stretch.start > at:
                yield self._told_by(at, stretch.start, TimeState.UNSEEN, task, None, above)
                at = stretch.start
            if (until := min(stretch.end, end)) > at:
                yield from self._charged(task, stretch, at, until, above)
                at = until
        if at < end:
            yield ChargedTime(at, end, TimeState.START_AND_END, task, 0, None, above)

    def _charged(self, task: int, stretch: Stretch, start: int, end: int, above: Waits) -> Iterator[ChargedTime]:
        if stretch.kind == "blocked" and self._followed(stretch.waker, task, above):
            yield from self.walk(stretch.waker, start, end, (*above, (task, stretch)))
        else:
            yield from self.charged(task, stretch, start, end, above)

    def charged(self, task: int, stretch: Stretch, start: int, end: int, above: Waits = ()) -> Iterator[ChargedTime]:
        """Charge part of a stretch to the task itself: a wait is a wait, whoever ended it."""
        if stretch.kind == "cpu":
            state = TimeState.ON_CPU if task in self.tree else TimeState.PEER_ON_CPU
            yield ChargedTime(start, end, state, task, 0, stretch, above)
        elif stretch.kind == "stolen":
            yield ChargedTime(start, end, TimeState.STOLEN, task, 0, stretch, above)
        elif stretch.kind == "late":
            yield ChargedTime(start, end, TimeState.TIMER_LATE, task, 0, stretch, above)
        elif stretch.kind == "queue":
            yield from self._queued(task, stretch, start, end, above)
        else:
            yield self._told_by(start, end, self.wait(stretch), task, stretch, above)

    def _told_by(
        self, start: int, end: int, state: TimeState, task: int, stretch: Stretch | None, above: Waits
    ) -> ChargedTime:
        """Charge a wait; one of no known kind, such as that of an idle kernel thread for work, to who waits for it."""
        place = len(above) if state in UNTOLD else 0
        while place and state in UNTOLD:
            place -= 1
            waiting, wait = above[place]
            if wait is not BEFORE_BIRTH and (kind := self.wait(wait)) not in UNTOLD:
                state, task, stretch, above = kind, waiting, wait, above[:place]
        return ChargedTime(start, end, state, task, 0, stretch, above)

    def throttled(self, pieces: Iterable[ChargedTime], most: int) -> Iterator[ChargedTime]:
        """Book the program's own time in queues as held back by a quota where a CPU was stopped, `most` ns in all."""
        stops = self._stops(most)
        for piece in pieces:
            at = piece.start
            own = piece.state in QUEUES and piece.task in self.tree and piece.stretch is not None
            for start, end in stops.get(piece.stretch.cpu, ()) if own and piece.stretch else ():
                start, end = max(at, start), min(end, piece.end)
                if start < end:
                    if at < start:
                        yield piece._replace(start=at, end=start)
                    yield piece._replace(start=start, end=end, state=TimeState.THROTTLED, other=0)
                    at = end
            if at < piece.end:
                yield piece._replace(start=at)

    def _stops(self, most: int) -> dict[int, list[tuple[int, int]]]:
        """When each CPU was stopped for the program: its tasks' longest waits in queues, `most` ns of them.

        Those first in which the CPU idled. No event tells the others; the kernel counts how long all were, of all CPUs
        together. A stop lasts until a period of the quota ends, which is far longer than turns are.
        """
        stops: dict[int, list[tuple[int, int]]] = defaultdict(list)
        waits = (one for task in self.tree for one in self.tasks.get(task, ()) if one.kind == "queue" and most > 0)
        for wait in sorted(waits, key=lambda one: (not one.held_back, one.start - one.end)):
            there, end = stops[wait.cpu], min(wait.end, wait.start + most)
            if end > wait.start and all(until <= wait.start or wait.end <= since for since, until in there):
                bisect.insort(there, (wait.start, end))
                most -= end - wait.start
        return stops

    @staticmethod
    def _followed(waker: int, task: int, above: Waits) -> bool:
        """Tell whether a wait is replaced by what its waker did: not in a circle, and not without end."""
        return bool(waker) and waker != task and len(above) < DEEPEST and all(waker != one for one, _ in above)

    def _queued(self, task: int, stretch: Stretch, start: int, end: int, above: Waits) -> Iterator[ChargedTime]:
        if stretch.held_back:
            yield ChargedTime(start, end, TimeState.THROTTLED, task, 0, stretch, above)
            return
        at = start
        for length, other in self.behind(stretch.cpu, start, end):
            state = (
                TimeState.QUEUE_NOBODY
                if not other
                else TimeState.QUEUE_OWN
                if other in self.tree
                else TimeState.QUEUE_OTHERS
            )
            yield ChargedTime(at, at + length, state, task, other, stretch, above)
            at += length


BEFORE_BIRTH = Stretch(0, 0, "queue")
"""Stands for a task that was not there yet: what its parent did counts."""


def totals(pieces: Iterable[ChargedTime]) -> dict[TimeState, int]:
    """Nanoseconds in each state."""
    spent = dict.fromkeys(MEASURED, 0)
    for piece in pieces:
        spent[piece.state] += piece.end - piece.start
    return spent
