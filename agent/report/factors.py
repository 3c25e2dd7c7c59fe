"""The factor, its rivals, and how slow and fast were told apart."""

from __future__ import annotations

from collections.abc import Iterator

from ...knowledge.schema import Citation
from ...tools.fit_tree import FitTreeResult
from ...tools.rank_factors import RankedFactor
from .evidence import Evidence, meaning, unit
from .numbers import number, p_value, percent, quantity
from .story import Fact, FactorStory, RankedRow, TreeStory

MOST_RANKED = 8


def factor_name(evidence: Evidence) -> str:
    """Name of the visible factor for people; empty where there is none."""
    factor = evidence.factor
    if factor is None:
        return ""
    known = evidence.run.knowledge.factors.get(factor.factor)
    return known.name if known else factor.factor


def factor_story(evidence: Evidence) -> FactorStory | None:
    """Tell of the visible factor: what was looked up, else what is known, else the numbers alone."""
    factor = evidence.factor
    if factor is None:
        return None
    looked = next((result for result in evidence.looked_up if result.factor == factor.factor), None)
    known = evidence.run.knowledge.factors.get(factor.factor)
    names = evidence.run.knowledge.factors
    source = looked or known
    references = looked.references if looked else ()
    return FactorStory(
        key=factor.factor,
        name=factor_name(evidence),
        description=source.description if source else "The knowledge base has no entry for it.",
        column=factor.column,
        meaning=meaning(factor.column, evidence.columns),
        facts=tuple(_facts(factor, unit(factor.column, evidence.columns))),
        members=tuple(Fact(name, meaning(name, evidence.columns)) for name in factor.members),
        confused_with=tuple(names[key].name for key in known.confused_with if key in names) if known else (),
        references=tuple(map(_reference, references)),
    )


def ranking(evidence: Evidence) -> tuple[RankedRow, ...]:
    """The first clusters of the ranking."""
    ranked = evidence.ranking.factors if evidence.ranking else ()
    return tuple(
        RankedRow(
            column=factor.column,
            factor=known.name if (known := evidence.run.knowledge.factors.get(factor.factor)) else "",
            members=len(factor.members),
            runs=number(factor.runs),
            auc=number(factor.auc, 3),
            importance=number(factor.importance, 2),
            stability=percent(factor.stability, 2),
            p=p_value(factor.p_value),
            visible=factor.visible,
            contrary=factor.contrary,
            shadow=factor.independent is False,
        )
        for factor in ranked[:MOST_RANKED]
    )


def set_aside(evidence: Evidence) -> tuple[Fact, ...]:
    """Why columns could not be factors: reason and columns, the reasons that speak of one column first."""
    grouped: dict[str, list[str]] = {}
    for name, reason in sorted((evidence.ranking.set_aside if evidence.ranking else {}).items()):
        grouped.setdefault(reason, []).append(name)
    return tuple(
        Fact(reason, ", ".join(names))
        for reason, names in sorted(grouped.items(), key=lambda item: (len(item[1]), item[1]))
    )


def classes(evidence: Evidence) -> str:
    """Say where the cut lies and why."""
    if evidence.labelled is None:
        return ""
    found = evidence.labelled.classes
    total = found.n_slow + found.n_fast
    cut = quantity(found.cut, evidence.run.subject.unit)
    return f"{number(found.n_slow)} of {number(total)} profiled runs are slow: the cut lies at {cut}, {found.how}."


def tree_story(evidence: Evidence) -> TreeStory | None:
    """Tell of the tree."""
    if evidence.tree is None:
        return None
    tree = evidence.tree.tree
    return TreeStory(
        text=tree.text().rstrip("\n"),
        in_sample=percent(tree.in_sample),
        cross_validated=percent(tree.cross_validated) if tree.cross_validated is not None else "not known",
        columns=evidence.tree.columns,
        over=_tree_runs(evidence.tree, evidence),
        depth_zero=len(tree.nodes) == 1,
    )


def _tree_runs(tree: FitTreeResult, evidence: Evidence) -> str:
    labelled = evidence.labelled
    if labelled is None or tree.runs == len(labelled.classes.slow):
        return ""
    return f"It was fitted to the {number(tree.runs)} runs with {', '.join(tree.layers)} on."


def _facts(factor: RankedFactor, column_unit: str) -> Iterator[Fact]:
    slow, fast = quantity(factor.slow_median, column_unit), quantity(factor.fast_median, column_unit)
    yield Fact("Medians", f"{slow} in slow runs, {fast} in fast ones")
    yield Fact("AUC", f"{number(factor.auc, 3)}: chance that a slow run shows more of it than a fast one")
    if factor.auc_per_second is not None:
        yield Fact("AUC per second", f"{number(factor.auc_per_second, 3)}: it is no mere consequence of a longer run")
    if factor.r2 is not None:
        yield Fact("R²", f"{number(factor.r2, 2)}: share of the variance of the outcome that goes with it linearly")
    yield Fact("Importance", f"{number(factor.importance, 2)}: accuracy on unseen runs lost without it")
    yield Fact("Stability", f"{percent(factor.stability, 2)} of subsamples have it among the first three")
    yield Fact("Family-wise p", f"{p_value(factor.p_value)}: paid for every group of counters looked at")


def _reference(text: str) -> Citation:
    title, separator, url = text.rpartition(" ")
    cited = separator and url.startswith(("https://", "http://"))
    return Citation(title=title, url=url) if cited else Citation(title=text)
