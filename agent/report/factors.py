"""The factor, its rivals, and how slow and fast were told apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...knowledge.schema import Citation
from ...tools.fit_tree import FitTreeResult
from ...tools.rank_factors import RankedFactor
from .evidence import Evidence, meaning, unit
from .numbers import number, p_value, percent, quantity
from .story import Fact

MOST_RANKED = 8


def factor_story(evidence: Evidence) -> dict[str, Any] | None:
    """Tell of the visible factor: what was looked up, else what is known, else the numbers alone."""
    factor = evidence.factor
    if factor is None:
        return None
    looked = next((result for result in evidence.looked_up if result.factor == factor.factor), None)
    names = evidence.run.knowledge.factors
    known = names.get(factor.factor)
    source = looked or known
    return {
        "name": known.name if known else factor.factor,
        "description": source.description if source else "The knowledge base has no entry for it.",
        "column": factor.column,
        "meaning": meaning(factor.column, evidence.columns),
        "facts": list(_facts(factor, unit(factor.column, evidence.columns))),
        "members": [Fact(name, meaning(name, evidence.columns)) for name in factor.members],
        "confused_with": [names[key].name for key in known.confused_with if key in names] if known else [],
        "references": [_reference(text) for text in looked.references] if looked else [],
    }


def ranking(evidence: Evidence) -> list[dict[str, Any]]:
    """The first clusters of the ranking."""
    return [_ranked(factor, evidence) for factor in evidence.ranking.factors[:MOST_RANKED]] if evidence.ranking else []


def _ranked(factor: RankedFactor, evidence: Evidence) -> dict[str, Any]:
    known = evidence.run.knowledge.factors.get(factor.factor)
    gone = ", gone beside those above" if factor.independent is False else ""
    return {
        "column": factor.column,
        "factor": known.name if known else "",
        "members": len(factor.members),
        "suspect": factor.suspect,
        "visible": f"yes{gone}" if factor.suspect else "less in slow runs" if factor.visible else "no",
        "numbers": (
            number(factor.runs),
            number(factor.auc, 3),
            number(factor.importance, 2),
            percent(factor.stability, 2),
            p_value(factor.p_value),
        ),
    }


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


def tree_story(evidence: Evidence) -> dict[str, Any] | None:
    """Tell of the tree, and how far to believe it; None without one, or where it asks nothing."""
    if evidence.tree is None or len(evidence.tree.tree.nodes) == 1:
        return None
    tree = evidence.tree.tree
    return {
        "text": tree.text().rstrip("\n"),
        "in_sample": percent(tree.in_sample),
        "cross_validated": percent(tree.cross_validated) if tree.cross_validated is not None else "not known",
        "columns": evidence.tree.columns,
        "over": _tree_runs(evidence.tree, evidence),
    }


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
