"""A cut searched for where a tree explains the classes best, and the price of that freedom.

The search itself is that of the VGO paper: evenly spaced cuts, the least AIC of a shallow tree. On noise it finds a
tree that looks right nearly always. So it is searched anew in every training fold and in every permutation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ....knowledge.errors import VgoError
from ..association.tree import Singles, balanced_accuracy, grown, guesses, prepared
from ..shape.describe import block_length
from ..values import LEAST_IN_CLASS, BoolArray, FiniteResult, FloatArray, IntArray, complete
from .cut_p_value import cut_p_value, strongest

LEAST_RUNS = 20
MOST_CUTS = 100
LEAST_SHARE = 0.05
MOST_TREE_RUNS = 2000
"""Trees see no more runs than this, evenly spaced in the order given."""
MOST_TREE_COLUMNS = 10
"""Nor more columns: those most strongly linked to any of the cuts, chosen anew in every training fold."""
MOST_CELLS = 1_000_000
"""Permutations see as many runs as make this many numbers, 2000 at least."""
DEPTH = 3
ENTROPY: dict[str, Any] = {"criterion": "entropy", "min_impurity_decrease": 0.0}
"""Of the trees, whose AIC it gives."""
FOLDS = 5
CutKind = Literal[
    "auto", "given", "percentile", "mean", "median", "between-modes", "before-tail", "tertiles", "quartiles", "search"
]
NAMED: tuple[CutKind, ...] = tuple(kind for kind in get_args(CutKind) if kind not in ("given", "percentile"))
CHOICES = f"a number, pNN (p90), several of either with commas between, or one of {', '.join(NAMED)}"


class CutSearch(FiniteResult):
    """The cut that a tree explains best, and how much of that is more than luck."""

    cut: float
    tried: tuple[float, ...]
    """The cuts looked at, ascending; each leaves 5 % and five of the runs on either side."""
    criterion: tuple[float, ...]
    """At each, AIC of the tree less that of no tree; the least one is chosen."""
    in_sample: float
    """Balanced accuracy at the chosen cut, on the runs it was chosen with: about .9 on 100 runs of pure noise."""
    cross_validated: float
    """The same on unseen runs, the cut searched for anew without them: 0.5 is a coin."""
    p_value: float
    """That any column would stand out so far at any of the cuts by chance."""
    column: int
    """The column that stands out most at any cut."""
    tree_runs: int
    """Runs that the trees saw."""
    tree_columns: int
    """Columns that each tree could choose from."""
    tested_runs: int
    """Runs that were permuted."""
    notes: tuple[str, ...]
    """What was left out to save time."""


class _Best(NamedTuple):
    cut: float
    tried: FloatArray
    criterion: FloatArray
    columns: IntArray


def search_cut(
    columns: FloatArray,
    per_unit: FloatArray | None,
    outcome: FloatArray,
    *,
    lower_is_better: bool = True,
    ordered: bool = True,
    permutations: int = 2000,
    seed: int = 0,
    groups: Sequence[Sequence[int]] = (),
) -> CutSearch:
    """Search for the cut, judge it on unseen runs, and test it against chance.

    `columns` and `per_unit` (divided by the outcome; columns that cannot be divided repeat there) have shape
    (runs, columns), rows in run order where `ordered`; `groups` are places of the indicators of one setting each.
    """
    y = complete(outcome)
    if y.size < LEAST_RUNS or not columns.shape[1] or y.min() == y.max():
        raise VgoError(f"--cut search needs {LEAST_RUNS} runs that differ and a column; choose --cut auto.")
    worse = y if lower_is_better else -y
    few = _spaced(y.size, MOST_TREE_RUNS)
    some = _spaced(y.size, max(MOST_TREE_RUNS, MOST_CELLS // (2 * columns.shape[1])))
    block = block_length(worse[few] > np.median(worse[few])) if ordered else 1
    raw, unit = columns[few], None if per_unit is None else per_unit[few]
    best = _search(raw, unit, worse[few], ordered, seed)
    tested = cut_p_value(
        columns[some],
        None if per_unit is None else per_unit[some],
        worse[some],
        _candidates(worse[some]),
        ordered=ordered,
        permutations=permutations,
        seed=seed,
        groups=groups,
    )
    sign = 1.0 if lower_is_better else -1.0
    back = slice(None, None, int(sign))
    return CutSearch(
        cut=sign * best.cut,
        tried=tuple((sign * best.tried)[back].tolist()),
        criterion=tuple(best.criterion[back].tolist()),
        in_sample=_accuracy(worse[few] > best.cut, _guess(raw, worse[few], best, raw, seed)),
        cross_validated=_cross_validated(raw, unit, worse[few], block, ordered, seed),
        p_value=tested.p_value,
        column=tested.column,
        tree_runs=few.size,
        tree_columns=best.columns.size,
        tested_runs=some.size,
        notes=tuple(_notes(y.size, columns.shape[1], few.size, some.size)),
    )


def _notes(runs: int, columns: int, few: int, some: int) -> list[str]:
    notes = []
    if few < runs:
        notes.append(f"The trees of the cut search saw {few} of {runs} runs, evenly spaced.")
    if columns > MOST_TREE_COLUMNS:
        notes.append(f"Its trees chose among the {MOST_TREE_COLUMNS} of {columns} columns most strongly linked.")
    if some < runs:
        notes.append(f"The p-value of the cut search comes from {some} of {runs} runs, evenly spaced.")
    return notes


def _spaced(runs: int, most: int) -> IntArray:
    places: IntArray = np.unique(np.linspace(0, runs - 1, min(runs, most)).round().astype(np.int64))
    return places


def _candidates(worse: FloatArray) -> FloatArray:
    """Evenly spaced cuts, one for each different split, that leave enough runs on either side."""
    ascending = np.sort(worse)
    least = max(LEAST_IN_CLASS, int(np.ceil(LEAST_SHARE * worse.size)))
    low, high = ascending[least - 1], ascending[-least]
    if low == high:
        return np.array([low]) if low < ascending[-1] else np.array([ascending[ascending < low].max()])
    cuts = np.linspace(low, high, MOST_CUTS, endpoint=False)
    _, first = np.unique(np.searchsorted(ascending, cuts, side="right"), return_index=True)
    return cuts[first]


def _search(raw: FloatArray, unit: FloatArray | None, worse: FloatArray, ordered: bool, seed: int) -> _Best:
    tried = _candidates(worse)
    columns = strongest(raw, unit, worse, tried, ordered=ordered, most=MOST_TREE_COLUMNS)
    shown = prepared(raw[:, columns], np.arange(len(raw)))
    criterion = np.array([_gain(shown, worse > cut, seed) for cut in tried])
    return _Best(float(tried[criterion.argmin()]), tried, criterion, columns)


def _gain(shown: Singles, slow: BoolArray, seed: int) -> float:
    """AIC of a tree less that of no tree: AICs of two labellings alone would say which one is more lopsided.

    One parameter for each leaf and two for each question, its column and its threshold.
    """
    inner = grown(shown, slow.astype(np.int64), DEPTH, seed, alike=False, **ENTROPY).tree_
    leaves = inner.children_left < 0
    bits = float((inner.n_node_samples * inner.impurity)[leaves].sum())
    nats = math.log(2) * (bits - slow.size * float(inner.impurity[0]))
    return 2 * (nats + 3 * (int(leaves.sum()) - 1))


def _guess(raw: FloatArray, worse: FloatArray, best: _Best, unseen: FloatArray, seed: int) -> BoolArray:
    """Label unseen runs by the tree of the chosen cut, both classes weighing the same."""
    middle = np.median(raw[:, best.columns], axis=0)
    shown, asked = ((runs[:, best.columns] - middle).astype(np.float32) for runs in (raw, unseen))
    return guesses(grown(shown, (worse > best.cut).astype(np.int64), DEPTH, seed, **ENTROPY), asked) > 0


def _cross_validated(
    raw: FloatArray, unit: FloatArray | None, worse: FloatArray, block: int, ordered: bool, seed: int
) -> float:
    """Search for the cut without a fold, then guess its runs; neighbours that depend on each other stay together."""
    truth, guessed = [], []
    for test in _folds(worse.size, block, seed):
        train = np.setdiff1d(np.arange(worse.size), test)
        best = _search(raw[train], None if unit is None else unit[train], worse[train], ordered, seed)
        truth.append(worse[test] > best.cut)
        guessed.append(_guess(raw[train], worse[train], best, raw[test], seed))
    return _accuracy(np.concatenate(truth), np.concatenate(guessed))


def _folds(runs: int, block: int, seed: int) -> list[IntArray]:
    blocks = -(-runs // block)
    dealt = np.random.default_rng(seed).permutation(blocks) % FOLDS
    fold = np.repeat(dealt, block)[:runs]
    return [np.flatnonzero(fold == number) for number in range(min(FOLDS, blocks))]


def _accuracy(slow: BoolArray, guessed: BoolArray) -> float:
    """Balanced; 0.5 where a class is absent."""
    return balanced_accuracy(slow.astype(np.int64), guessed) if 0 < slow.sum() < slow.size else 0.5


@dataclass(frozen=True)
class CutRule:
    """A wish; `labels.classes` makes cuts of it."""

    kind: CutKind
    points: tuple[float, ...] = ()
    """Ascending. given, or search once made: in the unit of the outcome; percentile: between 0 and 100."""


AUTOMATIC = CutRule("auto")


def parse(text: str) -> CutRule:
    """Understand `auto`, `1.5`, `1,2.5`, `p90`, `p33,p66`, `mean` and so on; VgoError names the choices."""
    word = text.strip().lower()
    for kind in NAMED:
        if word == kind:
            return CutRule(kind)
    parts = [part.strip() for part in word.split(",")]
    percentiles = [re.fullmatch(r"p(\d+(?:\.\d+)?)", part) for part in parts]
    found = [float(match[1]) for match in percentiles if match]
    if len(found) == len(parts) and all(0 < share < 100 for share in found):
        return CutRule("percentile", tuple(sorted(set(found))))
    numbers = [_number(part) for part in parts]
    known = [number for number in numbers if number is not None]
    if len(known) < len(parts):
        raise VgoError(f"--cut {text} is no cut: give {CHOICES}.")
    return CutRule("given", tuple(sorted(set(known))))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
