"""What a ranking of factors says: which go with slow runs, with failing ones, and in how much of the time they lie."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from ..knowledge.shape import Frozen, is_empty, is_none
from ..knowledge.time_states import TimeState
from ..layers.schema import Column
from .ledger.ledger import Ledger
from .ledger.shares import StateShare
from .record import Result
from .statistics.association.columns import ColumnAssociation
from .statistics.association.interactions import Interaction
from .statistics.values import BoolArray, FloatArray
from .verdict import Placed

LEAST = 0.1
"""Of what the states that a factor acts on hold of the gap: a counter that can stand for less is not what holds it."""
MILLISECONDS = {"s": 1e3, "ms": 1.0, "us": 1e-3, "ns": 1e-6}
COUNTED = frozenset({"count", "bytes", "pages"})
MOST_FAILING = 3
"""Factors of failing that are told."""


def elsewhere(
    ledger: Ledger, acts_on: Sequence[TimeState], column: Column | None, values: FloatArray, slow: BoolArray
) -> str:
    """Say in a clause why a factor cannot hold what slow runs take longer; empty where it can.

    Its states hold nothing of it, or its counter, shape (runs,), counts what made none of them longer, or moves too
    little to make them as long as they are.
    """
    if column and column.counts_waits:
        return "it counts how often the program was off a CPU, and how long that was is known"
    if not (held := ledger.held_by(acts_on)):
        return f"what it acts on holds {ledger.gap_ms(acts_on):.3g} of {ledger.shares.gap_ms:.3g} ms"
    most = most_ms(column, values, slow, held) if column else None
    there = sum(one.gap_ms for one in held)
    if most is None or most >= LEAST * there:
        return ""
    return f"it can stand for {most:.2g} of the {there:.3g} ms that slow runs spend more in what it acts on"


def most_ms(column: Column, values: FloatArray, slow: BoolArray, held: Sequence[StateShare]) -> float | None:
    """Bound the milliseconds that a counter can add to slow runs; None where it neither counts nor times.

    One unit takes at most what all the time of the states that it acts on comes to for each unit, and never more than
    the layer says of it.
    """
    if column.level or column.rate:
        return None
    more = abs(float(np.nanmean(values[slow]) - np.nanmean(values[~slow])))
    if column.unit in MILLISECONDS:
        return more * MILLISECONDS[column.unit]
    if column.unit not in COUNTED or not (mean := float(np.nanmean(values))) > 0:
        return None
    each = sum(one.mean_ms for one in held) / mean
    return more * min(each, column.most_us / 1e3 if column.most_us else np.inf)


class RankedFactor(ColumnAssociation):
    """A cluster of collinear columns, named by its most actionable member.

    Its p-value is family-wise over every cluster of all blocks and looks; it is visible where its effect matters, too:
    alone, or with another column.
    """

    factor: str
    """Key of the knowledge base, or the column where it has none."""
    auc_per_second: float | None
    """The AUC of its rate; None where a rate means nothing."""
    importance: float
    """Drop of cross-validated balanced accuracy when the cluster is shuffled."""
    stability: float
    """Share of subsamples in which it is among the first three."""
    contrary: bool = False
    """Slow runs show less of what should be low: it goes with slowness and cannot be what makes it."""
    runs: int
    """Runs that it was looked at in: those with its layer on."""
    elsewhere: str = Field(default="", exclude_if=is_empty)
    """Clause: it goes with slow runs, and cannot hold what they take longer."""
    sd_left: float | None = Field(default=None, exclude_if=is_none)
    """Ratio of standard deviations if that of the states it acts on did not vary which matters most."""

    @property
    def suspect(self) -> bool:
        """Tell whether it may be what makes runs slow."""
        return self.visible and not self.contrary and not self.elsewhere

    @property
    def association(self) -> str:
        """How surely it goes with slow runs."""
        return f"AUC {self.auc:.2f}, family-wise p {self.p_value:.2g}"


class BlockLooked(Frozen):
    """Columns that were read in the same runs."""

    layers: tuple[str, ...]
    runs: int
    columns: int
    clusters: int
    share: float
    """Of alpha that was spent on them."""


class Failing(Frozen):
    """What goes with failing among the profiled runs; association, and a question of its own at the same alpha."""

    runs: int
    failed: int
    """Of them."""
    longer: float
    """Median time of a failed run over that of the others: below 1, they stop early."""
    p_value: float
    """Of the whole search."""
    clusters: int
    factors: tuple[RankedFactor, ...] = ()
    """Only those that are visible, where `slow` stands for failed; a count that is merely less, as it is in a run that
    stops early, is not among them."""

    @property
    def words(self) -> str:
        """Say it in a sentence."""
        shown = "; ".join(f"{one.factor} ({one.column}), {one.association}" for one in self.first)
        found = f"with failing goes {shown}" if shown else f"with failing goes nothing (p {self.p_value:.2g})"
        return f"{self.failed} of {self.runs} profiled runs failed: {found}."

    @property
    def first(self) -> tuple[RankedFactor, ...]:
        """The strongest column of each factor, of a few."""
        return tuple({one.factor: one for one in reversed(self.factors)}.values())[::-1][:MOST_FAILING]


class RankResult(Result):
    """What goes with slowness, most important first."""

    visible: bool
    """One factor at least may be what makes runs slow."""
    p_value: float
    """Of the whole search."""
    factors: tuple[RankedFactor, ...]
    set_aside: dict[str, str]
    clusters: int
    """Clusters that were looked at, the order of the runs among them."""
    places: tuple[Placed, ...] = Field(default=(), exclude_if=is_empty)
    """Ranks or hosts that the slow runs go with."""
    look: int
    """1, or 2 where heavy layers were tried after the light ones had shown nothing."""
    look_share: float
    """Of alpha that this look may spend."""
    blocks: tuple[BlockLooked, ...]
    filled: dict[str, int]
    """Column to the runs in which the median stands in for a missing cell."""
    interactions: tuple[Interaction, ...] = ()
    """Visible pairs of clusters that only work together."""
    uncounted: tuple[str, ...] = ()
    """Where nothing is visible: factors that no counter shows, of which a mitigation can be tried here."""
    warnings: tuple[str, ...] = ()
    failing: Failing | None = Field(default=None, exclude_if=is_none)
    ledger: Ledger | None = Field(default=None, exclude_if=is_none)
    """Where the milliseconds of the profiled runs went, if a layer told."""

    @property
    def suspects(self) -> tuple[RankedFactor, ...]:
        """Factors that may be what makes runs slow, most important first."""
        return tuple(factor for factor in self.factors if factor.suspect)
