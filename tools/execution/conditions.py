"""Conditions of a run that posix_spawn cannot set: put on this thread before the spawn, taken back right after."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ...knowledge.errors import VgoError
from .launch import Launch

PR_SET_TIMERSLACK, PR_GET_TIMERSLACK = 29, 30
PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER = 36, 37
PR_SET_THP_DISABLE, PR_GET_THP_DISABLE = 41, 42
ADDR_NO_RANDOMIZE = 0x0040000
READ_PERSONALITY = 0xFFFFFFFF
IOPRIO_WHO_PROCESS = 1
IOPRIO_CLASS_SHIFT = 13
IOPRIO_LEVEL = {1: 4, 2: 4, 3: 0}
"""The middle level of each class, as `ionice` takes; class idle has none."""
IOPRIO_CALLS = {"x86_64": (251, 252), "aarch64": (30, 31)}
"""ioprio_set and ioprio_get have no wrapper in glibc: numbers from the kernel's syscall tables."""
SPAWN_POLICIES = (os.SCHED_OTHER, os.SCHED_FIFO, os.SCHED_RR)
"""glibc's posix_spawn sets no others: batch and idle follow right after."""


class ConditionRefused(VgoError):
    """The kernel did not allow one condition of the launch."""

    def __init__(self, condition: str, error: OSError) -> None:
        """Name the condition and the kernel's reason."""
        self.condition = condition
        reason = error.strerror or str(error)
        super().__init__(f"The kernel refused to set the {condition} ({reason}): run as root, or leave it out.")


@contextmanager
def asking_for(condition: str) -> Iterator[None]:
    """Turn the kernel's refusal into one that names the condition."""
    try:
        yield
    except OSError as error:
        raise ConditionRefused(condition, error) from error


def needs_thread(launch: Launch) -> bool:
    """Tell whether any condition must be set on the calling thread."""
    return (
        launch.affinity is not None
        or launch.directory is not None
        or launch.timer_slack_ns is not None
        or launch.io_class is not None
        or launch.fixed_layout
        or launch.thp_disable
    )


def needs_child(launch: Launch) -> bool:
    """Tell whether any condition must be set on the child after the spawn."""
    return (
        launch.nice is not None
        or launch.autogroup_nice is not None
        or (launch.scheduler is not None and launch.scheduler.policy not in SPAWN_POLICIES)
    )


def impose(launch: Launch, undo: ExitStack) -> None:
    """Set the conditions on the calling thread, from which the child inherits them; `undo` puts each back."""
    if launch.directory is not None:
        enter_directory(launch.directory, undo)
    if launch.fixed_layout:
        fix_layout(undo)
    if launch.thp_disable:
        # The flag lies on the memory map: the child of a vfork shares ours, and exec copies the flag to the new one.
        undo.callback(prctl, PR_SET_THP_DISABLE, prctl(PR_GET_THP_DISABLE))
        with asking_for("THP switch"):
            prctl(PR_SET_THP_DISABLE, 1)
    if launch.timer_slack_ns is not None:
        undo.callback(prctl, PR_SET_TIMERSLACK, prctl(PR_GET_TIMERSLACK))
        with asking_for("timer slack"):
            prctl(PR_SET_TIMERSLACK, launch.timer_slack_ns)
    if launch.io_class is not None:
        undo.callback(set_io_priority, io_priority())
        with asking_for("I/O class"):
            set_io_priority(launch.io_class << IOPRIO_CLASS_SHIFT | IOPRIO_LEVEL.get(launch.io_class, 0))
    if launch.affinity is not None:
        # Last, so that the move to another CPU is over before the clock starts and the rest is done there.
        undo.callback(os.sched_setaffinity, 0, os.sched_getaffinity(0))
        with asking_for("CPU affinity"):
            os.sched_setaffinity(0, launch.affinity)


def impose_on_child(pid: int, launch: Launch) -> None:
    """Set what a user could not take back here: no one but root may lower a nice value or leave the idle policy."""
    if launch.scheduler is not None and launch.scheduler.policy not in SPAWN_POLICIES:
        with asking_for("scheduling policy"):
            os.sched_setscheduler(pid, launch.scheduler.policy, os.sched_param(launch.scheduler.priority))
    if launch.nice is not None:
        with asking_for("nice value"):
            os.setpriority(os.PRIO_PROCESS, pid, launch.nice)
    if launch.autogroup_nice is not None:
        with asking_for("autogroup nice value"), open(f"/proc/{pid}/autogroup", "w") as autogroup:
            autogroup.write(str(launch.autogroup_nice))


def prewarm(files: tuple[Path, ...]) -> None:
    """Read the files into the page cache; /dev/null takes them without a copy."""
    with open(os.devnull, "wb", buffering=0) as nowhere:
        for file in files:
            try:
                with open(file, "rb", buffering=0) as source:
                    left = os.fstat(source.fileno()).st_size
                    os.posix_fadvise(source.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)
                    while left > 0 and (sent := os.sendfile(nowhere.fileno(), source.fileno(), None, left)):
                        left -= sent
            except OSError as error:
                raise VgoError(f"The input file {file} cannot be read ({error.strerror}): mend or drop it.") from error


def enter_directory(directory: Path, undo: ExitStack) -> None:
    """Change the directory of the whole process for the moment of the spawn (Python's posix_spawn cannot)."""
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    undo.callback(os.close, here)
    try:
        os.chdir(directory)
    except OSError as error:
        raise VgoError(f"The directory {directory} cannot be entered ({error.strerror}): name another.") from error
    undo.callback(os.fchdir, here)


def fix_layout(undo: ExitStack) -> None:
    """Switch address-space randomisation off, as `setarch -R` does."""
    before = checked(libc().personality(ctypes.c_ulong(READ_PERSONALITY)))
    undo.callback(libc().personality, ctypes.c_ulong(before))
    with asking_for("fixed address layout"):
        checked(libc().personality(ctypes.c_ulong(before | ADDR_NO_RANDOMIZE)))


def io_priority() -> int:
    """Return the I/O priority of the calling thread, class and level in one number."""
    return checked(libc().syscall(io_priority_calls()[1], IOPRIO_WHO_PROCESS, 0))


def set_io_priority(priority: int) -> None:
    """Set the I/O priority of the calling thread."""
    checked(libc().syscall(io_priority_calls()[0], IOPRIO_WHO_PROCESS, 0, priority))


def io_priority_calls() -> tuple[int, int]:
    """Return the numbers of ioprio_set and ioprio_get on this machine."""
    machine = platform.machine()
    if machine not in IOPRIO_CALLS:
        known = ", ".join(IOPRIO_CALLS)
        raise VgoError(f"The I/O class cannot be set on {machine} (known: {known}): leave it out.")
    return IOPRIO_CALLS[machine]


def prctl(option: int, value: int = 0) -> int:
    """Call prctl with one argument; the kernel wants zeros in the rest."""
    zero = ctypes.c_ulong(0)
    return checked(libc().prctl(option, ctypes.c_ulong(value), zero, zero, zero))


def checked(result: int) -> int:
    """Raise OSError when a C call returned -1."""
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


@functools.cache
def libc() -> ctypes.CDLL:
    """Return the C library of this process."""
    return ctypes.CDLL(None, use_errno=True)
