"""Conditions compared within nodes, and the hosts of a diagnosis that was made on many."""

from __future__ import annotations

import io
import math
from typing import NamedTuple

import numpy as np
import polars as pl

from ...knowledge.errors import VgoError
from ...layers.launcher import HOST
from ..analysis.analysis import AnalysisOptions
from ..findings import Findings
from ..hosts import MARGIN
from ..recorded.design import designs
from ..recorded.formats.vgo import counted, measured
from ..recorded.recorded import ColumnOptions, Observations, RecordedRuns
from ..run_table import RUNS
from ..statistics.fleet.levels import LEAST_RUNS, Pooled, levels, pooled
from ..statistics.values import FiniteResult, FloatArray
from ..subject import Limits, Subject
from .analyse import NodeComparison, Nodes, fleet, nodes_of


class HostComparison(NamedTuple):
    """Hosts that were compared, and the runs that they were compared by."""

    found: NodeComparison
    design: Observations
    nodes: Nodes


def seen(findings: Findings, subject: Subject, limits: Limits) -> HostComparison | str:
    """Compare the hosts by the last profile, else by the baseline; a sentence where that cannot be done."""
    calls, record = findings.calls("profile") or findings.calls("measure"), findings.record
    if not calls:
        return "No run was measured."
    call = record.call(calls[-1])
    layers = record.layers(call)
    source = io.BytesIO(record.store.get(call.artefacts[RUNS]))
    texts = {column.name: pl.String for layer in layers.values() for column in layer.columns if column.type == "text"}
    header = pl.read_csv(io.BytesIO(source.getvalue()), n_rows=0).columns
    known = {name: kind for name, kind in {**texts, "layers": pl.String}.items() if name in header}
    frame = pl.read_csv(source, infer_schema_length=None, schema_overrides=known)
    facts = {"subject": subject.model_dump(mode="json")}
    recorded = counted(measured(frame, call.call_id, list(layers.values()), facts))
    try:
        return _compared(recorded, AnalysisOptions(alpha=limits.alpha, seed=limits.seed))
    except VgoError as few:
        return str(few)


def _compared(recorded: RecordedRuns, question: AnalysisOptions) -> HostComparison:
    design = designs(recorded, ColumnOptions(exclude=(HOST.name,)))[0][1]
    nodes = nodes_of(recorded, HOST.name, design)
    return HostComparison(fleet(design, nodes, question, MARGIN), design, nodes)


class OnNode(FiniteResult):
    """One node."""

    name: str
    runs: tuple[int, int]
    spread_ratio: float
    """Of mean absolute deviations of log outcome, second condition over first."""
    level_ratio: float


class WithinNodeEffect(FiniteResult):
    """Second condition over first, within nodes."""

    conditions: tuple[str, str]
    spread: Pooled
    level: Pooled
    nodes: tuple[OnNode, ...]
    left_out: tuple[str, ...]
    """Nodes with too few runs of one condition, or without spread."""


def effect(
    recorded: RecordedRuns, design: Observations, nodes: Nodes, column: str, conditions: tuple[str, str]
) -> WithinNodeEffect:
    """Compare two values of a column within each node, and pool; raise VgoError when fewer than two nodes have both."""
    values = recorded.frame[column][design.rows].cast(pl.String).to_numpy()
    rows: list[OnNode] = []
    log_ratios: list[tuple[float, float, float, float]] = []
    left_out = []
    for place, name in enumerate(nodes.names):
        arms = [design.outcome[(nodes.codes == place) & (values == one)] for one in conditions]
        found = _ratios(arms, conditions, design.ordered)
        if found is None:
            left_out.append(name)
            continue
        log_ratios.append(found)
        rows.append(
            OnNode(
                name=name,
                runs=(arms[0].size, arms[1].size),
                spread_ratio=math.exp(found[0]),
                level_ratio=math.exp(found[2]),
            )
        )
    if len(rows) < 2:
        raise VgoError(
            f"Only {len(rows)} nodes have {LEAST_RUNS} runs of both {conditions[0]} and {conditions[1]} in {column}; "
            "run both on each node."
        )
    spread, spread_error, level, level_error = np.array(log_ratios).T
    return WithinNodeEffect(
        conditions=conditions,
        spread=pooled(spread, spread_error),
        level=pooled(level, level_error),
        nodes=tuple(rows),
        left_out=tuple(left_out),
    )


def _ratios(arms: list[FloatArray], names: tuple[str, str], ordered: bool) -> tuple[float, float, float, float] | None:
    """Log ratio of spreads and of levels, each with its error; None where an arm is too short or does not vary."""
    if min(arm.size for arm in arms) < LEAST_RUNS:
        return None
    codes = np.repeat(np.arange(2), [arm.size for arm in arms])
    found = levels(np.concatenate(arms), codes, names, ordered=ordered)
    if not np.isfinite(found.spread).all():
        return None
    return (
        float(found.spread[1] - found.spread[0]),
        float(np.hypot(*found.spread_error)),
        float(found.location[1] - found.location[0]),
        float(np.hypot(*found.location_error)),
    )
