"""The layers: which were on, what they did to the runs, and how alpha was spent over what they showed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ...tools.claim import Claim
from ...tools.distortion import shift
from ...tools.experiment.rotation import LayerSet
from ...tools.profile import ProfileResult
from ...tools.rank_factors import RankResult
from ...tools.row import Row
from .evidence import Evidence
from .numbers import number
from .story import Fact

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
