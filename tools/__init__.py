"""Deterministic tools that a planner can call, one a file."""
