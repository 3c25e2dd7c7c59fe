"""Conditions of a run that posix_spawn cannot set: put on this thread before the spawn, taken back right after."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import resource
import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

from ...knowledge.errors import VgoError
from ...layers.probes.cgroup_tree import own_groups
from .launch import SCHED_DEADLINE, Launch, RunGroup, Scheduler

T = TypeVar("T")
POLICY, AFFINITY, LIMIT = "scheduling policy", "CPU affinity", "limit of "
PR_SET_TIMERSLACK, PR_GET_TIMERSLACK = 29, 30
PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER = 36, 37
PR_SET_THP_DISABLE, PR_GET_THP_DISABLE = 41, 42
ADDR_NO_RANDOMIZE = 0x0040000
READ_PERSONALITY = 0xFFFFFFFF
IOPRIO_WHO_PROCESS = 1
IOPRIO_CLASS_SHIFT = 13
IOPRIO_IDLE = 3
"""The class that has no levels."""
IOPRIO_CALLS = {"x86_64": (251, 252), "aarch64": (30, 31)}
"""ioprio_set and ioprio_get have no wrapper in glibc: numbers from the kernel's syscall tables."""
SCHED_ATTR_CALLS = {"x86_64": (314, 315), "aarch64": (274, 275)}
"""sched_setattr and sched_getattr."""
SCHED_ATTR = struct.Struct("=IIQiIQQQ")
"""sched_setattr(2): size, policy, flags, nice, priority, then runtime, deadline and period in nanoseconds."""
SHARE_FREED_S = 0.25
"""In which the kernel, when it is busy, gives back the share of a deadline task that has ended."""
SCHED_FLAG_RESET_ON_FORK = 1
"""Without it a deadline task may not fork."""
LIMIT_NAMES = {resource.RLIMIT_STACK: "stack", resource.RLIMIT_MEMLOCK: "locked memory"}
SPAWN_POLICIES = (os.SCHED_OTHER, os.SCHED_FIFO, os.SCHED_RR)
"""glibc's posix_spawn sets no others: batch and idle follow right after."""


class ConditionRefused(VgoError):
    """The kernel did not allow one condition of the launch."""

    def __init__(self, condition: str, error: OSError) -> None:
        """Name the condition and the kernel's reason."""
        self.condition = condition
        reason = error.strerror or str(error)
        super().__init__(f"The kernel refused to set the {condition} ({reason}): {cure(condition, error)}.")


def cure(condition: str, error: OSError) -> str:
    """Say what would make the kernel accept it."""
    if condition == POLICY and error.errno == errno.EPERM and (group := group_without_real_time()):
        return f"{group}/cpu.rt_runtime_us is 0: start it in another cpu control group, or write 950000 there"
    if condition == POLICY and error.errno == errno.EBUSY:
        return "the CPUs have no such share left for deadline tasks: ask for less, or leave it out"
    if condition == AFFINITY and error.errno == errno.EINVAL:
        return "none of those CPUs is there for it (taskset -p, cpuset, offline): allow one, or leave it out"
    if condition.startswith(LIMIT):
        return "raise the hard limit in /etc/security/limits.conf, or run with the capability SYS_RESOURCE"
    return "run as root, or leave it out"


def group_without_real_time(root: Path = Path("/")) -> Path | None:
    """Return the version 1 cpu control group of this process when it grants no real-time (RT_GROUP_SCHED)."""
    group = next(iter(own_groups(root).get("cpu", [])), None)
    granted = group / "cpu.rt_runtime_us" if group else None
    return group if granted and granted.exists() and granted.read_text().strip() == "0" else None


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
        or bool(launch.limits)
        or bool(launch.groups)
    )


def needs_child(launch: Launch) -> bool:
    """Tell whether any condition must be set on the child after the spawn."""
    return (
        launch.nice is not None
        or launch.autogroup_nice is not None
        or (launch.scheduler is not None and launch.scheduler.policy not in SPAWN_POLICIES)
    )


def await_share(launch: Launch) -> None:
    """Wait for two periods: a deadline task that has ended keeps its share of the CPUs until the end of its last."""
    if launch.scheduler is not None and launch.scheduler.policy == SCHED_DEADLINE:
        time.sleep(2 * launch.scheduler.period_ns / 1e9)


def impose(launch: Launch, undo: ExitStack) -> None:
    """Set the conditions on the calling thread, from which the child inherits them; `undo` puts each back."""
    if launch.directory is not None:
        enter_directory(launch.directory, undo)
    for limit, value in launch.limits.items():
        set_limit(limit, value, undo)
    impose_on_memory(launch, undo)
    impose_on_times(launch, undo)
    impose_on_cpus(launch, undo)


def impose_on_memory(launch: Launch, undo: ExitStack) -> None:
    """Set what the program's address space inherits."""
    if launch.fixed_layout:
        fix_layout(undo)
    if launch.thp_disable:
        # The flag lies on the memory map: the child of a vfork shares ours, and exec copies the flag to the new one.
        undo.callback(prctl, PR_SET_THP_DISABLE, prctl(PR_GET_THP_DISABLE))
        with asking_for("THP switch"):
            prctl(PR_SET_THP_DISABLE, 1)


def impose_on_times(launch: Launch, undo: ExitStack) -> None:
    """Set when timers fire and in which order requests for the disk are served."""
    if launch.timer_slack_ns is not None:
        undo.callback(prctl, PR_SET_TIMERSLACK, prctl(PR_GET_TIMERSLACK))
        with asking_for("timer slack"):
            prctl(PR_SET_TIMERSLACK, launch.timer_slack_ns)
    if launch.io_class is not None:
        undo.callback(set_io_priority, io_priority())
        with asking_for("I/O class"):
            level = 0 if launch.io_class == IOPRIO_IDLE else launch.io_level
            set_io_priority(launch.io_class << IOPRIO_CLASS_SHIFT | level)


def impose_on_cpus(launch: Launch, undo: ExitStack) -> None:
    """Set on which CPUs, and in which control groups."""
    if launch.affinity is not None or launch.groups:
        # Last, so that the move to another CPU is over before the clock starts and the rest is done there. A cpuset
        # changes the affinity of who enters it, and again of who leaves it.
        undo.callback(os.sched_setaffinity, 0, os.sched_getaffinity(0))
    for group in launch.groups:
        enter_group(group, undo)
    if launch.affinity is not None:
        with asking_for(AFFINITY):
            os.sched_setaffinity(0, launch.affinity)


def impose_on_child(pid: int, launch: Launch) -> None:
    """Set what a user could not take back here: no one but root may lower a nice value or leave the idle policy."""
    if launch.scheduler is not None and launch.scheduler.policy not in SPAWN_POLICIES:
        with asking_for(POLICY):
            set_policy(pid, launch.scheduler)
    if launch.nice is not None:
        with asking_for("nice value"):
            os.setpriority(os.PRIO_PROCESS, pid, launch.nice)
    if launch.autogroup_nice is not None:
        with asking_for("autogroup nice value"), open(f"/proc/{pid}/autogroup", "w") as autogroup:
            autogroup.write(str(launch.autogroup_nice))


def set_limit(limit: int, value: int, undo: ExitStack) -> None:
    """Set a soft limit of this process, and the hard one where it is lower; the child takes both along."""
    soft, hard = resource.getrlimit(limit)
    enough = hard == resource.RLIM_INFINITY or (value != resource.RLIM_INFINITY and value <= hard)
    with asking_for(f"{LIMIT}{LIMIT_NAMES.get(limit, limit)}"):
        try:
            resource.setrlimit(limit, (value, hard if enough else value))
        except ValueError as error:  # Python's word for EPERM here
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM)) from error
    undo.callback(resource.setrlimit, limit, (soft, hard))


def enter_group(group: RunGroup, undo: ExitStack) -> None:
    """Move into a control group, where the child is born, and back after."""
    undo.callback((group.home / group.members).write_text, "0")
    with asking_for("control group"):
        (group.folder / group.members).write_text("0")


def set_policy(pid: int, asked: Scheduler) -> None:
    """Set a policy that posix_spawn does not know."""
    if asked.policy != SCHED_DEADLINE:
        os.sched_setscheduler(pid, asked.policy, os.sched_param(asked.priority))
        return
    times = (asked.runtime_ns, asked.period_ns, asked.period_ns)
    attributes = SCHED_ATTR.pack(SCHED_ATTR.size, SCHED_DEADLINE, SCHED_FLAG_RESET_ON_FORK, 0, 0, *times)
    number, _ = call_number(SCHED_ATTR_CALLS, "The deadline policy")
    patience = time.monotonic() + SHARE_FREED_S
    # One that has ended already takes the policy, too, and its share is then given back late.
    while not has_ended(pid) and libc().syscall(number, pid, ctypes.c_char_p(attributes), 0) == -1:
        if ctypes.get_errno() != errno.EBUSY or time.monotonic() > patience:
            checked(-1)
        time.sleep(SHARE_FREED_S / 100)


def has_ended(pid: int) -> bool:
    """Tell whether a child waits to be reaped."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def deadline_of(pid: int) -> tuple[int, int]:
    """Ask for the runtime and the period of a process, in nanoseconds; 0 where its policy is another."""
    attributes = ctypes.create_string_buffer(SCHED_ATTR.size)
    _, number = call_number(SCHED_ATTR_CALLS, "The deadline policy")
    checked(libc().syscall(number, pid, attributes, SCHED_ATTR.size, 0))
    *_, runtime_ns, _, period_ns = SCHED_ATTR.unpack(attributes.raw)
    return runtime_ns, period_ns


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
    return call_number(IOPRIO_CALLS, "The I/O class")


def call_number(numbers: Mapping[str, T], what: str) -> T:
    """Pick the numbers of this machine."""
    machine = platform.machine()
    if machine not in numbers:
        raise VgoError(f"{what} cannot be set on {machine} (known: {', '.join(numbers)}): leave it out.")
    return numbers[machine]


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
