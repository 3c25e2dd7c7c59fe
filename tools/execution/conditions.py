"""Conditions of a run that posix_spawn cannot set: put on this thread before the spawn, taken back right after."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from operator import attrgetter
from pathlib import Path

from ...knowledge.errors import VgoError
from ...layers.probes.cgroup_tree import own_groups
from .launch import REAL_TIME, SCHED_DEADLINE, Launch, RunGroup, Scheduler
from .processes import ahead_of_all
from .system_calls import (
    ADDR_NO_RANDOMIZE,
    IOPRIO_CLASS_SHIFT,
    IOPRIO_IDLE,
    PR_GET_THP_DISABLE,
    PR_GET_TIMERSLACK,
    PR_SET_THP_DISABLE,
    PR_SET_TIMERSLACK,
    READ_PERSONALITY,
    SCHED_ATTR,
    SCHED_ATTR_CALLS,
    call_number,
    checked,
    io_priority,
    libc,
    prctl,
    set_io_priority,
)

POLICY, AFFINITY, LIMIT = "scheduling policy", "CPU affinity", "limit of "
SHARE_FREED_S = 0.25
"""In which the kernel, when it is busy, gives back the share of a deadline task that has ended."""
SCHED_FLAG_RESET_ON_FORK = 1
"""Without it a deadline task may not fork."""
LIMIT_NAMES = {resource.RLIMIT_STACK: "stack", resource.RLIMIT_MEMLOCK: "locked memory"}
ON_THREAD = attrgetter(
    "affinity", "directory", "timer_slack_ns", "io_class", "fixed_layout", "thp_disable", "limits", "groups"
)
"""Conditions of a launch that are set on the calling thread."""
NOT_ON_THREAD = ON_THREAD(Launch((), {}))
"""Of a launch that asks for none."""
SPIN_GRACE_S = 5.0
"""Past the limit of its run the kernel itself ends a real-time task that has used its CPU all along."""


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
    return ON_THREAD(launch) != NOT_ON_THREAD or real_time(launch)


def real_time(launch: Launch) -> bool:
    """Tell whether it goes before every normal task, ours among them."""
    return launch.scheduler is not None and launch.scheduler.policy in REAL_TIME


def needs_child(launch: Launch) -> bool:
    """Tell whether any condition must be set on the child after the spawn."""
    return launch.nice is not None or launch.autogroup_nice is not None or launch.scheduler is not None


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
    if real_time(launch):
        undo.enter_context(ahead_of_all())  # so that nothing, the program least of all, comes before its policy is set


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


def impose_on_child(pid: int, launch: Launch, limit_s: float | None = None) -> None:
    """Set what a user could not take back here, and what glibc's posix_spawn does not know."""
    if launch.scheduler is not None:
        with asking_for(POLICY):
            if limit_s is not None and real_time(launch):
                limit_spinning(pid, limit_s + SPIN_GRACE_S)
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


def limit_spinning(pid: int, seconds: float) -> None:
    """Have the kernel end a real-time task that uses a CPU for so long without ever waiting."""
    hard = resource.prlimit(pid, resource.RLIMIT_RTTIME)[1]
    asked = int(seconds * 1e6)
    limit = asked if hard == resource.RLIM_INFINITY else min(asked, hard)
    resource.prlimit(pid, resource.RLIMIT_RTTIME, (limit, limit))


def set_policy(pid: int, asked: Scheduler) -> None:
    """Set a policy; a real-time one is not inherited, so that no child can take a CPU from its parent, or from us."""
    if asked.policy != SCHED_DEADLINE:
        alone = os.SCHED_RESET_ON_FORK if asked.policy in REAL_TIME else 0
        os.sched_setscheduler(pid, asked.policy | alone, os.sched_param(asked.priority))
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
