"""Rows that are samples of runs: which run each row is of, and what is left of values within runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from ..execution.samples import ITERATION, RUN
from ..statistics.values import FloatArray, IntArray

__all__ = ["ITERATION", "of_runs", "runs_of", "sample_notes", "within"]

_KEY = ("call", RUN)
"""Runs are counted within a call; a table that measured once may lack the first."""


def runs_of(frame: pl.DataFrame) -> IntArray:
    """Number the run that each row is a sample of, shape (rows,); where rows are runs, each has its own."""
    if RUN not in frame.columns:
        return np.arange(frame.height)
    key = [name for name in _KEY if name in frame.columns]
    numbers: IntArray = frame.select(pl.struct(key).rank("dense")).to_series().to_numpy().astype(np.int64)
    return numbers


def of_runs(runs: IntArray) -> int:
    """Say how many runs the rows are samples of; 0 where each row is a run of its own."""
    number = len(np.unique(runs))
    return number if number < len(runs) else 0


def within(values: FloatArray, runs: IntArray) -> FloatArray:
    """Take out what all samples of a run share: its median, the overall one put in its place; shape (rows,).

    What differs between whole runs is one piece of evidence a run, not one a sample: left in, any column with a level
    of its own in each run, such as a temperature, looks like a cause.
    """
    value = pl.col("value")
    table = pl.DataFrame({"value": values, "run": runs})
    left = table.select(value - value.median().over("run") + value.median())
    moved: FloatArray = left.to_series().to_numpy(writable=True)
    return moved


def sample_notes(outcome: FloatArray, runs: IntArray) -> Iterator[str]:
    """Say what was taken out of an outcome, `outcome` being as it was."""
    number = of_runs(runs)
    if number == 1:
        yield "Rows are samples of 1 run: nothing here says what differs between runs."
    elif number:
        variance = float(outcome.var())
        share = max(0.0, 1 - float(within(outcome, runs).var()) / variance) if variance else 0.0
        yield (
            f"Rows are samples of {number} runs: what differs between whole runs was taken out "
            f"({share:.0%} of the variance)."
        )
