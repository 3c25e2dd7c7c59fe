"""The runs of a profile that explain: with layers on that stand, made alike where different layers were on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from ..layers.launcher import HOST
from ..layers.schema import Layer
from .case import Case
from .execution.outcomes import ITERATION, PREFIX, RUN
from .experiment.schedules import LayerSet
from .findings import Findings
from .hosts import SLOT
from .ledger.split import LEDGER, STACKS
from .results import ProfileResult
from .run_table import RunTable
from .statistics.values import BoolArray, FloatArray

FEWEST_PROFILED = 4
"""Runs of which a correlation can be told from chance at all."""


@dataclass(frozen=True)
class Profiled:
    """Runs of the last profile, bare ones and those with layers that were set aside left out."""

    table: RunTable
    """In run order; every run counts."""
    sets: tuple[LayerSet, ...]
    """Layers that were on together, by spec."""
    place: tuple[int, ...]
    """Which of them, for each run."""
    layers: dict[str, Layer]
    """By spec, as they were then; the launcher among them, and what the program prints."""
    switched: frozenset[str]
    """Those of them that were on in some runs only, as metric layers are: not in bare ones."""
    failed_or_not: bool = False
    """Failed runs are among them, one row a run, and the outcome is 1 where a run failed, else 0."""

    @property
    def outcome(self) -> FloatArray:
        """Outcomes in run order, shape (runs,), each set moved onto the first by what its layers add.

        Otherwise runs with a heavy layer would be the slow ones, and whatever that layer does would look like a cause.
        The shift is the median of all differences (Hodges and Lehmann 1963): of bimodal runs it is that of the modes,
        not of how many happened to be slow.
        """
        outcome, place = self.table.outcome(), np.array(self.place)
        first = outcome[place == 0]
        for number in range(1, len(self.sets)):
            own = place == number
            outcome = np.where(own, outcome - np.median(outcome[own][:, None] - first[None, :]), outcome)
        every = np.ones(outcome.size, dtype=np.bool_)
        if self.of_hosts and outcome.min() > 0:  # a slow host is so by a factor, its spread included, as `nodes` has it
            return np.exp(self.within(np.log(outcome), every))
        return self.within(outcome, every)

    @property
    def sampled(self) -> bool:
        """Whether rows are samples, several of a run."""
        return RUN in self.table.names

    @property
    def of_hosts(self) -> bool:
        """Whether the runs of many hosts are brought to one level."""
        return SLOT.name in self.table.names and not self.sampled

    def within(self, values: FloatArray, rows: BoolArray) -> FloatArray:
        """Move the values of these rows so that all runs have one median, where rows are samples; else all hosts.

        A slow host is found by holding hosts against each other (`hosts`); here it is asked what makes runs slow on
        whichever host. What all samples of a run share (a layout, a noisy minute) is no evidence for each of them: with
        it, 5 of 12 programs whose runs had a level of their own, and nothing linked, were given a cause.
        """
        if self.sampled:
            run = self.table.column(RUN)[rows]
        elif self.of_hosts:
            _, hosts = np.unique(np.array(self.table.text(HOST.name), dtype=np.str_), return_inverse=True)
            run = hosts.astype(np.float64)[rows]
        else:
            return values
        middle = {one: float(np.median(values[run == one])) for one in np.unique(run).tolist()}
        moved: FloatArray = values - np.array([middle[one] for one in run.tolist()])
        return moved + float(np.median(list(middle.values())))

    def on(self, spec: str) -> BoolArray:
        """Runs in which a layer was on, shape (runs,); what is not switched always is."""
        if spec not in self.switched:
            return np.ones(len(self.place), dtype=np.bool_)
        return np.array([spec in self.sets[number] for number in self.place], dtype=np.bool_)


def profiled(findings: Findings, *, failed_or_not: bool = False) -> Profiled:
    """Take the last profile; raise ToolError where there is none."""
    call, result = findings.last(ProfileResult)
    layers, table = findings.record.layers(call), findings.record.runs(call)
    if failed_or_not:
        table = _failed_or_not(table)
    names = {"+".join(layers[spec].key for spec in one): one for one in result.standing}
    stands = table.frame.filter(pl.col("layers").is_in(list(names)), ok=1)
    sets = tuple(one for name, one in names.items() if name in stands["layers"])
    place = {name: sets.index(one) for name, one in names.items() if one in sets}
    return Profiled(
        RunTable(stands, table.columns),
        sets,
        tuple(place[name] for name in stands["layers"]),
        layers,
        frozenset(result.layers),
        failed_or_not,
    )


def _failed_or_not(table: RunTable) -> RunTable:
    """Keep one row of each run, with its whole time, and take for its outcome whether it failed."""
    frame = table.frame
    if ITERATION in frame.columns:
        run = pl.when(pl.col("ok") == 1).then(RUN).otherwise(-1 - pl.col("order"))
        frame = frame.with_columns(pl.col("wall_s").sum().over(run)).filter(pl.col(ITERATION).fill_null(0) == 0)
    columns = tuple(column for column in table.columns if not column.name.startswith(PREFIX))
    kept = frame.select(name for name in frame.columns if not name.startswith(PREFIX))
    return RunTable(kept.with_columns(outcome=1 - pl.col("ok"), ok=pl.lit(1.0)), columns)


def companions(findings: Findings, columns: Collection[str], ledger: bool = False) -> tuple[str, ...]:
    """Layers to keep on while a mitigation is tried: of those on in every run that stands, what shows `columns`.

    They show whether the cause falls with the spread, and the ledger, where it is asked for and a profile had one, in
    which states of the time. Every other layer would only cost, and what is heavy or wraps the program would measure
    something else than what the user runs.
    """
    found: dict[str, None] = {}
    for call, result in findings.ended(ProfileResult):
        layers = findings.record.layers(call)
        for spec in _all_of(result.standing):
            light = not layers[spec].heavy and not layers[spec].run
            if light and any(layers[spec].column(name) for name in columns):
                found[spec] = None
    if ledger and (kept := [spec for spec, aside in ledgers(findings).items() if not aside]):
        found[next((spec for spec in kept if findings.record.all_layers[spec].key == LEDGER), LEDGER)] = None
    return tuple(found)


def ledgers(findings: Findings) -> dict[str, str]:
    """Layers of the profiles that split the time of runs, by spec, with why they were set aside; empty: they stand."""
    found: dict[str, str] = {}
    for call, result in findings.ended(ProfileResult):
        layers = findings.record.layers(call)
        for one in result.distortions:
            for spec in one.layers:
                if layers[spec].key in (LEDGER, STACKS):
                    found[spec] = one.set_aside and found.get(spec, one.set_aside)
    return found


def _all_of(sets: Sequence[LayerSet]) -> list[str]:
    return [spec for spec in sets[0] if all(spec in one for one in sets)] if sets else []


def baseline_p(case: Case, later_is_worse: bool) -> float:
    """Give the p-value that runs get worse (or better) with time in the baseline: Spearman's correlation, one-sided.

    1 where it does not vary; 0 without a baseline, since nothing speaks against it then.
    """
    if case.findings.measured is None:
        return 0.0
    outcomes = case.findings.steady_outcomes
    if outcomes.size < FEWEST_PROFILED or outcomes.min() == outcomes.max():
        return 1.0
    rises = later_is_worse == case.subject.lower_is_better
    from scipy.stats import spearmanr  # half a second to load, which most commands can spare

    return float(spearmanr(np.arange(outcomes.size), outcomes, alternative="greater" if rises else "less").pvalue)
