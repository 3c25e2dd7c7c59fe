"""What is right to say of a program that does not vary itself."""

from __future__ import annotations

STILL = ("steady", "cause not visible")
"""Right where nothing is put in that varies: the second where the machine adds more than needs no reduction."""
INTERFERENCE = ("run_queue_wait", "other_processes", "context_switches", "interrupts", "cpu_steal")
"""Factors by which a machine makes a program vary that does not vary itself."""
SHIELDS = ("sched_fifo", "sched_rr", "own_autogroup")
"""Mitigations that can keep that off the program."""
