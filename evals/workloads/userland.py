"""Workloads whose cause lies in the program or beside it: memory, locks, threads, neighbours; two causes at once."""

from __future__ import annotations

from .workload import Workload

USERLAND: tuple[Workload, ...] = ()
