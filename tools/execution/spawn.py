"""Start one run, time it, read its counters from the zombie, end whatever it left, put every setting back."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from operator import attrgetter
from types import FrameType, TracebackType
from typing import Any, NamedTuple, NoReturn, Self

from ...layers.probes.base import Probe
from ...layers.schema import Value
from .capture import appended_memory, appended_on_disk, take
from .conditions import (
    POLICY,
    PR_GET_CHILD_SUBREAPER,
    PR_SET_CHILD_SUBREAPER,
    SPAWN_POLICIES,
    await_share,
    impose,
    impose_on_child,
    needs_child,
    needs_thread,
    prctl,
)
from .conditions import ConditionRefused as ConditionRefused
from .launch import Launch, Run
from .page_cache import prepare_files
from .resolve import resolve as resolve
from .resolve import start_failure
from .running import note
from .survivors import Survivors, kill
from .waiting import wait, wait_until

ERROR_TAIL = 4096
"""Bytes of standard error that are kept."""
DEFAULT_SIGNALS = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGPIPE,
    signal.SIGTERM,
    signal.SIGXFSZ,
    signal.SIGTSTP,
    signal.SIGTTIN,
    signal.SIGTTOU,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGCHLD,
)
"""Python ignores some of these, a terminal or nohup others: the program starts with none ignored."""
ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
"""They would end this process before it ends the run, so they become exceptions."""
RUSAGE = {
    "minor_faults": "ru_minflt",
    "major_faults": "ru_majflt",
    "voluntary_switches": "ru_nvcsw",
    "involuntary_switches": "ru_nivcsw",
    "blocks_in": "ru_inblock",
    "blocks_out": "ru_oublock",
    "user_s": "ru_utime",
    "system_s": "ru_stime",
    "max_rss_kb": "ru_maxrss",
}
"""Column: field of rusage, which covers the program and every descendant that it waited for."""
RUSAGE_VALUES = attrgetter(*RUSAGE.values())
MARKED = "max_rss_kb"
"""Of RUSAGE, the column that is missing where it shows no more than our own mark."""


class Prepared(NamedTuple):
    """What posix_spawn takes, made once for a launch."""

    launch: Launch | None
    environment: dict[bytes, bytes]
    options: dict[str, Any]

    @classmethod
    def of(cls, launch: Launch) -> Self:
        """Encode the environment; ask for a process group or session of its own, fresh signals, the scheduler."""
        environment = {os.fsencode(name): os.fsencode(value) for name, value in launch.environment.items()}
        options: dict[str, Any] = {"setsigmask": (), "setsigdef": DEFAULT_SIGNALS}
        if launch.autogroup_nice is None:
            options["setpgroup"] = 0
        else:
            options["setsid"] = True  # Each session is one autogroup; it leads a process group too.
        if launch.scheduler is not None and launch.scheduler.policy in SPAWN_POLICIES:
            options["scheduler"] = (launch.scheduler.policy, os.sched_param(launch.scheduler.priority))
        return cls(launch, environment, options)


class Spawner:
    """Starts runs one after another from one thread; opened once for all runs of a session."""

    def __init__(self) -> None:
        """Open the files that every run uses, and become the process that inherits orphans."""
        self.spent_ns = 0
        with ExitStack() as undo:
            self._nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            undo.callback(os.close, self._nothing)
            self._output = appended_memory("standard output", undo)
            self._error = appended_memory("standard error", undo)
            self._survivors = Survivors()
            undo.callback(self._survivors.close)
            undo.callback(prctl, PR_SET_CHILD_SUBREAPER, child_subreaper())
            prctl(PR_SET_CHILD_SUBREAPER, 1)
            catch_ending_signals(undo)
            self._undo = undo.pop_all()
        self._prepared = Prepared(None, {}, {})
        self._disk: int | None = None

    def spent_elsewhere(self, seconds: float) -> None:
        """Count in for how long the program ran on other machines."""
        self.spent_ns += int(seconds * 1e9)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """Put signals and the reaper of orphans back and close the files."""
        self._undo.close()

    def run(
        self,
        launch: Launch,
        probes: Sequence[Probe] = (),
        timeout_s: float | None = None,
        capture: bool = False,
        on_started: Callable[[int], None] | None = None,
    ) -> Run:
        """Run the program once to its end; survivors of a run that was cut short are not counted."""
        prepare_files(launch)
        await_share(launch)
        for probe in probes:
            probe.rest()
        known = self._survivors.children()
        listening = any(probe.reads_output for probe in probes)
        captured = capture or listening
        pid = 0
        try:
            sink = self._sink(launch, captured)
            started_ns, pid = self._start(launch, probes, sink)
            tell_started(pid, launch, probes, on_started)
            ending = wait(pid) if timeout_s is None else wait_until(pid, started_ns / 1e9 + timeout_s)
            wall_ns = time.monotonic_ns() - started_ns
            self.spent_ns += wall_ns
            tell_ended(pid, probes)
            _, status, usage = os.wait4(pid, 0)
            note(0)
            pid = 0
            # After the reaping, when the list of children is as it was before: the cheapest to compare.
            survivors = self._survivors.end(known)
        except BaseException:
            self._abandon(pid, known)
            raise
        output = take(sink) if sink != self._nothing else b""
        error = take(self._error) if listening else take(self._error, last=ERROR_TAIL)
        return Run(
            wall_ns=wall_ns,
            exit_code=os.waitstatus_to_exitcode(status),
            counters=counted(usage, probes, output, error),
            output=output if capture else b"",
            error=error[-ERROR_TAIL:],
            timed_out=ending.timed_out,
            stopped_for_terminal=ending.stopped_for_terminal,
            survivors=0 if any(ending) else survivors,
        )

    def _start(self, launch: Launch, probes: Sequence[Probe], output: int) -> tuple[int, int]:
        """Impose the conditions, read the probes, start the clock and the program; return both."""
        if not needs_thread(launch):
            return self._start_here(launch, probes, output)
        with ExitStack() as undo:
            impose(launch, undo)
            return self._start_here(launch, probes, output)

    def _start_here(self, launch: Launch, probes: Sequence[Probe], output: int) -> tuple[int, int]:
        """Start the program under what now holds for this thread."""
        if launch is not self._prepared.launch:  # Most runs are of the same launch as the one before.
            self._prepared = Prepared.of(launch)
        _, environment, options = self._prepared
        pairs = ((self._nothing, 0), (output, 1), (self._error, 2))
        files = [(os.POSIX_SPAWN_DUP2, file, number) for file, number in pairs]
        for probe in probes:
            probe.before()
        try:
            started_ns = time.monotonic_ns()
            pid = os.posix_spawn(launch.argv[0], launch.argv, environment, file_actions=files, **options)
            note(pid)
        except OSError as error:
            if launch.scheduler is not None and error.errno in (errno.EPERM, errno.EINVAL):
                raise ConditionRefused(POLICY, error) from error
            raise start_failure(launch.argv[0], error) from error
        return started_ns, pid

    def _sink(self, launch: Launch, captured: bool) -> int:
        """Choose where standard output goes: nowhere, into memory when it is wanted, or to a file on the disk."""
        if launch.output == "file":
            if self._disk is None:
                self._disk = appended_on_disk(self._undo)
            return self._disk
        return self._output if captured and launch.output != "null" else self._nothing

    def _abandon(self, pid: int, known: bytes) -> None:
        """End the run and everything that it started; a second Ctrl-C waits until that is done."""
        with signals_held():
            if pid:
                # It may have been reaped just before the interruption.
                with suppress(ProcessLookupError, ChildProcessError):
                    kill(pid, group=True)
                    os.waitpid(pid, 0)
            note(0)
            self._survivors.end(known)
            for file in filter(None, (self._output, self._error, self._disk)):
                take(file)


def tell_started(pid: int, launch: Launch, probes: Sequence[Probe], on_started: Callable[[int], None] | None) -> None:
    """Tell all who want to know that the program runs, and set what can only be set on it."""
    for probe in probes:
        probe.started(pid)
    if on_started is not None:
        on_started(pid)
    if needs_child(launch):
        impose_on_child(pid, launch)


def tell_ended(pid: int, probes: Sequence[Probe]) -> None:
    """Let the probes read the zombie, then what they read before; the last that read before reads first."""
    for probe in probes:
        probe.at_exit(pid)
    for probe in reversed(probes):
        probe.after()


def counted(usage: resource.struct_rusage, probes: Sequence[Probe], output: bytes, error: bytes) -> dict[str, Value]:
    """Parse what was counted around a run that has been reaped."""
    counters: dict[str, Value] = dict(zip(RUSAGE, map(float, RUSAGE_VALUES(usage)), strict=True))
    # The child has our memory until it executes the program, and keeps that mark. We read ours after the run, since
    # it never falls: read before, it could lack what the spawn itself added.
    if usage.ru_maxrss <= resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:
        del counters[MARKED]
    for probe in probes:
        if probe.reads_output:
            probe.said(output, error)
        counters |= probe.values()
    return counters


def child_subreaper() -> int:
    """Tell whether this process is a subreaper already."""
    flag = ctypes.c_int(0)
    prctl(PR_GET_CHILD_SUBREAPER, ctypes.addressof(flag))
    return flag.value


def catch_ending_signals(undo: ExitStack) -> None:
    """Let SIGTERM and SIGHUP raise SystemExit where nobody handles them; only the main thread may."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in ENDING_SIGNALS:
        if signal.getsignal(number) is signal.SIG_DFL:
            undo.callback(signal.signal, number, signal.SIG_DFL)
            signal.signal(number, exit_by_signal)


def exit_by_signal(number: int, frame: FrameType | None) -> NoReturn:
    """Leave with the exit code that a shell gives to a program ended by this signal."""
    raise SystemExit(128 + number)


@contextmanager
def signals_held() -> Iterator[None]:
    """Hold Ctrl-C and the ending signals back for a moment."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, *ENDING_SIGNALS))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
