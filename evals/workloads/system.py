"""Workloads whose cause the kernel makes: input and output, limits of groups, throttling, interrupts, timers."""

from __future__ import annotations

from .workload import Workload

SYSTEM: tuple[Workload, ...] = ()
