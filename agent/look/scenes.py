"""What pictures are made of: arrays and what is known about them, frozen; nothing is computed here."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ...tools.statistics.values import BoolArray, FloatArray

if TYPE_CHECKING:
    from ...tools.recorded.recorded import Observations

RUN_ORDER = "run_index"
"""Column that stands for the order of the runs, as `tools.candidates.ORDER`, which takes long to import."""
NOTHING: FloatArray = np.empty(0)


@dataclass(frozen=True)
class PlottedOutcomes:
    """Outcomes in run order, shape (runs,); some may not be finite."""

    values: FloatArray = field(default_factory=lambda: NOTHING)
    unit: str = ""
    name: str = "outcome"
    lower_is_better: bool = True


def outcomes_of(design: Observations) -> PlottedOutcomes:
    """Show the outcomes of a group of runs."""
    return PlottedOutcomes(design.outcome, design.unit, design.outcome_name, design.lower_is_better)


def slow_of(values: FloatArray, outcomes: PlottedOutcomes, cut: float | None) -> BoolArray:
    """Which runs are on the worse side of the cut, shape (runs,); none without a cut."""
    if cut is None:
        return np.zeros(values.size, dtype=np.bool_)
    slow: BoolArray = values > cut if outcomes.lower_is_better else values < cut
    return slow


@dataclass(frozen=True)
class PlottedFactor:
    """One factor as the ranking shows it."""

    name: str
    column: str
    auc: float
    p_value: float
    r2: float | None
    visible: bool
    slow_median: float
    fast_median: float


def plotted(found: Any, **changed: Any) -> PlottedFactor:
    """Take from a factor, however it was found, what is shown, but for what is given."""
    names = [one.name for one in fields(PlottedFactor) if one.name not in changed]
    return PlottedFactor(**{name: getattr(found, name) for name in names}, **changed)


@dataclass(frozen=True)
class SmallTable:
    """A few rows that fit into memory; numbers sort as numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str | float | None, ...], ...]
