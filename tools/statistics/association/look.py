"""One table made ready for the search: ranked, without trend, sifted of what merely follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ..ranks import auc, auc_error, class_scores, ranks_of
from ..values import BoolArray, FloatArray, IntArray
from .chance import Labels, labels_of
from .columns import Columns
from .ranked import RankedVectors, keep, rank
from .sift import beyond, follows, reason, too_few
from .tree import numbered

FEW_LEVELS, RUNS_A_TERM = 20, 4
"""Values that a setting may have to be told one by one, and runs that each of them takes."""


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
    raw, divided, error = ranked.auc[ranked.places[0]], columns.divided(), auc_error(classes)
    of_divisors = auc(divisors, classes)
    for number, name in enumerate(names):
        rate = ranked.auc[ranked.places[number + 1]]
        more = beyond(columns.values, classes, divisors[:, number])
        following = follows(raw, rate, float(of_divisors[number]), error, more) & divided
        for place in np.flatnonzero(following).tolist():
            aside.setdefault(columns.names[place], reason(name, raw[place], rate[place]))
    return aside
