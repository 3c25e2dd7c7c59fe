"""What goes with slow runs: the factor and its rivals, and the layers that saw them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ...knowledge.schema import Citation
from ...tools.claim import Claim
from ...tools.distortion import shift
from ...tools.experiment.schedules import LayerSet
from ...tools.fit_tree import FitTreeResult
from ...tools.profile import ProfileResult
from ...tools.rank_factors import RankedFactor, RankResult
from ...tools.row import Row
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


SHIFTED = 0.05
"""A shift of the mean whose nearer bound lies beyond it is worth a word."""

MOST_NAMED = 6
"""Columns that one line names."""


def layer_rows(profile: ProfileResult) -> list[tuple[str, ...]]:
    """One line for each set of layers that was on together: the set, runs, shifts of mean and spread, kept or why not.

    What the first line names is not repeated.
    """
    first = profile.distortions[0].layers if profile.distortions else ()
    return [
        (
            _named(found.layers, first),
            number(found.runs),
            shift(found.mean) if found.mean else "not known",
            shift(found.spread) if found.spread else "not known",
            f"set aside: {found.set_aside}" if found.set_aside else "kept",
        )
        for found in profile.distortions
    ]


def _named(layers: LayerSet, first: LayerSet) -> str:
    more = [spec for spec in layers if spec not in first]
    return f"+ {', '.join(more)}" if more and set(first) < set(layers) else ", ".join(layers)


def facts(evidence: Evidence) -> list[Fact]:
    """Say how alpha was spent, and what stands in for missing cells."""
    return [fact for ranking in evidence.rankings for fact in _of_look(ranking, evidence)]


def bare_runs(evidence: Evidence) -> str:
    """Count the runs that the shifts are measured against."""
    return number(sum(profile.bare.n for profile in evidence.profiles if profile.bare))


def remarks(evidence: Evidence) -> Iterator[str]:
    """Warn of layers that changed what they were to show."""
    for profile in evidence.profiles:
        yield from of_profile(profile)


def of_profile(profile: ProfileResult) -> Iterator[str]:
    """Warn of the layers of one look; of a set, name the layers that are in no other."""
    for found in profile.distortions:
        elsewhere = {spec for one in profile.distortions if one is not found for spec in one.layers}
        name = ", ".join(spec for spec in found.layers if spec not in elsewhere) or ", ".join(found.layers)
        if found.set_aside:
            yield (
                f"{name}: set aside with all that it shows, since {found.set_aside}; "
                "give the program a longer input, or leave the layer out."
            )
        elif isinstance(found.mean, Claim) and found.mean.low > 1 + SHIFTED:
            yield (
                f"With {name} on, the mean shifts by {shift(found.mean)}: "
                "reading disturbs so short a program; give it a longer input."
            )


def missing_cells(rows: Sequence[Row]) -> Iterator[str]:
    """Name columns that some runs with the same layers on show and others do not: what they read was gone."""
    counted = [row for row in rows if row["ok"] == 1]
    gone: dict[tuple[int, int], list[str]] = {}
    for layers in sorted({str(row["layers"]) for row in counted}):
        runs = [row for row in counted if row["layers"] == layers]
        shown = Counter(name for row in runs for name, cell in row.items() if cell is not None)
        for name, count in shown.items():
            if count < len(runs):
                gone.setdefault((len(runs) - count, len(runs)), []).append(name)
    for (lacking, of), names in gone.items():
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        yield f"Missing in {number(lacking)} of {number(of)} runs: {', '.join(names[:MOST_NAMED])}{more}."


def _groups(count: int) -> str:
    return "1 group of columns" if count == 1 else f"{number(count)} groups of columns"


def _of_look(ranking: RankResult, evidence: Evidence) -> Iterator[Fact]:
    look = f"Look {ranking.look}" if len(evidence.rankings) > 1 or ranking.look_share < 1 else "Search"
    alpha = evidence.run.limits.alpha
    blocks = [
        f"{', '.join(block.layers)} ({number(block.runs)} runs, {_groups(block.clusters)}: "
        f"{number(alpha * block.share, 2)})"
        for block in ranking.blocks
    ]
    spent = f"{number(alpha * ranking.look_share, 2)} of alpha {number(alpha)}"
    yield Fact(look, f"{spent}, split over the order of the runs and {'; '.join(blocks) or 'nothing else'}")
    if ranking.filled:
        cells = ", ".join(f"{name} in {number(count)} runs" for name, count in ranking.filled.items())
        yield Fact("Missing cells, for which the median stands in", cells)
