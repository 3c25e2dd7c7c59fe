"""What pictures are made of: arrays and what is known about them, frozen; nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ...tools.statistics.association.tree import DecisionTree
from ...tools.statistics.values import FloatArray

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
class Scatter:
    """One column against the outcome, run by run."""

    column: str
    values: FloatArray
    """Shape (runs,), in step with `outcomes`."""
    outcomes: PlottedOutcomes
    unit: str = ""
    r2: float | None = None
    """Of all runs, where `values` are a sample of them."""


@dataclass(frozen=True)
class Overlay:
    """Baseline and mitigated runs, and what the comparison says of their spread."""

    baseline: PlottedOutcomes
    mitigated: PlottedOutcomes
    mitigation: str
    ratio: float | None = None
    """Of the spreads, mitigated over baseline."""
    low: float | None = None
    high: float | None = None
    """Ends of its interval."""
    verdict: str = ""
    held_against: str = "baseline"
    """Name of the arm that `mitigated` is held against."""


@dataclass(frozen=True)
class SmallTable:
    """A few rows that fit into memory; numbers sort as numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str | float | None, ...], ...]


@dataclass(frozen=True)
class Looking:
    """All that the tabs show at one moment; what is not there yet is empty or None."""

    outcomes: PlottedOutcomes = field(default_factory=PlottedOutcomes)
    cut: float | None = None
    """As the record has it."""
    modes: tuple[float, ...] = ()
    tree: DecisionTree | None = None
    factors: tuple[PlottedFactor, ...] = ()
    scatters: Mapping[str, Scatter] = field(default_factory=dict)
    """By column."""
    overlays: tuple[Overlay, ...] = ()
