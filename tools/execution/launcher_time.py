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

PAIRS, FEWEST_PAIRS = 6, 3
"""Of a batch."""
SHARE = 0.05
"""Of the budget: for one batch at most."""
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
            f"The launcher {self.launcher} itself takes {amount(self.mean_s, 's')} ({100 * self.share:.3g} % of the "
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
    """Of the mean, with half of what it moved while the program ran."""

    def beside(self, outcomes: FloatArray) -> LauncherTime | None:
        """Hold it against wall times, shape (runs,) in seconds; None where they are too few.

        The program follows the launcher, so means add up and the program's own is the difference; variances would only
        if the two did not depend on each other, so the spread is left as it is.
        """
        if outcomes.size < FEWEST_PAIRS:
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


class LauncherTimer:
    """Times `true` with the launcher of a bench and without, turn about: before the runs and once more after them.

    What takes its turn beside the runs meets the machine as they do; by how much the launcher moved from before them to
    after them is part of its error. Of a bench without a launcher, or whose outcome is no wall time, it gives nothing.
    """

    def __init__(self, bench: object, budget_s: float) -> None:
        self._bench = bench if isinstance(bench, Bench) and bench.launcher and bench.subject.metric is None else None
        self._most_s = SHARE * budget_s
        self._batches: list[FloatArray] = []

    def time(self) -> None:
        """Make one batch of pairs: fewer where they take longer than they may, none where a run fails."""
        if (bench := self._bench) is None:
            return
        direct = replace(bench.launch, argv=TRUE)
        launched = bench.way(direct).launch
        began_s, pairs = time.monotonic(), list[tuple[float, float]]()
        while len(pairs) < PAIRS and time.monotonic() - began_s < self._most_s and not bench.deadline.over:
            pair = _wall_s(bench, launched), _wall_s(bench, direct)
            if None in pair:
                return
            pairs.append(pair)  # type: ignore[arg-type]
        if len(pairs) >= FEWEST_PAIRS:
            self._batches.append(np.array(pairs))

    def alone(self) -> LauncherAlone | None:
        """Give what was found; None where there is no launcher, or there was no time for it."""
        if self._bench is None or self._bench.launcher is None or not self._batches:
            return None
        pairs = np.concatenate(self._batches)
        own = pairs[:, 0] - pairs[:, 1]
        moved = float(np.ptp([np.mean(batch[:, 0] - batch[:, 1]) for batch in self._batches]))
        return LauncherAlone(
            launcher=self._bench.launcher.layer.key,
            runs=own.size,
            mean_s=float(own.mean()),
            sd_s=float(pairs[:, 0].std(ddof=1)),
            error_s=math.hypot(float(own.std(ddof=1)) / math.sqrt(own.size), moved / 2),
        )


def _wall_s(bench: Bench, launch: Launch) -> float | None:
    """Wall time of one run; None where it fails."""
    run = bench.spawner.run(launch, timeout_s=bench.deadline.limit_s(None), on_started=bench.on_started)
    return None if run.exit_code != 0 or run.timed_out else run.wall_ns / 1e9
