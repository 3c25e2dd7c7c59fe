"""The procedure of the VGO paper on recorded tables, done once and by nobody in particular.

Frachtenberg et al., Variability-Guided Performance Optimization, ICPE 2026. What it says, by section:

- 3.1, 4.1: measure a baseline of a fixed, large number of runs (stopping rules were not used), then run the program
  again with layers of counters on. "We aim to exclude metrics that are either not actionable [...] or are more likely
  consequences of the performance variability", such as cycles; in the tool a person excludes columns (Appendix 1.4).
- 3.2: cut where a person sees modes or a tail, else at the mean or median (4.5, 4.13); a search for the cut is offered.
- 3.3: fit "a simple decision tree" to all runs: "our goal is not to predict the performance class of new runs". No
  share of unseen runs, no test, no answer "there is nothing": a tree is always found, and 4.1 says that programs were
  selected that "exhibit interesting performance variability".
- 3.4: take "the features that are most strongly linked to the outcome"; each names mitigations (Table 1).
- 3.5: apply one and measure again, without counters.
- 3.6: compare "the original baseline performance distribution" with the one after it. What counts as success is for
  the person to say ("shrinking the variance"); reductions of the SD to 0.938 are reported as such (4.11).

What had to be chosen, since no person is there and only tables are:

- The fixed number is three quarters of the recorded runs, drawn by the seed. Bare runs of the profile are not used.
- Columns that their layer calls consequences are what the paper aims to exclude. `paper-raw` leaves all columns in, as
  SHARP 4 does unless a person says otherwise. Texts become a column for each value.
- The cut is that of our `label`: between modes, before a tail, else at the median, as was done by eye in Section 4.
- The tree is that of SHARP 4 (scikit-learn, Gini, depth 5, classes weigh the same); the highest Gini importance names
  the cause, as the factor of our knowledge base that lists the column, or as the column where none does.
- The first listed mitigation of that factor that was recorded is tried, and no other. A person might go on trying.
- Baseline and mitigated runs are two series, one after the other: the baseline runs of the first half of the pairs,
  then the mitigated runs of the second half. The baseline of the first step would be without the layers that pairs
  were recorded with.
- It helped if the SD fell at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from polars import selectors as cs

from ...knowledge.loader import load
from ...tools.remedies import costly
from ...tools.row import Row
from ...tools.statistics.labels.classes import label
from ...tools.statistics.shape.describe import describe
from ..recorded.bench import drawn
from ..recorded.recorded_case import ShownCase
from .answer import ContestAnswer

DEPTH = 5


class Weight(NamedTuple):
    """What the tree says of one column."""

    column: str
    importance: float
    """Gini, over all splits; those of all columns add up to 1."""


@dataclass(frozen=True)
class Paper:
    """Baseline, profile, tree, first mitigation, comparison; once each."""

    name: str = "paper"
    consequences: bool = False
    """Let the tree see columns that merely follow from being slow."""

    def answer(self, case: ShownCase, seed: int) -> ContestAnswer:
        """Answer one case."""
        knowledge = load()
        baseline = drawn(_counted(case.rows("baseline")), f"{seed}:paper:baseline")
        profile = drawn([row for row in _counted(case.rows("profile")) if row.get("layers")], f"{seed}:paper:profile")
        weights = weigh(case, profile, seed, consequences=self.consequences)
        if not weights:
            return _spent(ContestAnswer(verdict="", ended="The tree found no column to split by."), baseline, profile)
        named = ((knowledge.factor_of(weight.column), weight.column) for weight in weights)
        ranked = tuple(dict.fromkeys(factor.key if factor else column for factor, column in named))
        found = ContestAnswer(verdict="cause explained, remedy not tried", causes=ranked[:1], ranked=ranked)
        listed = knowledge.factors[ranked[0]].mitigations if ranked[0] in knowledge.factors else ()
        trials = case.recording.trials
        mitigation = next((key for key in listed if key in trials and trials[key].pairs), "")
        if not mitigation:
            missing = (f"not recorded: no pairs with any of {', '.join(listed)}.",) if listed else ()
            return _spent(found.model_copy(update={"not_recorded": missing}), baseline, profile)
        before, after = in_turn(case, mitigation, seed)
        compared = _compared(found, mitigation, before, after, case.recording.subject.lower_is_better)
        return _spent(compared, baseline, profile, before, after)


def weigh(case: ShownCase, profile: Sequence[Row], seed: int, *, consequences: bool) -> tuple[Weight, ...]:
    """Fit the tree to all profiled runs at once; columns that it uses, the most important first."""
    outcome = np.array([row["outcome"] for row in profile])
    table = _table(case, profile, consequences)
    if not table.width or outcome.min() == outcome.max():
        return ()
    slow = label(outcome, describe(outcome), case.recording.subject.lower_is_better).slow
    values = table.to_numpy().astype(np.float64)
    # Measured from the median, since trees work in single precision, where large counters lose digits.
    from sklearn.tree import DecisionTreeClassifier  # a second to load, which no other contestant needs at its start

    tree = DecisionTreeClassifier(max_depth=DEPTH, class_weight="balanced", random_state=seed)
    tree.fit(values - np.nanmedian(values, axis=0), slow)
    weights = map(Weight, table.columns, tree.feature_importances_.tolist())
    return tuple(sorted((weight for weight in weights if weight.importance > 0), key=lambda one: -one.importance))


def _table(case: ShownCase, profile: Sequence[Row], consequences: bool) -> pl.DataFrame:
    """Every column of the layers as numbers, NaN where a cell is missing."""
    described = {name: _role(case, name) for row in profile for name in row}
    names = [name for name, role in described.items() if role and (consequences or role != "consequence")]
    table = pl.DataFrame([{name: row.get(name) for name in names} for row in profile], infer_schema_length=None)
    texts = table.select(cs.string()).columns
    return table.to_dummies(texts, separator="=") if texts else table


def _role(case: ShownCase, name: str) -> str:
    """What a layer says of a column; empty where it is no layer's, or of one that it was not given."""
    withheld = {*case.recording.profiling.layers} - {*case.limits.layers}
    columns = (layer.column(name) for spec, layer in case.layers.items() if spec not in withheld)
    return next((column.role for column in columns if column), "")


def in_turn(case: ShownCase, mitigation: str, seed: int) -> tuple[Sequence[Row], Sequence[Row]]:
    """The baseline runs of the first half of the pairs drawn, then the mitigated runs of the second half."""
    pairs = [pair for pair in case.pairs(mitigation) if all(row["ok"] == 1 for row in pair)]
    chosen = drawn(pairs, f"{seed}:paper:{mitigation}")
    half = len(chosen) // 2
    return [before for before, _ in chosen[:half]], [after for _, after in chosen[half:]]


def _compared(
    found: ContestAnswer, mitigation: str, before: Sequence[Row], after: Sequence[Row], lower_is_better: bool
) -> ContestAnswer:
    first, second = (np.array([row["outcome"] for row in rows]) for rows in (before, after))
    tried = found.model_copy(update={"tried": (mitigation,), "verdict": "cause explained, remedy refuted"})
    if min(first.size, second.size) < 2 or not second.std(ddof=1) < first.std(ddof=1):
        return tried
    price = bool(first.mean()) and costly(float(second.mean() / first.mean()), lower_is_better)
    return tried.model_copy(
        update={"verdict": "cause explained, remedy confirmed", "mitigation": mitigation, "price_told": price}
    )


def _counted(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["ok"] == 1]


def _spent(answer: ContestAnswer, *series: Sequence[Row]) -> ContestAnswer:
    rows = [row for each in series for row in each]
    return answer.model_copy(update={"runs": len(rows), "program_s": float(sum(row["wall_s"] for row in rows))})
