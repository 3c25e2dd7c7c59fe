"""What the tabs show of a session at one moment: its arrays, and what its steps have found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...tools.claim import in_a_word
from ...tools.row import BASELINE, FIXED
from ...tools.statistics.values import BoolArray
from ...tools.trial_results import CompareResult
from ..session_view.measured import RunArrays
from ..session_view.view import SessionView
from .distribution import Histogram, Overlay, SpreadRatio
from .dots import Scatter
from .messages import Looking
from .plot import TextFigure
from .scenes import RUN_ORDER, PlottedFactor, PlottedOutcomes, plotted, slow_of
from .stacked import StackedRuns, stacked_runs


def looking_of(view: SessionView) -> Looking:
    """Show what is being measured now; after a label, the runs that were labelled."""
    factors = tuple(plotted(one, name=one.factor) for one in view.findings.factors)
    cut = view.cut
    live = view.measured[-1] if view.measured else None
    shown = _labelled(view) or live
    return Looking(
        outcomes=PlottedOutcomes() if shown is None else _outcomes(view, shown, _standing(view, shown)),
        cut=None if cut is None else cut.value,
        modes=view.modes,
        tree=view.findings.tree.tree if view.findings.tree else None,
        factors=factors,
        scatters=_scatters(view, factors),
        overlays=tuple(_overlay(view, one) for one in reversed(view.measured) if len(one.conditions) > 1),
        stacked=StackedRuns() if shown is None else _stacked(view, shown, cut.value if cut else None),
    )


def _labelled(view: SessionView) -> RunArrays | None:
    """The profile that the cut is of; None while a newer one is made."""
    profiles = [one for one in view.measured if one.tool == "profile"]
    return profiles[-1] if view.cut is not None and profiles else None


def _stacked(view: SessionView, shown: RunArrays, cut: float | None) -> StackedRuns:
    rows = shown.where(BASELINE)
    outcomes = _outcomes(view, shown, rows)
    columns = {name: column[rows] for name, column in shown.columns.items()}
    return stacked_runs(columns, slow_of(outcomes.values, outcomes, cut))


def _standing(view: SessionView, shown: RunArrays) -> BoolArray:
    """Runs that the label is of: those with layers on, where that tells as many as were labelled."""
    counted = shown.where(BASELINE)
    if view.cut is None or shown.tool != "profile":
        return counted
    metrics = [column for name, column in shown.columns.items() if name not in FIXED]
    read = np.isfinite(metrics).any(axis=0) if metrics else counted
    return counted & read if int((counted & read).sum()) == len(view.cut.slow) else counted


def _outcomes(view: SessionView, shown: RunArrays, rows: BoolArray) -> PlottedOutcomes:
    return PlottedOutcomes(shown.columns["outcome"][rows], view.unit, view.outcome, view.lower_is_better)


def _scatters(view: SessionView, factors: tuple[PlottedFactor, ...]) -> Mapping[str, Scatter]:
    profile = _labelled(view)
    if profile is None:
        return {}
    rows = _standing(view, profile)
    outcomes = _outcomes(view, profile, rows)
    columns = {name: column[rows] for name, column in profile.columns.items()}
    columns[RUN_ORDER] = np.arange(outcomes.values.size, dtype=np.float64)
    shown = [one for one in factors if one.column in columns]
    return {one.column: Scatter(one.column, columns[one.column], outcomes, r2=one.r2) for one in shown}


def _overlay(view: SessionView, pairs: RunArrays) -> Overlay:
    """Both arms of one batch; the ratio once the batch is compared."""
    mitigation = next(name for name in pairs.conditions if name != BASELINE)
    baseline, mitigated = (_outcomes(view, pairs, pairs.where(name)) for name in (BASELINE, mitigation))
    batch = next((step.arguments.get("batch") for step in view.steps if step.call_id == pairs.call_id), None)
    shown = f"{mitigation}, batch {batch}" if batch else mitigation
    overlay = Overlay(baseline, mitigated, shown, name=pairs.call_id)
    compared = [one.result for one in view.findings.ended(CompareResult) if one.call.arguments["call"] == pairs.call_id]
    if not compared:
        return overlay
    spread = compared[0].comparison.spread
    ratio = SpreadRatio(*(getattr(spread, end, None) for end in ("ratio", "low", "high")))
    return replace(overlay, ratio=ratio, verdict=in_a_word(spread))


def overlays_of(given: Mapping[str, Any]) -> tuple[Overlay, ...]:
    """Lay each arm over the first, from what `desk.recorded` answers; none where there is one table."""
    if not given["ratios"]:
        return ()
    (first, baseline), *others = _arms(given).items()
    return tuple(
        Overlay(baseline, arm, name, SpreadRatio(*ratio), claim, first, name)
        for name, arm in others
        for *ratio, claim in [given["ratios"][name]]
    )


def figures_of(given: Mapping[str, Any]) -> tuple[TextFigure, ...]:
    """Give the overlays of several tables, or the distribution of each group of one."""
    return overlays_of(given) or tuple(Histogram(arm, name=name) for name, arm in _arms(given).items())


def _arms(given: Mapping[str, Any]) -> dict[str, PlottedOutcomes]:
    return {
        name: PlottedOutcomes(np.asarray(values), given["unit"], given["metric"], given["lower_is_better"])
        for name, values in given["arms"].items()
    }


def place_words(paths: Sequence[str], place: int) -> str:
    """Say which of several files is open; empty for one."""
    if len(paths) < 2:
        return ""
    return f"{Path(paths[place]).name}, {place + 1} of {len(paths)}: [ and ] choose, Compare holds them side by side."
