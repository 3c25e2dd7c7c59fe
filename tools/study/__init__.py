"""Designed experiments with threads: which settings make a parallel program steady, and at what cost."""
