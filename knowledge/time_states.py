"""Where the time of a run can go: states that add up to it."""

from __future__ import annotations

from enum import StrEnum


class TimeState(StrEnum):
    """A state of the time of one run; each is told in words by the layers `ledger` and `stacks`."""

    ON_CPU = "on_cpu"
    USER = "user"
    SYSTEM = "system"
    PAGE_FAULT = "page_fault"
    INTERRUPT = "interrupt"
    PEER_ON_CPU = "peer_on_cpu"
    QUEUE_OWN = "queue_own"
    QUEUE_OTHERS = "queue_others"
    QUEUE_NOBODY = "queue_nobody"
    THROTTLED = "throttled"
    STOLEN = "stolen"
    BLOCKED = "blocked"
    DISK = "disk"
    WRITE_THROTTLE = "write_throttle"
    RECLAIM = "reclaim"
    LOCK = "lock"
    FILE_LOCK = "file_lock"
    KERNEL_LOCK = "kernel_lock"
    PIPE = "pipe"
    SOCKET = "socket"
    POLL = "poll"
    CHILD = "child"
    SLEEP = "sleep"
    TIMER_LATE = "timer_late"
    CPU_MOVE = "cpu_move"
    SIGNAL = "signal"
    QUEUE = "queue"
    OFF_CPU = "off_cpu"
    UNDIVIDED = "undivided"
    START_AND_END = "start_and_end"
    UNSEEN = "unseen"


ON_CPU_KINDS = (TimeState.USER, TimeState.SYSTEM, TimeState.PAGE_FAULT, TimeState.INTERRUPT)
"""What time on a CPU is divided into where it is sampled."""
WAITS = (
    *(TimeState.DISK, TimeState.WRITE_THROTTLE, TimeState.RECLAIM, TimeState.LOCK, TimeState.FILE_LOCK),
    *(TimeState.KERNEL_LOCK, TimeState.PIPE, TimeState.SOCKET, TimeState.POLL, TimeState.CHILD, TimeState.SLEEP),
    *(TimeState.TIMER_LATE, TimeState.CPU_MOVE, TimeState.SIGNAL),
)
"""What time blocked is divided into where stacks are kept."""
QUEUES = (TimeState.QUEUE_OWN, TimeState.QUEUE_OTHERS, TimeState.QUEUE_NOBODY, TimeState.THROTTLED)
"""What time ready, without a CPU, is divided into where the whole machine is seen."""
OTHERS = (TimeState.QUEUE_OTHERS, TimeState.STOLEN)
"""What other programs, and the host of a virtual machine, take of the CPUs: known of each run."""
WHOLES = frozenset({TimeState.ON_CPU, TimeState.QUEUE, TimeState.OFF_CPU, TimeState.UNDIVIDED, TimeState.UNSEEN})
"""States that others are booked under where these cannot be told apart; nothing acts on them as such."""
MEASURED = tuple(state for state in TimeState if state not in ON_CPU_KINDS)
"""States that the scheduler's events tell, without samples."""


def measured_as(state: TimeState) -> frozenset[TimeState]:
    """The states that time of this one may be booked under: undivided, where less than the whole machine is seen."""
    if state in ON_CPU_KINDS:
        return frozenset({state, TimeState.ON_CPU, TimeState.UNDIVIDED})
    if state in WHOLES:
        return frozenset({state})
    if state is TimeState.STOLEN:  # what the kernel counts as on a CPU has it, or has not
        return frozenset({state, TimeState.ON_CPU, TimeState.OFF_CPU, TimeState.UNDIVIDED})
    part_of = {TimeState.QUEUE} if state in QUEUES else {TimeState.BLOCKED} if state in WAITS else set()
    return frozenset({state, TimeState.OFF_CPU, TimeState.UNDIVIDED} | part_of)
