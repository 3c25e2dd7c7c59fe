"""States of a run's time in words that fit after a number of milliseconds."""

from __future__ import annotations

STATES = {
    "user": "on a CPU, in the program",
    "system": "on a CPU, in system calls",
    "page_fault": "on a CPU, in page faults",
    "interrupt": "on a CPU, in interrupts",
    "on_cpu": "on a CPU",
    "peer_on_cpu": "waiting for another program that ran",
    "queue_own": "ready, behind its own threads",
    "queue_others": "ready, behind other programs",
    "queue_nobody": "ready, while nobody had the CPU",
    "throttled": "ready, held back by a CPU quota",
    "blocked": "blocked",
    "disk": "waiting for a disk",
    "write_throttle": "held back from writing",
    "reclaim": "looking for free memory",
    "lock": "waiting for a lock",
    "file_lock": "waiting for a lock of a file",
    "kernel_lock": "waiting for a lock of the kernel",
    "pipe": "waiting for a pipe",
    "socket": "waiting for a socket",
    "poll": "waiting in poll, select or epoll",
    "child": "waiting for a child",
    "sleep": "asleep by a timer",
    "cpu_move": "being moved to another CPU",
    "signal": "waiting for a signal",
    "start_and_end": "before it began and after it ended",
    "unseen": "not seen",
}
