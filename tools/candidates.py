"""The columns that may explain slow runs: what varies, less what merely follows from being slow; in blocks of runs.

A heavy layer is on in some runs only, so its columns are looked at on those; what is on always, on all runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..layers.schema import Column
from .case import Case
from .execution.outcomes import PREFIX
from .hosts import FLEET, SLOT
from .profiled import Profiled, profiled
from .record import Finished, ToolError
from .results import LabelResult, ProfileResult
from .statistics.association.columns import ColumnMatrix, Columns, usable
from .statistics.association.look import consequences
from .statistics.values import LEAST_IN_CLASS, BoolArray, FloatArray, IntArray, centred_ranks

ORDER = "run_index"
"""The position of a run in its series: what drifts with time goes with it."""
MOST_MISSING = 0.05
"""Share of the runs in which a column may lack its cell (a counter wrapped, a rank died); the median stands in."""
MOST_VALUES = 12
"""Different texts that a column may have to be tested value by value."""
OWN_DOING = 0.5
"""Spearman correlation with a count that is innate to the run, from which one of the whole machine is its doing."""
NONE = "(none)"
"""Stands for a text that is missing."""


@dataclass(frozen=True)
class ClassedRuns:
    """Runs that count, slow and fast; arrays of shape (runs,)."""

    slow: BoolArray
    outcome: FloatArray
    wall_s: FloatArray


@dataclass(frozen=True)
class ColumnBlock(ClassedRuns):
    """Columns of layers that were on in the same runs, over those runs."""

    layers: tuple[str, ...]
    """By spec."""
    everywhere: bool
    """They were on in every run that counts."""
    columns: Columns
    """In run order, without the order itself."""
    sets: IntArray
    """Which layers were on, by number: runs of one set and of another differ by what layers do to them."""


@dataclass(frozen=True)
class Candidates(ClassedRuns):
    """Columns of the last profile that vary and could be factors, with the classes of all its runs."""

    blocks: tuple[ColumnBlock, ...]
    """That of all runs first, where there is one."""
    set_aside: dict[str, str]
    """Column to reason."""
    filled: dict[str, int]
    """Column to the runs in which the median stands in for its cell."""
    call: Finished
    """The profile that they come from."""
    sampled: bool = False
    """Rows are samples, several of a run."""

    @property
    def common(self) -> ColumnBlock:
        """The columns that every run has; none where only heavy layers took turns."""
        if self.blocks and self.blocks[0].everywhere:
            return self.blocks[0]
        nothing = Columns((), np.empty((self.slow.size, 0)))
        sets = np.zeros(self.slow.size, dtype=np.int64)
        return ColumnBlock(self.slow, self.outcome, self.wall_s, (), True, nothing, sets)


def candidates(case: Case) -> Candidates:
    """Choose the columns of the last profile that may explain the last labels."""
    runs = profiled(case.findings)
    slow = np.array(case.findings.last(LabelResult).result.classes.slow, dtype=bool)
    if len(slow) != len(runs.place):
        raise ToolError("The labels belong to an earlier profile; label again.")
    outcome, wall_s = runs.outcome, runs.table.column("wall_s")
    if runs.sampled and case.subject.lower_is_better:
        wall_s = outcome  # a phase that takes its usual share of a slow sample is slow merely because all of it is
    return _chosen(runs, slow, outcome, wall_s, case)


def failing_candidates(case: Case) -> Candidates:
    """Choose the columns of the last profile that may go with failing; the outcome is 1 where a run failed.

    A failed run has stopped early or hung, so whatever it counts itself is divided by its time, what the program asks
    for and maxima among them; the state of the machine is not.
    """
    runs = profiled(case.findings, failed_or_not=True)
    failed = runs.table.outcome()
    return _chosen(runs, failed > 0, failed, runs.table.column("wall_s"), case)


def _chosen(runs: Profiled, slow: BoolArray, outcome: FloatArray, wall_s: FloatArray, case: Case) -> Candidates:
    """Split the columns into blocks, and leave out what cannot be a factor."""
    call, result = case.findings.last(ProfileResult)
    aside, filled = _with_distorting_layers(result, runs), dict[str, int]()
    blocks = []
    for layers, on, columns in _split(runs):
        none, sets = Columns((), np.empty((0, 0))), np.array(runs.place)[on]
        own = ColumnBlock(slow[on], outcome[on], wall_s[on], layers, bool(on.all()), none, sets)
        if min(own.slow.sum(), (~own.slow).sum()) < LEAST_IN_CLASS:
            aside |= dict.fromkeys((column.name for column in columns), f"on in too few runs ({on.sum()})")
            continue
        drafted = _Draft(runs, on, aside, filled, case.subject.metric is not None)
        for column in columns:
            drafted.offer(column)
        blocks.append(_finished(own, drafted, case))
    blocks = [block for block in blocks if block.columns.names] or blocks
    blocks.sort(key=lambda block: not block.everywhere)
    return Candidates(slow, outcome, wall_s, tuple(blocks), aside, filled, call, runs.sampled)


def _with_distorting_layers(result: ProfileResult, runs: Profiled) -> dict[str, str]:
    """Set aside the columns of layers that stand in no set."""
    standing = {spec for layers in result.standing for spec in layers}
    reasons = {spec: f"layer set aside: {one.set_aside}" for one in result.distortions for spec in one.layers}
    return {
        column.name: reasons[spec]
        for spec in result.layers
        if spec not in standing and spec in reasons
        for column in runs.table.columns
        if runs.layers[spec].column(column.name)
    }


def _split(runs: Profiled) -> Iterator[tuple[tuple[str, ...], BoolArray, list[Column]]]:
    """Group the layers that were on in the same runs, with those runs and the columns that they have there."""
    groups: dict[bytes, tuple[list[str], BoolArray]] = {}
    for spec in runs.layers:
        on = runs.on(spec)
        if on.any():
            groups.setdefault(on.tobytes(), ([], on))[0].append(spec)
    for specs, on in groups.values():
        owned = [c for c in runs.table.columns if any(runs.layers[spec].column(c.name) for spec in specs)]
        yield tuple(specs), on, owned


class _Draft:
    """The columns of one block, offered one by one, and kept or set aside."""

    def __init__(
        self, runs: Profiled, on: BoolArray, aside: dict[str, str], filled: dict[str, int], printed: bool
    ) -> None:
        self.runs, self.on, self.aside, self.filled, self.printed = runs, on, aside, filled, printed
        self.values: dict[str, FloatArray] = {}
        self.known: list[Column] = []
        self.groups: dict[str, tuple[str, ...]] = {}

    def offer(self, column: Column) -> None:
        if self.runs.sampled and not column.name.startswith(PREFIX):
            self.aside[column.name] = "counted over a run, of which each sample is a part"
        elif FLEET.column(column.name) and SLOT.name in self.runs.table.names:
            self.aside[column.name] = "the same for all runs of a host, which are held against each other here"
        elif column.type == "text" and column.role != "consequence":
            self._indicate(column)
        elif column.role != "factor":
            self.aside[column.name] = f"{column.role}: {column.description}"
        else:
            self._fill(column)

    def _fill(self, column: Column) -> None:
        values = self.runs.table.column(column.name)[self.on]
        missing = ~np.isfinite(values)
        count = int(missing.sum())
        if count > MOST_MISSING * values.size:
            self.aside[column.name] = f"missing in {count} of {values.size} runs"
            return
        if count:
            self.filled[column.name] = count
            values = np.where(missing, np.median(values[~missing]), values)
        if self.runs.failed_or_not and column.holds_output:
            self.aside[column.name] = "holds what a failing run says"
            return
        if self.printed and column.only_printed(float(np.ptp(values))):
            self.aside[column.name] = f"differs by {np.ptp(values):g} bytes at most, as what is printed does"
            return
        self.values[column.name] = self.runs.within(values, self.on)
        self.known.append(column)

    def _indicate(self, column: Column) -> None:
        """Test a text that varies value by value: a host, an input."""
        texts = [NONE if text is None else text for text in self.runs.table.text(column.name)]
        mine = np.array(texts, dtype=object)[self.on]
        found = sorted(set(mine.tolist()))
        if len(found) == 1:
            self.aside[column.name] = f"setting: always {found[0]}"
        elif len(found) > MOST_VALUES:
            self.aside[column.name] = f"setting: {len(found)} different texts, more than {MOST_VALUES}"
        else:
            members = {f"{column.name}={text}": np.asarray(mine == text, dtype=np.float64) for text in found}
            self.values |= members
            self.groups[column.name] = tuple(members)


def _finished(block: ColumnBlock, drafted: _Draft, case: Case) -> ColumnBlock:
    """Leave out what does not vary, and of a throughput what counts its work."""
    names = list(drafted.values)
    values = np.column_stack(list(drafted.values.values())) if names else np.empty((block.slow.size, 0))
    varying = usable(values, names)
    aside = dict(varying.set_aside)
    # Divided by the run time it would mean nothing: what does not add up, and what the program itself asks for.
    failing = drafted.runs.failed_or_not
    own = {column.name for column in drafted.known if failing and column.scope == "run"}
    levels = frozenset(column.name for column in drafted.known if column.level and column.name not in own)
    innate = frozenset(column.name for column in drafted.known if column.innate and column.name not in own)
    rates = frozenset(column.name for column in drafted.known if column.rate)
    if not (case.subject.lower_is_better or failing):
        indicators = {name for members in drafted.groups.values() for name in members}
        aside |= _work_done(varying.values, varying.names, block, levels | indicators | rates)
    columns = Columns(
        names=varying.names,
        values=varying.values,
        levels=levels | innate,
        rates=rates,
        groups=drafted.groups,
        settings=frozenset(drafted.groups),
        priority={name: _naming_priority(name, case) for name in varying.names},
        makers=_makers(_own(varying, drafted.known), case),
        most_us={} if failing else {one.name: one.most_us for one in drafted.known if one.most_us is not None},
    )
    drafted.aside |= aside
    return replace(block, columns=columns.without(aside))


def _naming_priority(column: str, case: Case) -> int:
    """The most actionable factor names a cluster; of one factor's columns, the one that it lists first."""
    factor = case.knowledge.factor_of(column)
    place = factor.place(column) if factor else None
    return -1 if factor is None or place is None else 100 * (factor.actionable + 1) - place.position


def _own(varying: ColumnMatrix, known: Sequence[Column]) -> tuple[str, ...]:
    """Leave out counts of the whole machine that go with nothing innate to the run: somebody else's doing."""
    ranks = centred_ranks(varying.values)
    ranks /= np.linalg.norm(ranks, axis=0)
    innate = {column.name for column in known if column.innate}
    own = ranks[:, [name in innate for name in varying.names]]
    alone = np.abs(ranks.T @ own).max(axis=1, initial=0) < OWN_DOING
    machine = {column.name for column in known if column.scope == "machine"}
    return tuple(name for name, left in zip(varying.names, alone, strict=True) if not left or name not in machine)


def _makers(names: tuple[str, ...], case: Case) -> dict[str, frozenset[str]]:
    """Columns whose factor is made by that of others that are there, with those others."""
    factors = {name: factor for name in names if (factor := case.knowledge.factor_of(name)) is not None}
    made_by: dict[str, set[str]] = {}
    for name, factor in factors.items():
        for key in factor.makes:
            made_by.setdefault(key, set()).add(name)
    return {name: frozenset(made_by[factor.key]) for name, factor in factors.items() if factor.key in made_by}


def _work_done(
    values: FloatArray, names: tuple[str, ...], block: ColumnBlock, levels: frozenset[str]
) -> Mapping[str, str]:
    """Name what counts the work of a throughput: it goes with fast runs, and not once divided by the outcome."""
    found = consequences(values, names, block.slow, block.outcome, levels)
    return dict.fromkeys(found, "follows the work done, which is the outcome in other words")
