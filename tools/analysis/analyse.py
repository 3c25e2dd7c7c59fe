"""From a table to an analysis: shape, classes, association, tree; each step may end it with a reason."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..recorded.draft import of_runs
from ..recorded.kinds import kinds, numbered
from ..recorded.recorded import Observations, RecordedRuns
from ..statistics.association.columns import Association, Columns, FactorAssociation
from ..statistics.association.factors import associate
from ..statistics.association.tree import DecisionTree, fit_tree
from ..statistics.labels.classes import Labelled, label, label_at
from ..statistics.labels.cut_search import CutSearch, search_cut
from ..statistics.ratio_test import holm
from ..statistics.shape.describe import DistributionShape, describe
from ..statistics.spread import log_sd_interval, summarise
from ..statistics.strata import Strata, strata
from ..statistics.values import FiniteResult, FloatArray, auc_error
from ..verdict import NOT_VISIBLE, UNUSABLE
from .analysis import (
    LEAST_RUNS,
    Analysis,
    AnalysisOptions,
    Finding,
    advice,
    concluded,
    early,
    evidence,
    mixed,
    rows_of,
    uneven,
)

LEAST_LINK, LEAST_SHARE = 0.05, 0.01
"""Distance of an AUC from 0.5, and share of the variance between values of a setting, that matter."""
POWER = 0.8
PER_GROUP, MOST_PERMUTATIONS = 60, 20_000
"""Draws for each group, so that the least p-value there is survives being multiplied by the number of groups."""


@dataclass(frozen=True)
class PartialAnalysis:
    """What has been computed so far."""

    design: Observations
    """After warm-up."""
    shape: DistributionShape
    read: int
    """Runs before warm-up was left out."""
    labelled: Labelled | None = None
    searched: CutSearch | None = None
    association: Association | None = None


def analyse(design: Observations, question: AnalysisOptions) -> Analysis:
    """Analyse one group; `verdict.concluded` then gives the verdict its price for the other groups."""
    design = trusted(design)
    shape = describe(design.outcome, ordered=design.ordered)
    steps = PartialAnalysis(design.after(shape.warm_up), shape, design.outcome.size)
    ended = early(steps.design, shape, question)
    if ended:
        return _analysis(steps, question, *ended)
    steps = _labelled(steps, question)
    ended = uneven(steps.labelled.classes, rows_of(steps.design)) if steps.labelled else None
    if ended:
        return _analysis(steps, question, *ended)
    steps = replace(steps, association=_associated(steps, question))
    return _analysis(steps, question, NOT_VISIBLE, "")


def trusted(design: Observations) -> Observations:
    """Take the order of a file for that of the runs, unless the file stands sorted by something that was set."""
    if not (design.assumed and design.ordered):
        return design
    numeric = {name: (name,) for name in sorted(design.settings) if name in design.names}
    indicators = {member for members in design.groups.values() for member in members}
    settings = {**{name: who for name, who in numeric.items() if name not in indicators}, **design.groups}
    blocks = [name for name, members in settings.items() if not mixed(design.values, places(design, members))]
    if not blocks:
        return design
    words = (
        f"The runs stand sorted by {', '.join(blocks)}, so their order was taken to mean nothing: "
        "give --order COL if a column tells when each was made."
    )
    return replace(design, ordered=False, warnings=(*design.warnings, words))


def _labelled(steps: PartialAnalysis, question: AnalysisOptions) -> PartialAnalysis:
    design = steps.design
    if question.cut.kind != "search":
        return replace(steps, labelled=label(design.outcome, steps.shape, design.lower_is_better, question.cut))
    searched = search_cut(
        design.values,
        _per_unit(design),
        design.outcome,
        lower_is_better=design.lower_is_better,
        ordered=design.ordered,
        permutations=question.permutations,
        seed=question.seed,
        groups=[places(design, members) for members in design.groups.values()],
    )
    how = "where a tree explains the classes best"
    labelled = label_at(design.outcome, searched.cut, design.lower_is_better, "search", how)
    return replace(steps, labelled=labelled, searched=searched)


def _per_unit(design: Observations) -> FloatArray | None:
    """Columns divided by the outcome, rates multiplied by it; those that cannot be stay as they are."""
    if design.outcome.min() <= 0:
        return None
    levels, rates = (np.isin(design.names, list(kind)) for kind in (design.levels, design.rates))
    by = design.outcome[:, None]
    return np.where(levels, design.values, np.where(rates, design.values * by, design.values / by))


def _associated(steps: PartialAnalysis, question: AnalysisOptions) -> Association:
    assert steps.labelled is not None
    design = steps.design
    per, per_name = divisors(design)
    return associate(
        columns(design),
        steps.labelled.worse,
        design.outcome,
        per=per,
        per_name=per_name,
        ordered=design.ordered,
        alpha=question.alpha,
        permutations=question.permutations,
        seed=question.seed,
        explain=question.explain,
    )


def columns(design: Observations) -> Columns:
    """Hand the columns of a table to the search."""
    return Columns(
        names=design.names,
        values=design.values,
        levels=design.levels,
        rates=design.rates,
        groups=design.groups,
        settings=design.settings,
        most_us=design.most_us if design.unit == "s" else {},
    )


def divisors(design: Observations) -> tuple[FloatArray | None, tuple[str, ...]]:
    """What columns are divided by: a time; for a throughput the work done and the time that a unit of it takes."""
    outcome = design.outcome
    if outcome.min() <= 0:
        return None, ()
    if design.lower_is_better:
        return outcome[:, None], (design.outcome_name,)
    return np.column_stack((outcome, 1 / outcome)), (design.outcome_name, f"1 / {design.outcome_name}")


def _analysis(steps: PartialAnalysis, question: AnalysisOptions, verdict: str, reason: str) -> Analysis:
    design, association = steps.design, steps.association
    outcome = design.outcome
    p_value = _p_value(steps)
    found = Analysis(
        verdict=verdict,
        reason=reason,
        outcome=design.outcome_name,
        unit=design.unit,
        lower_is_better=design.lower_is_better,
        runs=outcome.size,
        of_runs=0 if design.runs is None else of_runs(design.runs),
        columns=len(design.names),
        spread=summarise(outcome) if outcome.size else None,
        sd_interval=log_sd_interval(outcome, ordered=design.ordered),
        shape=steps.shape,
        variance_far_out=_far_out(steps),
        classes=steps.labelled.classes if steps.labelled else None,
        cut_search=steps.searched,
        tree=_tree(steps, question),
        p_value=p_value,
        p_adjusted=p_value,
        detectable_auc=_detectable(steps, question),
        findings=_findings(steps, question),
        interactions=association.interactions if association else (),
        sampled=association.sampled if association else None,
        set_aside={**design.set_aside, **(association.set_aside if association else {})},
    )
    return found.model_copy(
        update={
            "warnings": (*design.warnings, *(association.warnings if association else ()), *advice(found, steps.read))
        }
    )


def _far_out(steps: PartialAnalysis) -> float | None:
    """Share of the variance that the outliers make."""
    outcome, found = steps.design.outcome, steps.shape.outliers
    if not found.count:
        return None
    low = -np.inf if found.low is None else found.low
    high = np.inf if found.high is None else found.high
    near = outcome[(outcome >= low) & (outcome <= high)]
    return max(0.0, 1 - float(near.var()) / float(outcome.var())) if near.size > 1 else None


def _p_value(steps: PartialAnalysis) -> float | None:
    """Of the search for columns; where the cut was searched for too, of that wider search."""
    if steps.searched is not None:
        return steps.searched.p_value
    return steps.association.p_value if steps.association else None


def _tree(steps: PartialAnalysis, question: AnalysisOptions) -> DecisionTree | None:
    """Fit to the columns that were not set aside."""
    if steps.association is None or steps.labelled is None or not question.explain:
        return None
    design, aside = steps.design, steps.association.set_aside
    keep = [place for place, name in enumerate(design.names) if name not in aside]
    names = [design.names[place] for place in keep]
    values = design.values if len(keep) == len(design.names) else design.values[:, keep]
    block = steps.association.block
    return fit_tree(values, names, steps.labelled.worse, question.depth, seed=question.seed, block=block)


def _findings(steps: PartialAnalysis, question: AnalysisOptions) -> tuple[Finding, ...]:
    if steps.association is None:
        return ()
    p_search = steps.searched.p_value if steps.searched else 0.0
    return tuple(_finding(_paid(factor, p_search, question), steps.design) for factor in steps.association.factors)


def _paid(factor: FactorAssociation, p_search: float, question: AnalysisOptions) -> FactorAssociation:
    """A cut that was chosen by looking at columns makes each look better than it is."""
    p = max(factor.p_value, p_search)
    return factor.model_copy(update={"p_value": p, "visible": p <= question.alpha and matters(factor)})


def matters(factor: FactorAssociation) -> bool:
    """Whether a link is worth naming: of a million runs the slightest is more than luck."""
    if factor.eta2 is not None and factor.eta2 >= LEAST_SHARE:
        return True
    return abs(factor.auc - 0.5) >= LEAST_LINK


def _finding(factor: FactorAssociation, design: Observations) -> Finding:
    found = places(design, factor.members)
    return Finding(factor=factor, evidence=evidence(design.values, found, factor.role == "setting", design.ordered))


def places(design: Observations, names: Sequence[str]) -> list[int]:
    """Find columns by name."""
    return [design.names.index(name) for name in names if name in design.names]


def _detectable(steps: PartialAnalysis, question: AnalysisOptions) -> float | None:
    """AUC that the search finds four times in five: its bar, by Bonferroni over clusters, and the power above it."""
    if steps.association is None or steps.labelled is None or not steps.association.factors:
        return None
    bar = float(ndtri(1 - question.alpha / 2 / len(steps.association.factors)) + ndtri(POWER))
    effective = steps.shape.effective_runs or steps.design.outcome.size
    error = auc_error(steps.labelled.slow) * math.sqrt(
        steps.design.outcome.size / min(effective, steps.design.outcome.size)
    )
    return min(0.5 + bar * error, 1.0)


class GroupAnalysis(FiniteResult):
    """The runs that agree in the grouping columns."""

    values: Mapping[str, str | int | float | bool | None]
    """Column to value; empty for the whole table."""
    analysis: Analysis


class Analyses(FiniteResult):
    """All groups, in the order of the table."""

    groups: tuple[GroupAnalysis, ...]
    strata: Strata | None = None
    """Columns that say what was run, and that explain most of the spread of the runs of a group."""

    @property
    def answered(self) -> bool:
        """Some group had enough data for a verdict."""
        return any(group.analysis.verdict != UNUSABLE for group in self.groups)


def analyse_groups(
    parts: Sequence[tuple[Mapping[str, str | int | float | bool | None], Observations]],
    question: AnalysisOptions,
    recorded: RecordedRuns | None = None,
) -> Analyses:
    """Analyse each; a cause in one of many groups must be convincing over all of them (Holm).

    With `recorded`, where they are from, say which kinds of runs they mix.
    """
    enough = min(max(question.permutations, PER_GROUP * len(parts)), MOST_PERMUTATIONS)
    found = [analyse(design, replace(question, permutations=enough)) for _, design in parts]
    tested = [one for one in found if one.p_value is not None]
    adjusted = iter(holm([one.p_value for one in tested if one.p_value is not None]))
    ended = [concluded(one, None if one.p_value is None else next(adjusted), question) for one in found]
    return Analyses(
        groups=tuple(GroupAnalysis(values=values, analysis=one) for (values, _), one in zip(parts, ended, strict=True)),
        strata=_strata(parts, recorded) if recorded else None,
    )


def _strata(parts: Sequence[tuple[Mapping[str, Any], Observations]], recorded: RecordedRuns) -> Strata | None:
    """Find columns of words, and settings, that tell kinds of runs apart; whole numbers may as well be counters."""
    first, rows = parts[0][1], np.concatenate([design.rows for _, design in parts])
    set_too = {name: "setting" for _, design in parts for name in design.settings if name in recorded.frame.columns}
    told = replace(recorded, roles={**recorded.roles, **set_too})
    names = kinds([told], first.outcome_name, parts[0][0].keys(), numbers=False)
    codes = numbered([recorded.frame], names)
    group = np.repeat(np.arange(len(parts)), [design.rows.size for _, design in parts])
    outcome = np.concatenate([design.outcome for _, design in parts])
    columns = {name: codes[name][rows] for name in names}
    return strata(outcome, columns, np.zeros_like(group), [group], LEAST_RUNS)
