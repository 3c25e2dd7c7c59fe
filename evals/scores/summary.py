"""What the scores come to over cases and seeds.

The unit is the case: the answers to one case under several seeds are drawn from the same recorded runs and are no
independent observations. So each score is first averaged over the seeds of a case, and n is the number of cases. The
share of a rate is the mean of these means, and its interval Wilson's for n cases: as if the seeds of a case always
agreed, which is the cautious side. That of regret and of the ratios is the bootstrap's over cases. Between two
contestants, a case counts as right where more than half of its seeds are (a tie is not), and McNemar's exact test looks
at the cases in which only one of the two is right.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from statistics import fmean, median
from typing import Literal

import numpy as np
from scipy.stats import binomtest, norm

from ...knowledge.shape import Frozen
from .results import Results, ScoredAnswer
from .score import CLOCK, KINDS, Way

LEVEL = 0.95
Z = float(norm.ppf((1 + LEVEL) / 2))
DRAWS = 1000
"""Of a bootstrap; the same ones each time."""


ScoreInterval = tuple[float, float]
"""Lower and upper bound."""


def wilson(share: float, n: int) -> ScoreInterval:
    """Give Wilson's score interval of a share of n (Wilson 1927, J. Am. Stat. Assoc. 22, 209).

    The share need not be a whole number of n: over cases it is a mean of means over seeds.
    """
    if n < 1:
        raise ValueError("a share of nothing has no interval")
    centre = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    reach = Z / (1 + Z * Z / n) * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return max(0.0, min(centre - reach, share)), min(1.0, max(centre + reach, share))


@functools.cache
def resampled(values: tuple[float, ...], statistic: Callable[[Sequence[float]], float]) -> ScoreInterval:
    """Give the percentile interval of a statistic by the bootstrap over these values (Efron 1979), seeded."""
    if not values:
        raise ValueError("nothing has no interval")
    drawn = np.random.default_rng(1).choice(np.array(values), (DRAWS, len(values)))
    low, high = np.quantile([statistic(each) for each in drawn.tolist()], ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return float(low), float(high)


def fewest_without(bound: float) -> int:
    """Give the least n of which not one shows by Wilson's interval that a share is at most the bound."""
    return math.ceil(Z * Z * (1 - bound) / bound)


def mcnemar(only_first: int, only_second: int) -> float:
    """Give the p-value of McNemar's exact test, two-sided, from the pairs in which only one of two was right."""
    discordant = only_first + only_second
    return float(binomtest(only_first, discordant).pvalue) if discordant else 1.0


def geometric_mean(values: Sequence[float]) -> float:
    """Give the geometric mean; 0 as soon as one value is 0."""
    if not values:
        raise ValueError("nothing has no mean")
    if min(values) <= 0:
        return 0.0
    return math.exp(sum(map(math.log, values)) / len(values))


Grouping = Literal["split", "difficulty", "tag"]
Steadiness = Literal["right", "wrong", "flaky", "not judged"]
WAYS: dict[Way, Callable[[Sequence[float]], float]] = {
    "rate": fmean,
    "mean": fmean,
    "median": median,
    "geometric": geometric_mean,
}
RESAMPLED = ("regret", "sd_ratio", "cv_ratio", "mean_ratio")
"""Scores with an interval by the bootstrap over cases."""


class Summed(Frozen):
    """One score over cases."""

    value: float
    n: int
    """Cases in which it applies."""
    low: float | None = None
    """Of the 95 % interval; None for what has none."""
    high: float | None = None


class Duel(Frozen):
    """Two contestants on the same cases and seeds."""

    first: str
    second: str
    score: str
    cases: int
    only_first: tuple[str, ...]
    """Cases in which the first alone is right."""
    only_second: tuple[str, ...]
    p_value: float
    """Of McNemar's exact test, two-sided."""


class ContestantSummary(Frozen):
    """What one contestant reached."""

    contestant: str
    scores: dict[str, Summed]
    """Those that apply in one case at least."""
    steadiness: dict[str, Steadiness]
    """By case: whether the verdict was right under all seeds, under none, or under some (flaky)."""
    unfinished: int
    """Answers without a verdict."""


def summarise(results: Results, contestant: str, cases: Collection[str] | None = None) -> ContestantSummary:
    """Sum up one contestant over these cases; None: over all."""
    return summary_of(
        contestant, [r for r in results.rows if r.contestant == contestant and (cases is None or r.case in cases)]
    )


def summary_of(contestant: str, rows: Sequence[ScoredAnswer]) -> ContestantSummary:
    """Sum up these answers of one contestant."""
    scores = {name: found for name in KINDS if (found := summed(by_case(rows, name), name)) is not None}
    shares = by_case(rows, "verdict")
    return ContestantSummary(
        contestant=contestant,
        scores=scores,
        steadiness={case: steadiness(shares.get(case)) for case in sorted({row.case for row in rows})},
        unfinished=sum(bool(row.unfinished) for row in rows),
    )


def summed(cases: Mapping[str, float], name: str) -> Summed | None:
    """Sum up one score, given by case; None where it applies in none."""
    values = list(cases.values())
    if not values:
        return None
    way = KINDS[name].way
    value = WAYS[way](values)
    if way == "rate":
        low, high = wilson(value, len(values))
    elif name in RESAMPLED:
        low, high = resampled(tuple(sorted(values)), WAYS[way])
    else:
        return Summed(value=value, n=len(values))
    return Summed(value=value, n=len(values), low=low, high=high)


def by_case(rows: Sequence[ScoredAnswer], name: str) -> dict[str, float]:
    """Average one score over the seeds of each case in which it applies; ratios by their logarithms."""
    found: dict[str, list[float]] = {}
    for row in rows:
        value = _value(row, name)
        if value is not None:
            found.setdefault(row.case, []).append(value)
    way = WAYS[KINDS[name].way]
    return {case: way(values) for case, values in found.items()}


def _value(row: ScoredAnswer, name: str) -> float | None:
    if name == CLOCK:
        return row.seconds
    score = row.scores.get(name)
    return None if score is None else score.value


def duel(results: Results, first: str, second: str, score: str = "verdict") -> Duel:
    """Compare two contestants of one evaluation."""
    one, other = ([row for row in results.rows if row.contestant == name] for name in (first, second))
    return paired(one, other, first, second, score)


def paired(one: Sequence[ScoredAnswer], other: Sequence[ScoredAnswer], first: str, second: str, score: str) -> Duel:
    """Compare two sets of rows on the cases and seeds that both answered, and in which the score applies to both."""
    ones, others = _judged(one, score), _judged(other, score)
    both = ones.keys() & others.keys()
    right = {key: _most({at: marks[at] for at in both}) for key, marks in (("one", ones), ("other", others))}
    cases = sorted({case for case, _ in both})
    only_first = tuple(case for case in cases if right["one"][case] and not right["other"][case])
    only_second = tuple(case for case in cases if right["other"][case] and not right["one"][case])
    p_value, alone = mcnemar(len(only_first), len(only_second)), {"only_first": only_first, "only_second": only_second}
    return Duel(first=first, second=second, score=score, cases=len(cases), p_value=p_value, **alone)


def cases_by(results: Results, grouping: Grouping) -> dict[str, set[str]]:
    """Give the cases by split (train first), difficulty (1: one loud cause; 3: what no counter shows) or tag."""
    found: dict[str, set[str]] = {}
    for case in results.cases:
        groups = {"split": (case.split,), "difficulty": (str(case.difficulty),), "tag": case.tags}[grouping]
        for group in groups:
            found.setdefault(group, set()).add(case.key)
    return {group: found[group] for group in sorted(found, reverse=grouping == "split")}


def _judged(rows: Sequence[ScoredAnswer], score: str) -> dict[tuple[str, int], float]:
    found = {(row.case, row.seed): row.scores[score].value for row in rows if score in row.scores}
    return {at: value for at, value in found.items() if value is not None}


def _most(marks: Mapping[tuple[str, int], float]) -> dict[str, bool]:
    """By case: whether more than half of the seeds are right."""
    found: dict[str, list[float]] = {}
    for (case, _), value in marks.items():
        found.setdefault(case, []).append(value)
    return {case: fmean(values) > 0.5 for case, values in found.items()}


def steadiness(share: float | None) -> Steadiness:
    """Name a share of seeds under which the verdict is right; None: nobody judged it."""
    words: dict[float | None, Steadiness] = {None: "not judged", 1.0: "right", 0.0: "wrong"}
    return words.get(share, "flaky")
