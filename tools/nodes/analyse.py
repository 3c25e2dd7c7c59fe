"""The answer to "which node, and why?"."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from ...knowledge.errors import VgoError
from ..analysis.analyse import analyse
from ..analysis.analysis import Analysis, AnalysisOptions, TableVerdict, concluded
from ..recorded.recorded import Observations, RecordedRuns
from ..statistics.fleet.levels import LEAST_RUNS, Drained, NodeDeviation, NodeEstimates, Odd, drained, levels, odd
from ..statistics.fleet.shares import NodeDifference, Shares, between, differs, medians, shares
from ..statistics.values import ColumnCorrelation, FiniteResult, FloatArray, IntArray

NodesVerdict = Literal["odd nodes", "no odd node", "cannot tell"]
MARGIN = 0.02
"""A node that differs by less is not worth a drain."""
SPREAD_MARGIN = 0.25
"""The least difference of spread that matters, as a ratio less one."""
MOST_FOLLOWING = 10
CONSEQUENCES = ("consequence", "id", "order")


class NodeSummary(FiniteResult):
    """One node."""

    name: str
    runs: int
    median: float
    """Of the outcome."""
    level: NodeDeviation
    spread: NodeDeviation | None
    """None where nothing varies on some node."""
    differs: tuple[NodeDifference, ...] = ()
    """Of odd nodes."""

    @property
    def odd(self) -> bool:
        """Odd in speed or in spread."""
        return self.level.odd or bool(self.spread and self.spread.odd)


class NodeComparison(TableVerdict):
    """The answer of the nodes."""

    verdict: NodesVerdict
    nodes: tuple[NodeSummary, ...]
    """The slowest first."""
    shares: Shares
    alike: bool
    """Nodes were taken to be alike, since fewer than six cannot tell how much ordinary ones differ."""
    ordinary_sd: float
    """How much ordinary nodes differ, as a ratio less one."""
    margin: float
    within: Analysis
    """Of the runs of each node about that node."""
    between: tuple[ColumnCorrelation, ...]
    drain: tuple[str, ...] = ()
    """Slow or unsteady nodes to take out; fast and steady ones are odd and welcome."""
    drained: Drained | None = None
    """All runs without them."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Nodes:
    """Which run was made where."""

    names: tuple[str, ...]
    codes: IntArray
    """Shape (runs,): place of its node in `names`."""


def nodes_of(recorded: RecordedRuns, column: str, design: Observations) -> Nodes:
    """Read the node of each run that counts; raise VgoError for fewer than two nodes."""
    where = recorded.frame[column][design.rows].cast(pl.String)
    if where.null_count():
        raise VgoError(f"{where.null_count()} runs do not say their {column}; leave them out of {recorded.source}.")
    names = tuple(where.unique().sort().to_list())
    if len(names) < 2:
        raise VgoError(
            f"All runs are of one {column} ({names[0]}); use `vgo-agent analyze`, or give runs of more nodes."
        )
    place = {name: code for code, name in enumerate(names)}
    return Nodes(names, np.array([place[name] for name in where.to_list()], dtype=np.int64))


def fleet(design: Observations, nodes: Nodes, question: AnalysisOptions, margin: float = MARGIN) -> NodeComparison:
    """Analyse the runs of a fleet; `nodes` says where each run of the design was made.

    Speed and spread of a node are both looked at, so each pays half of `question.alpha`.
    """
    design, nodes, warnings = _enough(design, nodes)
    found = levels(design.outcome, nodes.codes, nodes.names, ordered=design.ordered)
    alpha = question.alpha / 2
    level = odd(found.location, found.location_error, found.runs, margin=math.log1p(margin), alpha=alpha)
    spread = _spread(found, alpha)
    of_nodes = medians(design.values, nodes.codes, len(nodes.names))
    told = [_node(place, design, nodes, of_nodes, level, spread) for place in range(len(nodes.names))]
    bad = np.array([_bad(node, design.lower_is_better) for node in told])
    drain = tuple(name for name, is_bad in zip(nodes.names, bad, strict=True) if is_bad)
    verdict, reason = _verdict(told)
    return NodeComparison(
        verdict=verdict,
        reason=reason,
        outcome=design.outcome_name,
        unit=design.unit,
        lower_is_better=design.lower_is_better,
        runs=design.outcome.size,
        nodes=tuple(sorted(told, key=lambda node: node.level.ratio, reverse=design.lower_is_better)),
        shares=shares(design.outcome, nodes.codes),
        alike=level.alike,
        ordinary_sd=math.expm1(level.between_sd),
        margin=margin,
        within=_within(design, nodes, of_nodes, question),
        between=_between(design, of_nodes, found.location, question),
        drain=drain,
        drained=drained(design.outcome, nodes.codes, bad, seed=question.seed) if drain and not bad.all() else None,
        warnings=(*design.warnings, *warnings),
    )


def _enough(design: Observations, nodes: Nodes) -> tuple[Observations, Nodes, tuple[str, ...]]:
    """Leave out nodes with too few runs; raise VgoError when fewer than two are left."""
    sizes = np.bincount(nodes.codes, minlength=len(nodes.names))
    kept = np.flatnonzero(sizes >= LEAST_RUNS)
    if kept.size < 2:
        raise VgoError(f"Only {kept.size} nodes have {LEAST_RUNS} runs or more; run each node more often.")
    if kept.size == sizes.size:
        return design, nodes, ()
    rows = np.flatnonzero(np.isin(nodes.codes, kept))
    left = sizes.size - kept.size
    words = f"{left} node{'s' * (left != 1)} with fewer than {LEAST_RUNS} runs left out."
    codes = np.searchsorted(kept, nodes.codes[rows])
    part = replace(
        design,
        outcome=design.outcome[rows],
        values=np.asfortranarray(design.values[rows]),
        rows=design.rows[rows],
        runs=None if design.runs is None else design.runs[rows],
    )
    return part, Nodes(tuple(nodes.names[place] for place in kept), codes), (words,)


def _spread(found: NodeEstimates, alpha: float) -> Odd | None:
    if not np.isfinite(found.spread).all() or not (found.spread_error > 0).all():
        return None
    return odd(found.spread, found.spread_error, found.runs, margin=math.log1p(SPREAD_MARGIN), alpha=alpha, seed=2)


def _node(
    place: int, design: Observations, nodes: Nodes, of_nodes: FloatArray, level: Odd, spread: Odd | None
) -> NodeSummary:
    """Describe a node; of an odd one name the columns in which it stands out, but those that follow from its time."""
    own = design.outcome[nodes.codes == place]
    node = NodeSummary(
        name=nodes.names[place],
        runs=own.size,
        median=float(np.median(own)),
        level=level.of(place),
        spread=spread.of(place) if spread else None,
    )
    if not node.odd:
        return node
    keep = _asked(design)
    names = [design.names[column] for column in keep]
    found = differs(design.values[:, keep], nodes.codes, of_nodes[:, keep], place, names)
    return node.model_copy(update={"differs": found})


def _asked(design: Observations) -> IntArray:
    """Columns that may explain a node."""
    usable = [design.roles.get(name, "factor") not in CONSEQUENCES for name in design.names]
    return np.flatnonzero(usable)


def _bad(node: NodeSummary, lower_is_better: bool) -> bool:
    slow = node.level.odd and (node.level.ratio > 1) == lower_is_better
    return slow or bool(node.spread and node.spread.odd and node.spread.ratio > 1)


def _verdict(told: list[NodeSummary]) -> tuple[NodesVerdict, str]:
    names = ", ".join(node.name for node in told if node.odd)
    if len(told) == 2:
        return "cannot tell", "Of two nodes none is the odd one: the interval says by how much they differ."
    if names:
        return "odd nodes", f"Differ from the other nodes by more than ordinary nodes do: {names}."
    return "no odd node", "No node differs from the others by more than luck and the margin."


def _within(design: Observations, nodes: Nodes, of_nodes: FloatArray, question: AnalysisOptions) -> Analysis:
    """Analyse runs about their node: outcomes are scaled to the median node, columns are moved to it."""
    location = np.array([np.median(design.outcome[nodes.codes == node]) for node in range(len(nodes.names))])
    outcome = design.outcome * (float(np.median(location)) / location)[nodes.codes]
    values = design.values + (np.median(of_nodes, axis=0) - of_nodes)[nodes.codes]
    varies = (values != values[:1]).any(axis=0) if values.size else np.zeros(len(design.names), dtype=np.bool_)
    keep = np.flatnonzero(varies)
    gone = {name: "the same in all runs of a node" for name, does in zip(design.names, varies, strict=True) if not does}
    names = tuple(design.names[place] for place in keep)
    centred = replace(
        design,
        outcome=outcome,
        names=names,
        values=np.asfortranarray(values[:, keep]),
        groups={setting: tuple(m for m in members if m in names) for setting, members in design.groups.items()},
        set_aside={**design.set_aside, **gone},
        assumed=False,
    )
    found = analyse(centred, question)
    return concluded(found, found.p_value, question)


def _between(
    design: Observations, of_nodes: FloatArray, location: FloatArray, question: AnalysisOptions
) -> tuple[ColumnCorrelation, ...]:
    keep = _asked(design)
    found = between(of_nodes[:, keep], location, [design.names[column] for column in keep], seed=question.seed)
    return found[:MOST_FOLLOWING]
