"""The PID namespace of this process: a container has its own, with other numbers. Light: the watchdog loads it."""

from __future__ import annotations

import os

FIRST = 0xEFFFFFFC
"""Inode of the machine's own (PROC_PID_INIT_INO of the kernel)."""

NAMESPACE = 10**13
"""Clock ticks that no boot reaches: a start of a process is told with so many for each inode of its namespace."""


def told_start(ticks: str) -> int:
    """When a process of our namespace began, field 22 of its stat file, told apart from those of other namespaces."""
    return int(ticks) + pid_namespace() * NAMESPACE


def pid_namespace() -> int:
    """Its inode; 0 for the machine's own."""
    found = os.stat("/proc/self/ns/pid").st_ino
    return 0 if found == FIRST else found
