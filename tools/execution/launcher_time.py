"""What a launcher takes by itself: timed on `true`, in the session of the runs whose wall time it is part of."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from ..amount import amount
from ..statistics.values import FiniteResult, FloatArray, IntervalEstimate
from .bench import Bench
from .launch import Launch

RUNS, FEWEST = 10, 3
SHARE = 0.05
"""Of the budget: for the launcher at most, and as much for what it is held against."""
TRUE = ("/bin/true",)
Z = 1.96
"""Of a 95 % interval."""
TOLD = 0.01
"""Of the mean: a launcher that takes less is not worth a word."""


class LauncherTime(FiniteResult):
    """The launcher alone, beside the runs through it."""

    launcher: str
    runs: int
    mean_s: float
    """Of `true` through the launcher less that of `true` without."""
    sd_s: float
    share: float
    """Of the mean of the runs."""
    runs_sd_s: float
    program_s: IntervalEstimate | None
    """Mean of the program alone, 95 %, which is a difference of means; None where that interval reaches 0."""

    @property
    def words(self) -> str:
        """What the wall time is made of; empty where the launcher hardly counts."""
        if self.share < TOLD:
            return ""
        alone = (
            f"between {amount(self.program_s.low, 's')} and {amount(self.program_s.high, 's')}"
            if self.program_s
            else "too little to be told from it"
        )
        return (
            f"The launcher {self.launcher} itself takes {amount(self.mean_s, 's')} ({100 * self.share:.2g} % of the "
            f"mean), timed on `true`, with an SD of {amount(self.sd_s, 's')} (that of the runs is "
            f"{amount(self.runs_sd_s, 's')}); the mean of the program alone is {alone}. Outcomes and spread are those "
            "of both: to judge the program alone, have it print its own time and read that with --metric."
        )

    def words_of(self, which: str) -> str:
        """The same of some of the runs."""
        return f"Of the runs {which}, {self.words[0].lower()}{self.words[1:]}" if self.words else ""


class LauncherAlone(FiniteResult):
    """The launcher without the program."""

    launcher: str
    runs: int
    mean_s: float
    """Of `true` through the launcher less that of `true` without."""
    sd_s: float
    error_s: float
    """Of the mean."""

    def beside(self, outcomes: FloatArray) -> LauncherTime | None:
        """Hold it against wall times, shape (runs,) in seconds; None where they are too few.

        The program follows the launcher, so means add up and the program's own is the difference; variances would only
        if the two did not depend on each other, so the spread is left as it is.
        """
        if outcomes.size < FEWEST:
            return None
        mean, sd = float(outcomes.mean()), float(outcomes.std(ddof=1))
        half = Z * math.hypot(self.error_s, sd / math.sqrt(outcomes.size))
        low = mean - self.mean_s - half
        return LauncherTime(
            launcher=self.launcher,
            runs=self.runs,
            mean_s=self.mean_s,
            sd_s=self.sd_s,
            share=self.mean_s / mean,
            runs_sd_s=sd,
            program_s=IntervalEstimate(low=low, high=low + 2 * half) if low > 0 else None,
        )


def launcher_alone(bench: object, budget_s: float) -> LauncherAlone | None:
    """Time the launcher of a bench that judges by wall time; None where there is none, or no time for it."""
    if not isinstance(bench, Bench) or bench.launcher is None or bench.subject.metric is not None:
        return None
    launched = _times(bench, bench.way(replace(bench.launch, argv=TRUE)).launch, SHARE * budget_s)
    direct = _times(bench, replace(bench.launch, argv=TRUE), SHARE * budget_s)
    if min(launched.size, direct.size) < FEWEST:
        return None
    return LauncherAlone(
        launcher=bench.launcher.layer.key,
        runs=launched.size,
        mean_s=float(launched.mean() - direct.mean()),
        sd_s=float(launched.std(ddof=1)),
        error_s=math.sqrt(sum(float(arm.var(ddof=1)) / arm.size for arm in (launched, direct))),
    )


def _times(bench: Bench, launch: Launch, most_s: float) -> FloatArray:
    """Wall times in seconds of a few runs; none where one fails, and fewer where they take longer than allowed."""
    began_s, taken = time.monotonic(), list[float]()
    while len(taken) < RUNS and time.monotonic() - began_s < most_s and not bench.deadline.over:
        run = bench.spawner.run(launch, timeout_s=bench.deadline.limit_s(None), on_started=bench.on_started)
        if run.exit_code != 0 or run.timed_out:
            return np.empty(0)
        taken.append(run.wall_ns / 1e9)
    return np.array(taken)
