"""Workloads whose cause of variability is known."""
