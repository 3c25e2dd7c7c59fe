"""The files made from a finished run: run table's description, report as Markdown and as one HTML page."""

from __future__ import annotations

import numpy as np

from ...tools.candidates import ORDER
from ...tools.document import illustrated
from ...tools.findings import Batch
from ...tools.mpi.rank_summary import RANKS
from ...tools.run_table import PairedOutcomes
from ...tools.trial_results import ScreenResult
from ..record import FinishedRun
from ..render.html import html_page
from ..render.text import markdown_page
from . import nodes
from .diagnosis import document
from .evidence import Evidence, gather, unit
from .figures import Outcomes, distribution, overlay, run_order, scatter
from .ledger_figures import ledger_pictures
from .numbers import number
from .ranks import csv_of
from .strips import levels_figure
from .tables import runs_md
from .tree_figure import tree


def pictures(evidence: Evidence) -> dict[str, str]:
    """Draw what there is data for: SVG by name, empty where a step is missing."""
    return {
        "distribution": _distribution(evidence),
        "overlay": _overlay(evidence),
        "order": _order(evidence),
        "scatter": _scatter(evidence),
        "levels": _levels(evidence),
        **(ledger_pictures(split, found.shares) if (found := evidence.ledger) and (split := evidence.split) else {}),
        **nodes.pictures(evidence),
        "tree": tree(evidence.tree.tree) if evidence.tree and len(evidence.tree.tree.nodes) > 1 else "",
    }


def _axis(evidence: Evidence, leveled: bool = False) -> Outcomes:
    name = "wall time" if evidence.run.subject.metric is None else "outcome"
    return Outcomes(f"{name}, hosts on one level" if leveled else name, evidence.run.subject.unit)


def _distribution(evidence: Evidence) -> str:
    """The labelled runs; before labelling, the baseline without its warm-up."""
    runs = evidence.runs_explained
    if evidence.labelled and runs:
        classes, shape = evidence.labelled.classes, evidence.labelled.shape
        modes = [mode.position for mode in shape.modes]
        slow = np.array(classes.slow, dtype=bool)
        return distribution(runs.outcome, slow, classes.cut, modes, _axis(evidence, runs.of_hosts))
    if evidence.baseline is None or evidence.measured is None:
        return ""
    values = evidence.baseline.outcome()[evidence.measured.warm_up :]
    modes = [mode.position for mode in evidence.measured.shape.modes]
    return distribution(values, None, None, modes, _axis(evidence)) if values.size else ""


def _overlay(evidence: Evidence) -> str:
    batch = evidence.telling
    if batch is None or batch.compared is None:
        return ""
    pairs = _paired(batch, evidence)
    baseline, mitigated = pairs.compared
    title = f"spread ratio {batch.compared.comparison.shown('spread')}"
    return overlay(baseline, mitigated, _axis(evidence, pairs.hosts is not None), title) if baseline.size else ""


def _order(evidence: Evidence) -> str:
    if evidence.baseline is None or evidence.measured is None:
        return ""
    batch, outcome = evidence.telling, evidence.baseline.outcome()
    pairs = _paired(batch, evidence)[:2] if batch else None
    return run_order(outcome, evidence.measured.warm_up, pairs, _axis(evidence)) if outcome.size else ""


def _paired(batch: Batch, evidence: Evidence) -> PairedOutcomes:
    return evidence.record.runs(batch.call).paired(batch.applied.mitigation, block=batch.applied.block)


def _levels(evidence: Evidence) -> str:
    if evidence.screened is None:
        return ""
    call, screened = evidence.last(ScreenResult)
    table = evidence.record.runs(call)
    outcomes = {level.level: table.outcome(level.level) for level in (screened.baseline, *screened.levels)}
    return levels_figure(outcomes, screened.best, screened.parameter, _axis(evidence))


def _scatter(evidence: Evidence) -> str:
    factor, runs = evidence.factor, evidence.runs_explained
    if factor is None or runs is None or evidence.labelled is None:
        return ""
    name = "order" if factor.column == ORDER else factor.column
    slow = np.array(evidence.labelled.classes.slow, dtype=bool)
    title = f"R² {number(factor.r2, 2)}" if factor.r2 is not None else ""
    leveled = ", hosts on one level" if runs.of_hosts else ""
    column = Outcomes(f"{factor.column}{leveled}", unit(factor.column, evidence.columns))
    if name not in runs.table.frame.columns:
        return ""  # a text: how often it was each value is no axis
    values = runs.table.column(name)
    shown = np.isfinite(values)
    across = runs.within(values[shown], shown) if runs.of_hosts else values[shown]  # as it was ranked
    return scatter(across, runs.outcome[shown], slow[shown], column, _axis(evidence, runs.of_hosts), title)


def outputs(run: FinishedRun) -> dict[str, bytes]:
    """Make every file, by name; the same run gives the same bytes."""
    evidence = gather(run)
    ranks, page = csv_of(evidence), document(evidence)
    return {
        **({RANKS: ranks} if ranks else {}),
        "runs.md": runs_md(run),
        "report.md": markdown_page(page).encode(),
        "report.html": html_page(illustrated(page, pictures(evidence))).encode(),
    }
