"""Prove on the running program that a mitigation is in force."""

from __future__ import annotations

import shutil
import threading
from dataclasses import replace
from typing import Literal, Protocol

from ...knowledge.actions import Apply
from ...knowledge.schema import Mitigation
from ...knowledge.shape import Frozen
from ..execution.launch import Launch, OnStarted, Run
from .mpi_ranks import INCOMPLETE
from .observation import Promise, Reader, proofs
from .program import Process

ENDED = "the program ended before it could be read"
UNREADABLE = "the kernel does not let us read it"

NOT_IN_FORCE = "not in force: "
_MOST_ATTEMPTS = 1000
_LONG_ENOUGH_NS, _LONGEST_NS = 1_000_000_000, 10_000_000_000
"""What did not show in runs of the first length together that were seen, or of the second in all, was not there.

A program of a millisecond gets many tries: on a busy machine most of its runs end before this process has its turn."""
_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.0002, 0.05
_ONLY_AT_THE_START = ("apply.evict_inputs", "apply.sync_first", "apply.prewarm_inputs")
"""Later the program may have read the files itself, or written."""
_TO_THE_END = ("verify.ranks",)
"""The last look decides: a library of MPI binds a rank to one CPU after the other while it gets to know the machine."""


class Check(Frozen):
    """One thing that shows whether a mitigation is in force."""

    level: Literal[1, 2, 3]
    what: str
    expected: str
    seen: str
    passed: bool

    @property
    def failure(self) -> str:
        """What a check that was not passed says."""
        return f"{NOT_IN_FORCE}{self.what} is {self.seen}, expected {self.expected}"

    @property
    def proof(self) -> str:
        """What a check of this level shows."""
        return ("the knob reads back", "the process shows it", "the factor moved")[self.level - 1]


class Starts(Protocol):
    """What `prove` needs of a spawner."""

    @property
    def over(self) -> bool:
        """Whether the budget of the runs is used up."""

    def run(
        self, launch: Launch, *, timeout_s: float | None = None, capture: bool = False, on_started: OnStarted = None
    ) -> Run:
        """Run once; `on_started` is called with the process while it runs."""


def promised(mitigation: Mitigation, launch: Launch) -> Promise:
    """Say what a process shows that is started so under the mitigation."""
    return Promise(mitigation.apply or Apply(), mitigation.verify, launch)


def observe(promise: Promise, what: str, read: Reader, process: Process) -> Check:
    """Make one check now; a process that has ended shows nothing."""
    try:
        expected, seen, passed = read(promise, process)
    except (FileNotFoundError, ProcessLookupError):
        return _unseen(what)
    except PermissionError as error:
        return Check(level=2, what=what, expected="", seen=f"{UNREADABLE} ({error.strerror})", passed=False)
    return Check(level=2, what=what, expected=expected, seen=seen, passed=passed)


class Watcher:
    """Looks at a run from a thread until everything asked for has shown for good, or the run has ended."""

    def __init__(self, promise: Promise) -> None:
        self._promise = promise
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._proofs = proofs(promise)
        self._checks = {name: _unseen(what) for name, (what, _) in self._proofs.items()}

    def start(self, pid: int) -> None:
        """Look at once, then go on from a thread; to be given to the spawner as `on_started`."""
        process = Process(pid)
        pending = self._look(process, tuple(self._checks))
        later = tuple(name for name in pending if name not in _ONLY_AT_THE_START)
        if later:
            self._thread = threading.Thread(target=self._go_on, args=(process, later), daemon=True)
            self._thread.start()

    def stop(self) -> dict[str, Check]:
        """End watching and give what was seen, by field."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        return dict(self._checks)

    def _look(self, process: Process, names: tuple[str, ...]) -> tuple[str, ...]:
        """Look once; give the names that have not shown."""
        for name in names:
            self._checks[name] = _better(self._checks[name], observe(self._promise, *self._proofs[name], process))
        return tuple(name for name in names if name in _TO_THE_END or not self._checks[name].passed)

    def _go_on(self, process: Process, pending: tuple[str, ...]) -> None:
        pause = _SHORTEST_PAUSE_S
        while pending and not self._ended.wait(pause):
            pending = self._look(process, pending)
            pause = min(2 * pause, _LONGEST_PAUSE_S)


def prove(mitigation: Mitigation, launch: Launch, spawner: Starts, timeout_s: float | None = None) -> tuple[Check, ...]:
    """Run the mitigated program, outside the data, until it has shown all that the mitigation promises."""
    promise = promised(mitigation, launch)
    best = {name: _unseen(what) for name, (what, _) in proofs(promise).items()}
    seen_ns = spent_ns = attempts = 0
    while not all(check.passed or check.seen.startswith(UNREADABLE) for check in best.values()):
        watcher = Watcher(promise)
        try:
            run = spawner.run(launch, timeout_s=timeout_s, on_started=watcher.start)
        finally:
            seen = watcher.stop()
        best = {name: check if check.passed else _better(check, seen[name]) for name, check in best.items()}
        spent_ns, attempts = spent_ns + run.wall_ns, attempts + 1
        seen_ns += run.wall_ns * any(check.seen != ENDED for check in seen.values())
        if seen_ns > _LONG_ENOUGH_NS or spent_ns > _LONGEST_NS or attempts == _MOST_ATTEMPTS:
            break
        if run.timed_out or spawner.over:
            break
    slack = "apply.spawn.timer_slack_ns"
    if slack in best and best[slack].seen.startswith(UNREADABLE):
        best[slack] = _timer_slack_of_stand_in(launch, spawner)
    return tuple(best.values())


def _timer_slack_of_stand_in(launch: Launch, spawner: Starts) -> Check:
    """Start `cat` in the place of the program: without root a process shows its timer slack to itself only."""
    cat = replace(launch, argv=(shutil.which("cat") or "/bin/cat", "/proc/self/timerslack_ns"), prewarm=(), output="")
    seen = spawner.run(cat, capture=True).output.decode().strip()
    return Check(
        level=2,
        what="timer slack of a program started in the same way",
        expected=f"{launch.timer_slack_ns} ns",
        seen=f"{seen} ns",
        passed=seen == str(launch.timer_slack_ns),
    )


def _better(before: Check, now: Check) -> Check:
    """What was seen while it ran, all of it, says more than that it has ended, or a part of it."""
    seen_whole = not before.seen.startswith((ENDED, INCOMPLETE))
    return before if now.seen == ENDED or (seen_whole and now.seen.startswith(INCOMPLETE)) else now


def _unseen(what: str) -> Check:
    return Check(level=2, what=what, expected="", seen=ENDED, passed=False)
