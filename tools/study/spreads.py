"""Each setting in numbers, held against the environment as given, and the price of the one that is recommended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ...knowledge.shape import Frozen
from ..claim import Arms, Claim, Direction, TooFew, claims, interval, word
from ..comparison import direction
from ..row import BASELINE, Row
from ..statistics.spread import LEAST_EFFECTIVE, log_sd_interval, summarise
from ..statistics.values import FloatArray, IntervalEstimate
from ..sweep.where import condition
from .design import LIMIT_NAMES, LIMITED, StudyDesign
from .setting import StudySetting

MEASURES: tuple[Literal["spread", "cv", "mean"], ...] = ("spread", "cv", "mean")
TIMES = Mapping[str, FloatArray]
"""Setting to outcomes by round, NaN where a run failed or was not made; all of one length."""
LIMIT = "mean<=1.05*best"
"""The paper's "no significant loss of performance", for a user who asks for it."""


class Against(Frozen):
    """A setting against another one, in pairs of the same round: a claim of each measure, or why there is none."""

    spread: Claim | TooFew
    """Which decides."""
    cv: Claim | TooFew
    mean: Claim | TooFew
    alpha: float
    """Of the family."""

    @property
    def direction(self) -> Direction:
        """What the claim of the spread says."""
        return direction(self.spread)

    @property
    def hidden(self) -> bool:
        """Alone it would be shown to differ, among so many settings it is not."""
        one = self.spread
        return isinstance(one, Claim) and one.direction in ("equivalent", "undecided") and one.p_value <= self.alpha


class Spread(Frozen):
    """The runs of a setting."""

    setting: str
    runs: int
    failed: int
    mean: float | None = None
    sd: float | None = None
    sd_interval: IntervalEstimate | None = None
    """95 %; None where so few or such runs say nothing."""
    cv: float | None = None
    cv_interval: IntervalEstimate | None = None
    """That of the SD over the mean, whose own error is far smaller."""
    minimum: float | None = None
    """Over the mean, as the paper has it; no interval holds for an extreme, and more runs widen it."""
    maximum: float | None = None
    cpus_busy: float | None = None
    """CPU time over wall time, median."""
    against: Against | None = None


def outcomes(rows: Sequence[Row], rounds: int | None = None) -> dict[str, FloatArray]:
    """Give the outcomes of each setting by round."""
    total = rounds or max((row["pair"] for row in rows), default=-1) + 1
    found: dict[str, FloatArray] = {}
    for row in rows:
        column = found.setdefault(row["condition"], np.full(total, np.nan))
        if row["ok"] == 1:
            column[row["pair"]] = row["outcome"]
    return found


def spreads(rows: Sequence[Row], alpha: float, seed: int) -> tuple[Spread, ...]:
    """Describe every setting and judge each against the baseline; all together are one family."""
    times = outcomes(rows)
    judged = held_against(BASELINE, list(times), times, alpha, seed)
    return tuple(
        _described(name, [row for row in rows if row["condition"] == name], judged.get(name)) for name in times
    )


def held_against(first: str, others: Sequence[str], times: TIMES, alpha: float, seed: int = 1) -> dict[str, Against]:
    """Judge settings against the first one, in the rounds in which both count; one family for each measure."""
    if first not in times:
        return {}
    arms = {name: Arms(*paired(times, first, name)) for name in others if name != first}
    arms = {name: one for name, one in arms.items() if one.baseline.size > 1}
    spread, cv, mean = (claims(arms, measure, alpha=alpha, seed=seed) for measure in MEASURES)
    return {name: Against(spread=spread[name], cv=cv[name], mean=mean[name], alpha=alpha) for name in arms}


def paired(times: TIMES, first: str, second: str) -> tuple[FloatArray, FloatArray]:
    """Give the outcomes of two settings in the rounds in which both count."""
    both = np.isfinite(times[first]) & np.isfinite(times[second])
    return times[first][both], times[second][both]


def _described(name: str, rows: Sequence[Row], judged: Against | None) -> Spread:
    values = np.array([row["outcome"] for row in rows if row["ok"] == 1], dtype=np.float64)
    counts = Spread(setting=name, runs=values.size, failed=len(rows) - values.size, against=judged)
    if values.size < 2:
        return counts
    found = summarise(values)
    told: dict[str, Any] = {"mean": found.mean, "sd": found.sd, "cv": found.cv, "cpus_busy": _busy(rows)}
    told["sd_interval"] = sd = log_sd_interval(values) if values.size >= LEAST_EFFECTIVE else None
    if over := abs(found.mean):
        told |= {"minimum": found.minimum / found.mean, "maximum": found.maximum / found.mean}
        told["cv_interval"] = IntervalEstimate(low=sd.low / over, high=sd.high / over) if sd else None
    return counts.model_copy(update=told)


def _busy(rows: Sequence[Row]) -> float | None:
    shares = [
        (row["user_s"] + row["system_s"]) / row["wall_s"]
        for row in rows
        if row["ok"] == 1 and row["wall_s"] and {"user_s", "system_s"} <= row.keys()
    ]
    return float(np.median(shares)) if shares else None


class StudyPrice(Frozen):
    """A setting that is shown to have a better mean than the recommended one; of several, that of the best mean."""

    chosen: str
    """The recommended one."""
    fastest: str
    mean: Claim
    """The mean of the fastest over that of the recommended one."""

    @property
    def words(self) -> str:
        """Say it in a clause."""
        better = word("less", "mean")  # whether low or high outcomes are good, it is the better one
        return f"{self.fastest} is {better}, its mean {interval(self.mean)} of that of {self.chosen}"


def price_of(
    chosen: StudySetting, design: StudyDesign, times: TIMES, lower_is_better: bool, alpha: float, seed: int
) -> StudyPrice | None:
    """Find what is shown to have a better mean in the rounds; all settings are one family."""
    names = [one.name for one in design.settings if one.name in times and not one.background]
    means = {name: held.mean for name, held in held_against(chosen.name, names, times, alpha, seed).items()}
    better = "less" if lower_is_better else "more"
    shown = {name: one for name, one in means.items() if isinstance(one, Claim) and one.direction == better}
    if not shown:
        return None
    best = (min if lower_is_better else max)(shown, key=lambda name: float(np.nanmean(times[name])))
    return StudyPrice(chosen=chosen.name, fastest=best, mean=shown[best])


def price_words(price: StudyPrice | None, limit: str) -> str:
    """Say in a sentence what the recommendation costs, and how to choose otherwise; `limit`: the one in force."""
    if price is None:
        return ""
    other = "" if limit else f"; --subject-to '{LIMIT}' recommends only what is about as fast as the best"
    return f" It has a price: {price.words}{other}."


def within_limit(found: Sequence[Spread], limit: str, lower_is_better: bool) -> list[Spread]:
    """Give the settings that keep to a limit, all where it is empty; `best` is the best mean of all."""
    if not limit:
        return list(found)
    means = [one.mean for one in found if one.mean is not None]
    if not means:
        return []
    best, kept = min(means) if lower_is_better else max(means), condition(limit, LIMIT_NAMES, "--subject-to")
    values = ((one, {name: getattr(one, name) for name in LIMITED}) for one in found)
    return [one for one, its in values if None not in its.values() and kept.holds({**its, "best": best})]
