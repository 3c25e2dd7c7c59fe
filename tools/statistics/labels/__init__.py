"""Slow and fast: where the outcome is cut."""
