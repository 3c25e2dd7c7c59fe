"""duration: stop after a fixed time of the program."""

from __future__ import annotations

from ..rule import OutcomesSoFar, Stopping, stopping


def decide(runs: OutcomesSoFar, target: float) -> Stopping:
    """Stop when the program has run for `target` seconds (SHARP: one minute), our own time not counted."""
    return stopping(runs, runs.spent_s >= target, f"{runs.spent_s:.3g} of {target:g} s of the program")
