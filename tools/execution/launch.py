"""What is started: the command of the user, its program found, and the conditions under which it runs."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ...knowledge.errors import VgoError
from ...layers.schema import Value
from .environment import as_given

OnStarted = Callable[[int], None] | None
"""Called with the process of a program as soon as it runs."""
SCHED_DEADLINE = 6
"""Python's os has no name for it."""
REAL_TIME = (os.SCHED_FIFO, os.SCHED_RR, SCHED_DEADLINE)
"""Policies that go before every normal task: a program gets them for its main thread alone."""
BINFMT = Path("/proc/sys/fs/binfmt_misc")


@dataclass(frozen=True)
class Scheduler:
    """A scheduling policy of the kernel (`os.SCHED_*`) and its priority."""

    policy: int
    priority: int = 0
    runtime_ns: int = 0
    period_ns: int = 0
    """Of SCHED_DEADLINE: so much CPU time in each period."""


@dataclass(frozen=True)
class RunGroup:
    """A control group that the run is born in; it exists before and after."""

    folder: Path
    home: Path
    """Where this process is, and goes back to."""
    members: str
    """The file to which a member writes itself: `tasks` moves one thread, `cgroup.procs` the process."""
    controllers: tuple[str, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict)
    """What was set, by file."""


@dataclass(frozen=True)
class Launch:
    """One way to start the program; every field left at its default changes nothing."""

    argv: tuple[str, ...]
    """Absolute or PATH-resolved program first; no shell unless the user named one."""
    environment: Mapping[str, str] = field(default_factory=as_given)
    directory: Path | None = None
    affinity: frozenset[int] | None = None
    scheduler: Scheduler | None = None
    autogroup_nice: int | None = None
    nice: int | None = None
    timer_slack_ns: int | None = None
    fixed_layout: bool = False
    thp_disable: bool = False
    io_class: int | None = None
    """ioprio class: 1 realtime, 2 best effort, 3 idle."""
    io_level: int = 4
    """Within the class, 0 first."""
    limits: Mapping[int, int] = field(default_factory=dict)
    """Soft resource limits, by `resource.RLIMIT_*`."""
    groups: tuple[RunGroup, ...] = ()
    sync: bool = False
    """Write dirty pages back before the clock starts."""
    evict: tuple[Path, ...] = ()
    """Files dropped from the page cache before the clock starts."""
    output: Literal["", "null", "file"] = ""
    """Where standard output goes; empty: to /dev/null, or to memory when it is wanted."""
    prewarm: tuple[Path, ...] = ()
    """Files read into the page cache before the clock starts."""


@dataclass(frozen=True)
class Run:
    """What one run gave."""

    wall_ns: int
    """Monotonic time from just before posix_spawn until the program has ended."""
    exit_code: int
    """0 to 255, or minus the signal that ended it."""
    counters: Mapping[str, Value]
    """Values of the probes and of rusage, by column."""
    output: bytes = b""
    """Standard output, when it was captured; of much of it, whole lines of the beginning and of the end."""
    output_left_out: int = 0
    """Bytes between the two that were not kept."""
    error: bytes = b""
    """The last part of standard error."""
    timed_out: bool = False
    stopped_for_terminal: bool = False
    """It stopped (SIGTTIN, SIGTTOU) waiting for a terminal, and was ended."""
    stopped: bool = False
    """When its time was over it, or a process of its, stood still: a program may stop itself (SIGSTOP)."""
    survivors: int = 0
    """Processes it left behind; they were ended."""


def resolve(argv: Sequence[str], shell: bool = False) -> tuple[str, ...]:
    """Return the command with the absolute path of its program first; with `shell`, as a line for /bin/sh."""
    if not argv or not argv[0]:
        raise VgoError("No command was given: name the program to run after the options.")
    if shell:
        return ("/bin/sh", "-c", " ".join(argv))
    program = find(argv[0])
    refuse_broken(program)
    return (str(program), *argv[1:])


def find(name: str) -> Path:
    """Return the executable that a shell would start under this name."""
    if "/" in name or name in (".", ".."):
        path = Path(name).absolute()
    elif found := shutil.which(name):
        return Path(found).absolute()
    else:
        raise VgoError(not_on_path(name))
    if not path.exists():
        raise VgoError(f"There is no program {name}: check the path{words_in(name)}.")
    if path.is_dir():
        raise VgoError(f"{name} is a directory: name the program in it.")
    if not os.access(path, os.X_OK):
        raise VgoError(f"{name} is not executable: chmod +x {name}.")
    return path


def not_on_path(name: str) -> str:
    """Say why a bare name was not found, with the likeliest cure."""
    here = Path(name)
    if here.is_file() and os.access(here, os.X_OK):
        return f"The command {name} is not on PATH: did you mean ./{name}?"
    if here.is_file():
        return f"The command {name} is not on PATH, but a file of that name is here: chmod +x {name}, then ./{name}."
    return f"The command {name} is not on PATH: install it or give its path{words_in(name)}."


def words_in(name: str) -> str:
    """Add the cure for a whole command given as one quoted word."""
    return ", and leave the quotes away or ask for a shell, if this is a whole command line" if " " in name else ""


def refuse_broken(program: Path) -> None:
    """Refuse a file that the kernel could not start."""
    try:
        with program.open("rb") as file:
            start = file.read(256)
    except PermissionError:
        return  # Executable yet unreadable is allowed; then the kernel decides.
    if start.startswith(b"#!"):
        refuse_without_interpreter(program, start)
    elif not start.startswith(b"\x7fELF") and not other_formats():
        raise VgoError(no_format(program))


def refuse_without_interpreter(program: Path, start: bytes) -> None:
    """Refuse a script whose first line names an interpreter that is not there."""
    line = os.fsdecode(start.splitlines()[0][2:])
    if start.split(b"\n", 1)[0].endswith(b"\r"):
        raise VgoError(
            f"{program} has Windows line ends, so its interpreter is not found: sed -i 's/\\r$//' {program}."
        )
    words = line.split()
    if not words or not os.access(words[0], os.X_OK):
        named = words[0] if words else "none"
        raise VgoError(f"The interpreter that {program} names in its first line is missing ({named}): mend that line.")


def no_format(program: Path | str) -> str:
    """Say that the kernel knows no way to start this file."""
    return (
        f"{program} is neither a binary for this machine nor a script: put `#!/bin/sh` or the like in its first line."
    )


def other_formats() -> bool:
    """Tell whether the kernel was taught further formats (Java, Wine, another architecture)."""
    return any(entry.name not in ("register", "status") for entry in BINFMT.glob("*"))


def start_failure(program: str, error: OSError) -> VgoError:
    """Turn a failed posix_spawn into a sentence with a cure."""
    if error.errno == errno.ENOEXEC:
        return VgoError(no_format(program))
    if error.errno == errno.ENOENT and os.path.exists(program):
        return VgoError(f"{program} names an interpreter or loader that is missing: install it or mend the file.")
    if error.errno == errno.E2BIG:
        return VgoError(f"{program} was given too many arguments or too large an environment: shorten them.")
    return VgoError(f"{program} cannot be started ({error.strerror}): check that you can start it by hand.")
