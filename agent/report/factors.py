"""What goes with slow runs: the factor and its rivals, the tree, and the layers that saw them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ...tools.claim import Claim
from ...tools.distortion import shift
from ...tools.document import Block, Command, Facts, Figure, Listing, Section, Table, TableColumn
from ...tools.experiment.schedules import LayerSet
from ...tools.ranking import RankedFactor, RankResult
from ...tools.results import FitTreeResult, ProfileResult
from ...tools.row import Row
from .evidence import Evidence, meaning, unit
from .numbers import Fact, number, p_cell, p_value, percent, quantity

MOST_RANKED = 8
RANKED = (
    "column",
    "factor",
    "columns in it",
    "runs",
    TableColumn("AUC", digits=3),
    TableColumn("importance", digits=2),
    "stability",
    "family-wise p",
    "visible",
)
UNSURE = "; a shift of the mean as large as slow and fast runs differ is not ruled out"
SHIFTS = ("layers on", "runs", "mean shifts", "spread shifts", "")


def factor(evidence: Evidence) -> Iterator[Section]:
    """Tell of the visible factor: what was looked up, else what is known, else the numbers alone."""
    factor = evidence.factor
    if factor is None:
        return
    looked = next((result for result in evidence.looked_up if result.factor == factor.factor), None)
    names = evidence.run.knowledge.factors
    known = names.get(factor.factor)
    source = looked or known
    others = [names[key].name for key in known.confused_with if key in names] if known else []
    members = tuple((f"`{name}`", meaning(name, evidence.columns)) for name in factor.members)
    yield Section(
        f"The factor: {known.name if known else factor.factor}",
        (
            source.description if source else "The knowledge base has no entry for it.",
            f"Shown by `{factor.column}`. {meaning(factor.column, evidence.columns)}",
            Figure("scatter", "Each mark is one profiled run; the dotted line is the best straight one."),
            Facts(tuple(_strength(factor, unit(factor.column, evidence.columns)))),
            Section(
                f"{len(members)} columns that say the same thing",
                (Facts(members if len(members) > 1 else ()),),
                folded=True,
            ),
            f"Easily confused with: {', '.join(others)}." if others else "",
            Section("References", (Listing(looked.references if looked else ()),)),
        ),
    )


def _strength(factor: RankedFactor, column_unit: str) -> Iterator[Fact]:
    slow, fast = quantity(factor.slow_median, column_unit), quantity(factor.fast_median, column_unit)
    yield "Medians", f"{slow} in slow runs, {fast} in fast ones"
    yield "AUC", f"{number(factor.auc, 3)}: chance that a slow run shows more of it than a fast one"
    if factor.auc_per_second is not None:
        yield "AUC per second", f"{number(factor.auc_per_second, 3)}: it is no mere consequence of a longer run"
    if factor.r2 is not None:
        yield "R²", f"{number(factor.r2, 2)}: share of the variance of the outcome that goes with it linearly"
    yield "Importance", f"{number(factor.importance, 2)}: accuracy on unseen runs lost without it"
    yield "Stability", f"{percent(factor.stability, 2)} of subsamples have it among the first three"
    yield "Family-wise p", f"{p_value(factor.p_value)}: paid for every group of counters looked at"


def cut(evidence: Evidence) -> str:
    """Say where the cut lies and why; empty where runs were not labelled."""
    if evidence.labelled is None:
        return ""
    found = evidence.labelled.classes
    total = found.n_slow + found.n_fast
    cut = quantity(found.cut, evidence.run.subject.unit)
    return f"{number(found.n_slow)} of {number(total)} profiled runs are slow: the cut lies at {cut}, {found.how}."


def classes(evidence: Evidence) -> Iterator[Section]:
    """Tell how slow and fast runs were told apart: the cut, the tree, the ranking."""
    told, ranking = cut(evidence), evidence.ranking
    fixed = f"{told} The cut was fixed before any counter was looked at." if told else ""
    rows = [_ranked(factor, evidence) for factor in evidence.factors[:MOST_RANKED]]
    aside = tuple(_set_aside(ranking)) if ranking else ()
    count = len(ranking.set_aside) if ranking else 0
    yield Section(
        "How slow and fast were told apart",
        (
            fixed,
            *_tree(evidence),
            Table(RANKED, rows, "Ranking of the groups of columns"),
            Section(f"{count} columns set aside before ranking", (Facts(aside),), folded=True),
        ),
    )


def _ranked(factor: RankedFactor, evidence: Evidence) -> tuple[str | float, ...]:
    known = evidence.run.knowledge.factors.get(factor.factor)
    gone = ", gone beside those above" if factor.independent is False else ""
    return (
        f"`{factor.column}`",
        known.name if known else "",
        len(factor.members),
        factor.runs,
        factor.auc,
        factor.importance,
        percent(factor.stability, 2),
        p_cell(factor.p_value),
        f"yes{gone}" if factor.suspect else "less in slow runs" if factor.visible else "no",
    )


def _set_aside(ranking: RankResult) -> Iterator[Fact]:
    """Why columns could not be factors: reason and columns, the reasons that speak of one column first."""
    grouped: dict[str, list[str]] = {}
    for name, reason in sorted(ranking.set_aside.items()):
        grouped.setdefault(reason, []).append(name)
    for reason, names in sorted(grouped.items(), key=lambda item: (len(item[1]), item[1])):
        yield reason, ", ".join(f"`{name}`" for name in names)


def _tree(evidence: Evidence) -> Iterator[Block]:
    """Show the tree, and tell how far to believe it; nothing where it asks nothing."""
    fitted = evidence.tree
    if fitted is None or len(fitted.tree.nodes) == 1:
        return
    tree = fitted.tree
    unseen = percent(tree.cross_validated) if tree.cross_validated is not None else "not known"
    yield Figure("tree")
    yield (
        f"{_tree_runs(fitted, evidence)}The tree explains; it does not decide. On runs that it had not seen its "
        f"balanced accuracy is {unseen} (50 % is a coin); the {percent(tree.in_sample)} on its own runs mean little, "
        f"since it chose among {fitted.columns} columns."
    )
    yield Section("The tree as text", (Command(tree.text().rstrip("\n"), language=""),), folded=True)


def _tree_runs(tree: FitTreeResult, evidence: Evidence) -> str:
    labelled = evidence.labelled
    if labelled is None or tree.runs == len(labelled.classes.slow):
        return ""
    return f"It was fitted to the {number(tree.runs)} runs with {', '.join(tree.layers)} on. "


SHIFTED = 0.05
"""A shift of the mean whose nearer bound lies beyond it is worth a word."""
MOST_NAMED = 6
"""Columns that one line names."""


def layers(evidence: Evidence) -> Iterator[Section]:
    """Tell what reading costs the program, how alpha was spent, and what stands in for missing cells."""
    if evidence.profiles:
        bare = number(sum(profile.bare.n for profile in evidence.profiles if profile.bare))
        cost = f"What reading costs the program, against {bare} bare runs made between the others in random order."
        rows = [row for profile in evidence.profiles for row in shift_rows(profile)]
        searches = tuple(fact for ranking in evidence.rankings for fact in _of_look(ranking, evidence))
        yield Section("The layers", (cost, Table(SHIFTS, rows), Facts(searches)))


def shift_rows(profile: ProfileResult) -> list[tuple[str, ...]]:
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
            f"set aside: {found.set_aside}" if found.set_aside else f"kept{UNSURE * found.unsure}",
        )
        for found in profile.distortions
    ]


def _named(layers: LayerSet, first: LayerSet) -> str:
    more = [spec for spec in layers if spec not in first]
    return f"+ {', '.join(more)}" if more and set(first) < set(layers) else ", ".join(layers)


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
                f"{'give the program a longer input, or ' * found.shifts}leave the layer out."
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
    yield look, f"{spent}, split over the order of the runs and {'; '.join(blocks) or 'nothing else'}"
    if ranking.filled:
        cells = ", ".join(f"{name} in {number(count)} runs" for name, count in ranking.filled.items())
        yield "Missing cells, for which the median stands in", cells
