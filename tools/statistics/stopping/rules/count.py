"""count: stop after a fixed number of runs, as the paper's evaluation did."""

from __future__ import annotations

from ..rule import OutcomesSoFar, Stopping, stopping


def decide(runs: OutcomesSoFar, target: float) -> Stopping:
    """Stop at `target` runs: 1,000 in the paper's figures; SHARP's own default of 1 says nothing about spread."""
    n = runs.outcomes.size
    return stopping(runs, n >= target, f"{n} of {target:g} runs")
