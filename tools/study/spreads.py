"""Each setting in numbers, and held against the environment as given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..row import BASELINE, Row
from ..statistics.comparison.compare import Comparison, compare, holm
from ..statistics.sd_interval import log_sd_interval
from ..statistics.spread import summarise
from ..statistics.values import FloatArray, Interval
from ..subject import Frozen

LEAST_RUNS = 2
LEAST_BOUNDED = 15
"""Fewer runs leave the upper end of an interval of the SD anywhere."""
AMONG_MANY = "alone it would be shown, among so many settings it is not"
COARSE, FINE = 0.005, 10_000
"""p-values of 2000 permutations below the first are computed with so many."""
TIMES = Mapping[str, FloatArray]
"""Setting to outcomes by round, NaN where a run failed or was not made; all of one length."""


class Against(Frozen):
    """A setting against the baseline, in pairs of the same round."""

    sd_ratio: float | None
    low: float | None
    high: float | None
    """95 % interval of the ratio alone; None where the rounds are too few."""
    mean_ratio: float | None
    mean_low: float | None
    mean_high: float | None
    p_value: float
    """Of a difference in spread, adjusted by Holm over all settings."""
    verdict: str
    """steadier, less steady, no difference shown, cannot tell."""
    reason: str = ""


class Spread(Frozen):
    """The runs of a setting."""

    setting: str
    runs: int
    failed: int
    mean: float | None = None
    sd: float | None = None
    sd_interval: Interval | None = None
    """95 %; None where so few or such runs say nothing."""
    cv: float | None = None
    cv_interval: Interval | None = None
    """That of the SD over the mean, whose own error is far smaller."""
    minimum: float | None = None
    """Over the mean, as the paper has it; no interval holds for an extreme, and more runs widen it."""
    maximum: float | None = None
    cpus_busy: float | None = None
    """CPU time over wall time, median."""
    against: Against | None = None


class _Pair(NamedTuple):
    name: str
    comparison: Comparison


def outcomes(rows: Sequence[Row], rounds: int | None = None) -> dict[str, FloatArray]:
    """Give the outcomes of each setting by round."""
    total = rounds or max((row["pair"] for row in rows), default=-1) + 1
    found: dict[str, FloatArray] = {}
    for row in rows:
        column = found.setdefault(row["condition"], np.full(total, np.nan))
        if row["ok"] == 1:
            column[row["pair"]] = row["outcome"]
    return found


def spreads(rows: Sequence[Row], lower_is_better: bool, alpha: float, seed: int) -> tuple[Spread, ...]:
    """Describe every setting and judge each against the baseline; p-values are adjusted over the settings."""
    times = outcomes(rows)
    judged = _judged(times, lower_is_better, alpha, seed)
    return tuple(
        _described(name, [row for row in rows if row["condition"] == name], judged.get(name)) for name in times
    )


def paired(times: TIMES, first: str, second: str) -> tuple[FloatArray, FloatArray]:
    """Give the outcomes of two settings in the rounds in which both count."""
    both = np.isfinite(times[first]) & np.isfinite(times[second])
    return times[first][both], times[second][both]


def _judged(times: TIMES, lower_is_better: bool, alpha: float, seed: int) -> dict[str, Against]:
    pairs = []
    for name in times:
        if name == BASELINE or BASELINE not in times:
            continue
        x, y = paired(times, BASELINE, name)
        if x.size >= LEAST_RUNS:
            pairs.append(_Pair(name, compared(x, y, lower_is_better, alpha, seed)))
    adjusted = holm([pair.comparison.p_value for pair in pairs]) if pairs else ()
    return {pair.name: against(pair.comparison, p, alpha) for pair, p in zip(pairs, adjusted, strict=True)}


def compared(x: FloatArray, y: FloatArray, lower_is_better: bool, alpha: float, seed: int) -> Comparison:
    """Compare pairs; a small p-value is computed again with finer steps, since it must stand among many settings."""
    made = compare(x, y, paired=True, lower_is_better=lower_is_better, seed=seed, alpha=alpha)
    if made.p_value > COARSE:
        return made
    return compare(x, y, paired=True, lower_is_better=lower_is_better, seed=seed, alpha=alpha, resamples=FINE)


def against(found: Comparison, adjusted: float, alpha: float) -> Against:
    """Keep of a comparison what a study tells; what is claimed must stand after the adjustment."""
    sd, mean = found.ratio("sd"), found.ratio("mean")
    verdict, reason = str(found.verdict), found.reason
    if verdict in ("steadier", "less steady") and adjusted >= alpha:
        verdict, reason = "no difference shown", AMONG_MANY
    return Against(
        sd_ratio=sd.value,
        low=sd.low,
        high=sd.high,
        mean_ratio=mean.value,
        mean_low=mean.low,
        mean_high=mean.high,
        p_value=adjusted,
        verdict=verdict,
        reason=reason,
    )


def _described(name: str, rows: Sequence[Row], judged: Against | None) -> Spread:
    values = np.array([row["outcome"] for row in rows if row["ok"] == 1], dtype=np.float64)
    counts = Spread(setting=name, runs=values.size, failed=len(rows) - values.size, against=judged)
    if values.size < LEAST_RUNS:
        return counts
    found = summarise(values)
    sd_interval = log_sd_interval(values) if values.size >= LEAST_BOUNDED else None
    over = abs(found.mean) or None
    return counts.model_copy(
        update={
            "mean": found.mean,
            "sd": found.sd,
            "sd_interval": sd_interval,
            "cv": found.cv,
            "cv_interval": Interval(low=sd_interval.low / over, high=sd_interval.high / over)
            if sd_interval and over
            else None,
            "minimum": found.minimum / found.mean if over else None,
            "maximum": found.maximum / found.mean if over else None,
            "cpus_busy": _busy(rows),
        }
    )


def _busy(rows: Sequence[Row]) -> float | None:
    shares = [
        (row["user_s"] + row["system_s"]) / row["wall_s"]
        for row in rows
        if row["ok"] == 1 and row["wall_s"] and {"user_s", "system_s"} <= row.keys()
    ]
    return float(np.median(shares)) if shares else None
