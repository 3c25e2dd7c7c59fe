"""Start one run, time it, read its counters from the zombie, end whatever it left, put every setting back."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import partial
from operator import attrgetter
from types import TracebackType
from typing import Any, NamedTuple, Self

from ...knowledge.errors import VgoError
from ...layers.probes.base import Probe
from ...layers.schema import Value
from ..ending_signals import held
from ..mitigation.journal import journal_folder
from ..mitigation.owned_folder import this_process
from ..mitigation.restore import DEAF_TO, stand_by
from .capture import ERROR_TAIL, KEPT, Taken, appended_memory, appended_on_disk, take, thin
from .conditions import ConditionRefused as ConditionRefused
from .conditions import await_share, impose, impose_on_child, needs_child, needs_thread
from .launch import Launch, OnStarted, Run, start_failure
from .launch import resolve as resolve
from .processes import note, note_orphans, output_name, wait
from .survivors import Survivors
from .system_calls import PR_GET_CHILD_SUBREAPER, PR_SET_CHILD_SUBREAPER, prctl, prepare_files

DEFAULT_SIGNALS = (*DEAF_TO, signal.SIGXFSZ, signal.SIGCHLD)
"""Python ignores some of these, a terminal or nohup others: the program starts with none ignored."""
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
        """Encode the environment; ask for a process group or session of its own, and for fresh signals."""
        environment = {os.fsencode(name): os.fsencode(value) for name, value in launch.environment.items()}
        options: dict[str, Any] = {"setsigmask": (), "setsigdef": DEFAULT_SIGNALS}
        if launch.autogroup_nice is None:
            options["setpgroup"] = 0
        else:
            options["setsid"] = True  # Each session is one autogroup; it leads a process group too.
        return cls(launch, environment, options)


class Spawner:
    """Starts runs one after another from one thread; opened once for all runs of a session."""

    over = False
    """It knows of no budget."""

    def __init__(self) -> None:
        """Open the files that every run uses, have a watchdog, and become the process that inherits orphans."""
        stand_by(journal_folder())
        self.spent_ns = 0
        with ExitStack() as undo:
            self._nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            undo.callback(os.close, self._nothing)
            name = output_name(*this_process())
            self._output = appended_memory(name, undo)
            self._error = appended_memory(name, undo)
            self._survivors = Survivors()
            undo.callback(self._survivors.close)
            undo.callback(prctl, PR_SET_CHILD_SUBREAPER, child_subreaper())
            prctl(PR_SET_CHILD_SUBREAPER, 1)
            self._undo = undo.pop_all()
        self._prepared = Prepared(None, {}, {})
        self._disk: int | None = None
        self._pid = 0

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
        """Put the reaper of orphans back and close the files."""
        self._undo.close()

    def run(
        self,
        launch: Launch,
        probes: Sequence[Probe] = (),
        timeout_s: float | None = None,
        capture: bool = False,
        on_started: OnStarted = None,
    ) -> Run:
        """Run the program once to its end, or to its limit; survivors of a run that was cut short are not counted."""
        prepare_files(launch)
        await_share(launch)
        for probe in probes:
            probe.rest()
        known = self._survivors.children()
        listening = any(probe.reads_output for probe in probes)
        captured = capture or listening
        try:
            sink = self._sink(launch, captured)
            of_error = (KEPT, KEPT) if listening else (0, ERROR_TAIL)
            started_ns = self._start(launch, probes, sink, timeout_s)
            pid = self._pid
            tell_started(pid, probes, on_started)
            ending = wait(
                pid,
                None if timeout_s is None else started_ns / 1e9 + timeout_s,
                partial(self._survivors.end, known, pid, launch.groups),
                partial(self._look, known, sink, of_error),
            )
            ended_ns = time.monotonic_ns()
            started_ns = max(started_ns, *(probe.held_until_ns for probe in probes), 0)
            wall_ns = ended_ns - started_ns
            self.spent_ns += wall_ns
            tell_ended(pid, probes, (started_ns, ended_ns))
            _, status, usage = os.wait4(pid, 0)
            self._pid = 0
            # After the reaping, when the list of children is as it was before: the cheapest to compare.
            survivors = self._survivors.end(known)
            note(0)
        except BaseException as error:
            self._abandon(known, launch, error)
            raise
        output = take(sink) if sink != self._nothing else Taken(b"")
        said = take(self._error, *of_error).content
        return Run(
            wall_ns=wall_ns,
            exit_code=os.waitstatus_to_exitcode(status),
            counters=counted(usage, probes, output.content, said),
            output=output.content if capture else b"",
            output_left_out=output.left_out,
            error=said[-ERROR_TAIL:],
            timed_out=ending.timed_out,
            stopped_for_terminal=ending.stopped_for_terminal,
            stopped=ending.stopped,
            survivors=0 if any(ending) else survivors,
        )

    def _start(self, launch: Launch, probes: Sequence[Probe], output: int, limit_s: float | None) -> int:
        """Impose the conditions, read the probes, start the clock and the program; return when."""
        if not needs_thread(launch):
            return self._start_here(launch, probes, output, limit_s)
        with ExitStack() as undo:
            impose(launch, undo)
            return self._start_here(launch, probes, output, limit_s)

    def _start_here(self, launch: Launch, probes: Sequence[Probe], output: int, limit_s: float | None) -> int:
        """Start the program under what now holds for this thread, and set what can only be set on it."""
        if launch is not self._prepared.launch:  # Most runs are of the same launch as the one before.
            self._prepared = Prepared.of(launch)
        _, environment, options = self._prepared
        pairs = ((self._nothing, 0), (output, 1), (self._error, 2))
        files = [(os.POSIX_SPAWN_DUP2, file, number) for file, number in pairs]
        for probe in probes:
            probe.before()
        try:
            started_ns = time.monotonic_ns()
            self._pid = pid = os.posix_spawn(launch.argv[0], launch.argv, environment, file_actions=files, **options)
        except OSError as error:
            raise start_failure(launch.argv[0], error) from error
        note(pid, 0 if limit_s is None else started_ns + int(limit_s * 1e9))
        if needs_child(launch):
            impose_on_child(pid, launch, limit_s)
        return started_ns

    def _sink(self, launch: Launch, captured: bool) -> int:
        """Choose where standard output goes: nowhere, into memory when it is wanted, or to a file on the disk."""
        if launch.output == "file":
            if self._disk is None:
                self._disk = appended_on_disk(self._undo)
            return self._disk
        return self._output if captured and launch.output != "null" else self._nothing

    def _look(self, known: bytes, output: int, of_error: tuple[int, int]) -> None:
        """Now and then: keep a bounded part of what the program prints, and reap the orphans that have ended."""
        thin(self._error, *of_error)
        if output == self._output:
            thin(output)
        if orphans := self._survivors.orphans(known, self._pid):
            note_orphans(orphans)

    def _abandon(self, known: bytes, launch: Launch, error: BaseException) -> None:
        """End the run and everything that it started, whatever signal comes meanwhile."""
        with held():
            try:
                self._survivors.end(known, self._pid, launch.groups)
            except VgoError as left:
                error.add_note(str(left))
            if self._pid:
                with suppress(ChildProcessError):  # It may have been reaped just before the interruption.
                    os.waitpid(self._pid, os.WNOHANG)
                self._pid = 0
            note(0)
            for file in filter(None, (self._output, self._error, self._disk)):
                os.ftruncate(file, 0)


def tell_started(pid: int, probes: Sequence[Probe], on_started: OnStarted) -> None:
    """Tell all who want to know that the program runs."""
    for probe in probes:
        probe.started(pid)
    if on_started is not None:
        on_started(pid)


def tell_ended(pid: int, probes: Sequence[Probe], window_ns: tuple[int, int]) -> None:
    """Let the probes read the zombie, then what they read before; the last that read before reads first."""
    for probe in probes:
        probe.timed(*window_ns)
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
        probe.used(round(1e9 * (usage.ru_utime + usage.ru_stime)))
        if probe.reads_output:
            probe.said(output, error)
        counters |= probe.values()
    return counters


def child_subreaper() -> int:
    """Tell whether this process is a subreaper already."""
    flag = ctypes.c_int(0)
    prctl(PR_GET_CHILD_SUBREAPER, ctypes.addressof(flag))
    return flag.value
