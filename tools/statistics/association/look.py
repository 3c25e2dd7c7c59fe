"""Which columns merely follow the outcome, and a table made ready for the search: ranked, without trend and those."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from ..values import BoolArray, FloatArray, IntArray, auc, auc_error, class_scores, ranks_of, slow_mask
from .columns import Columns
from .permutation import Labels, RankedVectors, keep, labels_of, rank
from .tree import numbered

LEAST_LINK = 2.0
"""Standard errors from 0.5 at which a column counts as linked to slowness at all."""
VANISHED = 1.645
"""Standard errors from 0.5 below which the link counts as gone."""
REMAINS = 0.2
"""Share of the link that must be left after division, however many runs there are."""
FELL = 0.7
"""Share of the link to which it must have fallen."""
LEAST_SHARE = 0.1
"""Of the delay of slow runs that a column must be able to make."""
DOUBTFUL, HALF = 3.0, 0.5
"""Under half of the link left and under three standard errors: of many consequences, some get there by luck."""
COARSE = 0.25
"""Share of the difference in mean beyond proportion, at or under which half a link may be what whole numbers leave."""
FEW_LEVELS, RUNS_A_TERM = 20, 4
"""Values that a setting may have to be told one by one, and runs that each of them takes."""


def consequences(
    columns: FloatArray,
    names: Sequence[str],
    classes: ArrayLike,
    per: ArrayLike,
    levels: Collection[str] = (),
    per_name: str = "run time",
) -> dict[str, str]:
    """Name the columns whose link to slowness vanishes or reverses when divided by `per`, with the two AUCs.

    A longer run has more timer ticks, CPU time and interrupts: they follow from slowness. Where a cause was known and
    had a counter, that counter kept an AUC of 1.00 per second while such columns fell from .9 to .5 or below. Where
    slow runs have less of `per`, as of the work done in a fixed time, it is the mirror image.

    Of a count of few a run, ranks keep what is mere rounding: in recorded runs whose cause no counter shows, fast ones
    had 1.62 context switches and slow ones 2.46, an AUC of .77, and .61 per second; .09 of that difference was more
    than in proportion to time. Of the counters of causes that were known, .5 to .98 was.
    """
    divisor = np.asarray(per, dtype=np.float64)
    if not len(names) or not (np.isfinite(divisor).all() and (divisor > 0).all()):
        return {}
    divided = np.array([name not in levels for name in names], dtype=np.bool_)
    raw, rate = auc(columns, classes), auc(columns / divisor[:, None], classes)
    following = follows(raw, rate, columns, classes, divisor) & divided
    return _reasons(following, names, raw, rate, per_name)


def beyond(columns: FloatArray, classes: ArrayLike, divisor: FloatArray) -> FloatArray:
    """Give the share of each column's difference in mean, slow against fast, that is not in proportion to a divisor."""
    more = slow_mask(classes)
    if not more.any():
        return np.full(columns.shape[1], np.inf)
    if divisor[more].mean() < divisor[~more].mean():
        more = ~more
    high, low = columns[more].mean(axis=0), columns[~more].mean(axis=0)
    expected = low * (divisor[more].mean() / divisor[~more].mean())
    share: FloatArray = np.divide(high - expected, high - low, out=np.full(high.shape, np.inf), where=high != low)
    return share


def more_than_in_proportion(column: FloatArray, mask: BoolArray, divisor: FloatArray) -> float:
    """Give the p-value that runs in the mask have more of a column than in proportion to a divisor, one-sided.

    A test of means, by the ratio estimator: it holds for a count of few a run as well. In a longer run that is less
    often 0, so the ranks of its rate are higher, whatever its mean.
    """
    rate = column[~mask].sum() / divisor[~mask].sum()
    left, longer = column - rate * divisor, divisor[mask].mean() / divisor[~mask].mean()
    errors = left[mask].var(ddof=1) / mask.sum(), longer**2 * left[~mask].var(ddof=1) / (~mask).sum()
    if not sum(errors):
        return float(left[mask].mean() <= 0)
    freedom = sum(errors) ** 2 / (errors[0] ** 2 / (mask.sum() - 1) + errors[1] ** 2 / ((~mask).sum() - 1))
    return float(stdtr(freedom, -left[mask].mean() / np.sqrt(sum(errors))))


def follows(
    raw: FloatArray, rate: FloatArray, columns: FloatArray, classes: ArrayLike, divisor: FloatArray
) -> BoolArray:
    """Say which columns merely follow a divisor, from their AUCs raw and divided."""
    error, more = auc_error(classes), beyond(columns, classes, divisor)
    side = 1.0 if auc(divisor[:, None], classes)[0] >= 0.5 else -1.0
    with_it, left = side * (raw - 0.5), side * (rate - 0.5)
    # A column that is lower where the divisor is higher is no consequence of it: division only lowers it further.
    linked = with_it > LEAST_LINK * error
    vanished = left <= np.maximum(VANISHED * error, REMAINS * with_it)
    doubtful = left <= np.minimum(DOUBTFUL * error, HALF * with_it)
    coarse = (left <= HALF * with_it) & (more <= COARSE)
    # A weak link that division hardly changes has not vanished: it was never there, and the search will say so.
    following: BoolArray = linked & (vanished | doubtful | coarse) & (left <= FELL * with_it)
    return following


def _reasons(
    following: BoolArray, names: Sequence[str], raw: FloatArray, rate: FloatArray, per_name: str
) -> dict[str, str]:
    return {
        names[place]: f"follows {per_name}: AUC {raw[place]:.2f}, divided by {per_name} {rate[place]:.2f}"
        for place in np.flatnonzero(following).tolist()
    }


def too_few(
    columns: FloatArray, names: Sequence[str], classes: ArrayLike, time: ArrayLike, most_us: Mapping[str, float]
) -> dict[str, str]:
    """Name the columns of which slow runs have so little more that it cannot make their delay, even generously.

    What ticks with time can outrun it in a rate: the first tick falls after the short runs have ended, so a few
    interrupts go with slow runs raw and per second. `most_us` bounds what one of them can cost; `time` in seconds. The
    delay is that of medians: one run that took minutes to start would hide it.
    """
    mask = slow_mask(classes)
    known = [place for place, name in enumerate(names) if name in most_us]
    if not known or not mask.any():
        return {}
    seconds = np.asarray(time, dtype=np.float64)
    gap_us = 1e6 * float(np.median(seconds[mask]) - np.median(seconds[~mask]))
    reasons = {}
    for place in known:
        name, extra = names[place], float(columns[mask, place].mean() - columns[~mask, place].mean())
        if 0 < extra * most_us[name] < LEAST_SHARE * gap_us:
            cost = f"of at most {most_us[name]:g} us each, in {gap_us:.0f} us"
            reasons[name] = f"too few: {extra:.3g} more in slow runs, {cost}"
    return reasons


@dataclass(frozen=True)
class Looked:
    """What the search sees of a table."""

    columns: Columns
    """All of them, as they came."""
    kept: IntArray
    """Which of them were not set aside."""
    classes: IntArray
    """Numbered from 0, the worst the highest, shape (runs,)."""
    outcome: FloatArray
    ranked: RankedVectors
    """Of the kept columns."""
    labels: Labels
    set_aside: dict[str, str]
    warnings: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the kept columns."""
        return tuple(self.columns.names[place] for place in self.kept.tolist())

    @cached_property
    def place_of(self) -> dict[str, int]:
        """Name of a kept column to its place among them."""
        return {name: place for place, name in enumerate(self.names)}

    def values(self, name: str) -> FloatArray:
        """One column, shape (runs,)."""
        return self.columns.values[:, self.columns.names.index(name)]


def look(
    columns: Columns,
    classes: ArrayLike,
    outcome: ArrayLike,
    per: ArrayLike | None = None,
    per_name: str | Sequence[str] = "the outcome",
    ordered: bool = True,
    apart: IntArray | None = None,
) -> Looked:
    """Rank and sift; the arguments are those of `factors.associate`."""
    labels = numbered(classes)
    scores = class_scores(labels)
    divisors, names, warnings = _divisors(per, per_name, labels.size)
    rest = labels_of(scores, ordered, _design(columns), apart)
    ranked = rank(columns.values, scores, rest.basis, divisors, columns.divided(), columns.multiplied())
    aside = _following(columns, ranked, labels, divisors, names)
    if divisors.shape[1]:
        few = too_few(columns.values, columns.names, labels, divisors[:, 0], columns.most_us)
        aside = few | aside
    left: BoolArray = np.array([name not in aside for name in columns.names], dtype=np.bool_)
    return Looked(
        columns=columns,
        kept=np.flatnonzero(left),
        classes=labels,
        outcome=np.asarray(outcome, dtype=np.float64).ravel(),
        ranked=keep(ranked, left),
        labels=rest,
        set_aside=aside,
        warnings=warnings,
    )


def _design(columns: Columns) -> FloatArray:
    """Indicators of the values of every setting, shape (runs, terms); the rank of one with many values."""
    grouped = [columns.groups[name] for name in columns.settings if name in columns.groups]
    named = {member for members in grouped for member in members} | (columns.settings & set(columns.names))
    terms = [columns.values[:, place] for place, name in enumerate(columns.names) if name in named]
    found: list[FloatArray] = []
    for values in terms:
        levels = np.unique(values)
        few = levels.size <= FEW_LEVELS
        found += [(values == level).astype(np.float64) for level in levels[1:]] if few else [ranks_of(values)]
    most = columns.values.shape[0] // RUNS_A_TERM
    return np.stack(found[:most], axis=1) if found[:most] else np.empty((columns.values.shape[0], 0))


def _divisors(
    per: ArrayLike | None, per_name: str | Sequence[str], runs: int
) -> tuple[FloatArray, list[str], tuple[str, ...]]:
    """What columns can be divided by, shape (runs, k), with names; and what was said but cannot be used."""
    if per is None:
        return np.empty((runs, 0)), [], ()
    given = np.asarray(per, dtype=np.float64).reshape(runs, -1)
    names = [per_name] * given.shape[1] if isinstance(per_name, str) else list(per_name)
    fit = np.array([bool(np.isfinite(one).all() and (one > 0).all()) for one in given.T], dtype=np.bool_)
    warnings = tuple(
        f"Columns were not divided by {name}, which is not positive in every run: consequences may pass for causes."
        for name, good in zip(names, fit.tolist(), strict=True)
        if not good
    )
    return given[:, fit], [name for name, good in zip(names, fit.tolist(), strict=True) if good], warnings


def _following(
    columns: Columns, ranked: RankedVectors, classes: IntArray, divisors: FloatArray, names: list[str]
) -> dict[str, str]:
    """Reasons of the columns that merely follow one of the divisors."""
    aside: dict[str, str] = {}
    raw, divided = ranked.auc[ranked.places[0]], columns.divided()
    for number, name in enumerate(names):
        rate = ranked.auc[ranked.places[number + 1]]
        following = follows(raw, rate, columns.values, classes, divisors[:, number]) & divided
        aside = _reasons(following, columns.names, raw, rate, name) | aside
    return aside
