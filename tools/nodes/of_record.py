"""The fleet of a diagnosis that was made on many hosts, from its own record."""

from __future__ import annotations

import io
from typing import NamedTuple

import polars as pl

from ...knowledge.errors import VgoError
from ...layers.launcher import HOST
from ..analysis.analysis import AnalysisOptions
from ..case import Record
from ..hosts import MARGIN
from ..recorded.design import designs
from ..recorded.formats.vgo import counted, measured
from ..recorded.recorded import RecordedRuns
from ..recorded.shapes import ColumnOptions, Observations
from ..run_table import RUNS
from ..subject import Limits, Subject
from .analyse import Nodes, fleet, nodes_of
from .node_comparison import NodeComparison


class HostComparison(NamedTuple):
    """Hosts that were compared, and the runs that they were compared by."""

    found: NodeComparison
    design: Observations
    nodes: Nodes


def seen(record: Record, subject: Subject, limits: Limits) -> HostComparison | str:
    """Compare the hosts by the last profile, else by the baseline; a sentence where that cannot be done."""
    calls = record.succeeded("profile") or record.succeeded("measure")
    if not calls:
        return "No run was measured."
    call = calls[-1]
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
