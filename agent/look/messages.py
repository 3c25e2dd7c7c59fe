"""What the interface asks of the process that computes, and what it answers: frozen, plain, quick to unpickle."""

from __future__ import annotations

import pickle
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...tools.ledger.exports import TypicalRun
from ...tools.statistics.association.tree import DecisionTree
from .distribution import Overlay
from .dots import Scatter
from .scenes import PlottedFactor, PlottedOutcomes
from .stacked import StackedRuns


@dataclass(frozen=True)
class OpenFile:
    """Read a recorded file, or a run folder; answered by OpenedTable."""

    path: str
    outcome: str | None = None
    """None: as the format says."""
    number: int = 0
    """Of the opening: a file may have other runs when it is opened again."""


@dataclass(frozen=True)
class Refit:
    """Label at a cut, fit the tree, rank the factors; answered by Refitted."""

    cut: float
    exact: bool = False
    """With all draws, importance and intervals, as the step by hand would; else with few draws, while a cut moves."""


@dataclass(frozen=True)
class ReadColumn:
    """Read one column beside the outcome; answered by a Scatter, thinned to what can be drawn."""

    name: str


@dataclass(frozen=True)
class ReadPage:
    """Read some rows of the whole table; answered by TablePage."""

    first: int = 0
    count: int = 200
    by: str | None = None
    """Column to sort by; None: as the table stands."""
    descending: bool = False


@dataclass(frozen=True)
class FindShape:
    """Find modes, and the cut that is recorded or else the automatic one; answered by Looking."""


@dataclass(frozen=True)
class ReadTypicalRuns:
    """Find a slow and a fast run among those that have a ledger with stacks; answered by TypicalRuns."""


LookQuestion = OpenFile | FindShape | Refit | ReadColumn | ReadPage | ReadTypicalRuns


@dataclass(frozen=True)
class OpenedTable:
    """A table is open: what is drawn at once."""

    outcomes: PlottedOutcomes
    """Of the runs that count."""
    rows: int
    """Of the whole table."""
    header: tuple[str, ...]


@dataclass(frozen=True)
class Refitted:
    """What one cut gives; where it cannot be labelled there, `reason` says so and the rest is empty."""

    cut: float
    exact: bool
    n_slow: int
    runs: int
    tree: DecisionTree | None = None
    factors: tuple[PlottedFactor, ...] = ()
    reason: str = ""


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
    """The newest first."""
    stacked: StackedRuns = StackedRuns()


@dataclass(frozen=True)
class TablePage:
    """Rows as they are shown; numbers are numbers."""

    first: int
    total: int
    by: str | None
    descending: bool
    rows: tuple[tuple[str | float | None, ...], ...]


@dataclass(frozen=True)
class TypicalRuns:
    """What their threads did."""

    runs: tuple[TypicalRun, ...]
    """The slow one first; none where slow and fast are not told apart."""


@dataclass(frozen=True)
class Failed:
    """What the user can mend, in one sentence."""

    sentence: str


LookAnswer = OpenedTable | Looking | Refitted | Scatter | TablePage | TypicalRuns | Failed


def packed(message: object) -> str:
    """Give a message as text; only the same program is at the other end."""
    return b64encode(pickle.dumps(message, protocol=5)).decode()


def unpacked(text: str) -> Any:
    """Give back what was packed."""
    return pickle.loads(b64decode(text))
