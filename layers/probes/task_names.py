"""What the tasks of a run are called: the same in every run, and told apart where several have one name."""

from __future__ import annotations

import functools
import os
import re
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from .sched_events import SchedTrace
from .timeline import Timelines

INTERPRETER = re.compile(r"(python|perl|ruby|node|php|Rscript|lua|julia|java|tclsh|bash|dash|sh)[\d.]*$")
WITH_VALUE = frozenset(("-W", "-X", "-I", "-O", "-o", "-p", "-r", "--require", "-cp", "-classpath", "--class-path"))
"""Options of interpreters whose value is the next word."""
CODE = re.compile("-[A-Za-z]*[ce]$|--eval$")
"""Options that are followed by the program itself."""
STAND_INS = re.compile(r"(exe|\d+|memfd:.*)$")
"""What the kernel calls a program that was started from /proc/self/exe, or by an open file."""
BEGAN = 19
"""Of the words behind the name in /proc/PID/stat: when a process began, in ticks since the start of the machine."""
KERNEL_WORKER = re.compile("kworker/.*")


class TaskNames:
    """Names of the tasks of one run."""

    def __init__(self, trace: SchedTrace, timelines: Timelines, commands: Mapping[int, tuple[str, ...]]) -> None:
        """`commands`: the command lines of the program's processes that were seen."""
        self._trace, self._timelines, self._commands = trace, timelines, commands
        self._outside = defaultdict[str, set[int]](set)
        self.label = functools.cache(self._label)

    def name(self, task: int) -> str:
        """The name alone, with its script if it is an interpreter of another one than the program's."""
        process, name = self._process(task), KERNEL_WORKER.sub("kworker", self._trace.name(task))
        if process == os.getpid():
            return "vgo-agent (this one)"
        command = self._command(task) or ()
        if command and STAND_INS.match(name):
            name = Path(command[0]).name
        own = self._commands.get(self._process(self._timelines.root), ())
        script = script_of(command) if INTERPRETER.match(name) and command != own else ""
        return f"{name} {script}" if script else name

    def numbers(self) -> dict[str, int]:
        """The process numbers of other programs that were named, by their names, where each is that of one process."""
        return {label: min(those) for label, those in self._outside.items() if len(those) == 1}

    def _label(self, task: int) -> str:
        """The name and what the task is to the program; `nobody` for 0."""
        if not task:
            return "nobody"
        name, process = self.name(task), self._process(task)
        if task in self._timelines.tree:
            own = process == self._process(self._timelines.root)
            return name if task == self._timelines.root else f"{name} ({'thread' if own else 'child'})"
        command = self._command(task)
        if process == os.getpid() or command == () or name == "kworker":
            return name  # a task of the kernel has no command line
        if task < 0:
            return f"{name} (outside of our PID namespace)"
        label = f"{name} (another program)"
        if command is not None:
            self._outside[label].add(process)
        return label

    def _process(self, task: int) -> int:
        return self._timelines.processes.get(task, task)

    def _command(self, task: int) -> tuple[str, ...] | None:
        """The command line of a task; None where it has ended, and nobody had looked at it."""
        process = self._process(task)
        if process in self._commands or task in self._timelines.tree:
            return self._commands.get(process)
        with suppress(OSError):
            if self._lives(task, process):
                return words_of(Path(f"/proc/{process}/cmdline").read_bytes())
        return None

    def _lives(self, task: int, process: int) -> bool:
        """Tell whether the process of a task still has its number and name, even if the task itself has ended."""
        called = Path(f"/proc/{process}/comm").read_text().rstrip("\n")
        if process in self._trace.names and called != self._trace.name(process):
            return False
        began = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[BEGAN])
        asleep_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        began_ns = began * 1_000_000_000 // os.sysconf("SC_CLK_TCK") - asleep_ns
        return began_ns <= self._trace.names.get(task, (0, b""))[0]


def words_of(command: bytes) -> tuple[str, ...]:
    """The words of a /proc/PID/cmdline."""
    return tuple(word.decode(errors="replace") for word in command.split(b"\0")[:-1])


def script_of(command: tuple[str, ...]) -> str:
    """The script that the command line of an interpreter names, without its folder; empty where it names none."""
    words = iter(command[1:])
    for word in words:
        if CODE.match(word):
            return ""
        if word in WITH_VALUE:
            next(words, "")
        elif not word.startswith("-"):
            return Path(word).name
    return ""
