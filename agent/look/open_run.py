"""A diagnosis in the process that computes: its profile labelled at another cut, as the step by hand would do it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from ...knowledge.errors import VgoError
from ...knowledge.loader import load as load_knowledge
from ...tools.analysis.verdict import LEAST_IN_CLASS
from ...tools.base import ToolError
from ...tools.candidates import ORDER, Candidates, ColumnBlock, candidates
from ...tools.case import Case, Finished, Record
from ...tools.findings import Findings
from ...tools.fit_tree import FitTreeArguments, fitted
from ...tools.label import LabelResult, RunClasses
from ...tools.machine import Machine
from ...tools.profiled import Profiled, profiled
from ...tools.rank_factors import LEAST_EFFECT, RankArguments, RankedFactor, RankResult, associated
from ...tools.rank_factors import run as rank_factors
from ...tools.run_table import RunTable
from ...tools.statistics.association.tree import DecisionTree
from ...tools.statistics.labels.classes import Labelled, label, label_at
from ...tools.statistics.shape.describe import DistributionShape, describe
from ..record import bodies, record_of
from ..run_folder import RunFolder
from ..transcript import RunStart, read
from .messages import ColumnRead, Refit, Refitted, Shaped
from .pages import thinned
from .scenes import PlottedFactor, PlottedOutcomes
from .steady_runs import QUICK_DRAWS, too_few

CUT_CALL = "cut"
"""Id of the label that stands in for one that nobody has recorded."""


@dataclass(frozen=True)
class KeptRecord(Record):
    """A record whose tables are parsed once: every cut looks at the same ones."""

    kept: dict[str, RunTable] = field(default_factory=dict)

    def runs(self, call: Finished) -> RunTable:
        """Read the run table that a measuring call left."""
        if call.call_id not in self.kept:
            self.kept[call.call_id] = super().runs(call)
        return self.kept[call.call_id]


@dataclass(frozen=True)
class OpenRun:
    """A run with a profile."""

    case: Case
    folder: RunFolder

    @cached_property
    def profiled(self) -> Profiled:
        """The runs that are labelled."""
        return profiled(self.case.record)

    @cached_property
    def shape(self) -> DistributionShape:
        """Of their outcomes."""
        return describe(self.outcomes.values)

    @cached_property
    def outcomes(self) -> PlottedOutcomes:
        """What is drawn."""
        subject = self.case.subject
        return PlottedOutcomes(self.profiled.outcome, subject.unit, subject.name, subject.lower_is_better)

    def shaped(self) -> Shaped:
        """Tell where modes and cut lie."""
        labelled = Findings(self.case.record).labelled
        cut = labelled.classes.cut if labelled else self._own_cut()
        return Shaped(self.outcomes, tuple(mode.position for mode in self.shape.modes), cut)

    def refit(self, asked: Refit) -> Refitted:
        """Label, fit and rank at a cut."""
        began = time.perf_counter()
        outcomes = self.outcomes
        labelled = label_at(outcomes.values, asked.cut, outcomes.lower_is_better)
        slow, runs = labelled.classes.n_slow, outcomes.values.size
        if min(slow, runs - slow) < LEAST_IN_CLASS:
            return Refitted(asked.cut, asked.exact, slow, runs, reason=too_few(min(slow, runs - slow)))
        case = self._case_at(labelled)
        try:
            chosen = candidates(case)
            tree = _tree(chosen, case)
            factors, p_value = _exactly(case) if asked.exact else _quickly(chosen, case)
        except ToolError as error:
            return Refitted(asked.cut, asked.exact, slow, runs, reason=str(error))
        seconds = time.perf_counter() - began
        return Refitted(asked.cut, asked.exact, slow, runs, tree, factors, p_value, seconds)

    def column(self, name: str) -> ColumnRead:
        """Read one column over the runs that are labelled."""
        if name == ORDER:
            return thinned(name, np.arange(self.outcomes.values.size, dtype=np.float64), self.outcomes.values, "")
        known = {column.name: column for column in self.profiled.table.columns if column.type == "number"}
        if name not in known:
            raise VgoError(f"{self.folder.path} has no column of numbers named {name}.")
        return thinned(name, self.profiled.table.column(name), self.outcomes.values, known[name].unit)

    def _own_cut(self) -> float | None:
        outcomes = self.outcomes
        if self.shape.all_equal:
            return None
        return label(outcomes.values, self.shape, outcomes.lower_is_better).classes.cut

    def _case_at(self, labelled: Labelled) -> Case:
        classes = RunClasses(**labelled.classes.model_dump(), slow=tuple(labelled.slow.tolist()))
        result = LabelResult(classes=classes, shape=self.shape, summary="")
        call = Finished(CUT_CALL, "label", {"cut": labelled.classes.cut}, result.model_dump(mode="json"), {})
        return replace(self.case, record=replace(self.case.record, calls=(*self.case.record.calls, call)))


def open_run(path: Path) -> OpenRun | None:
    """Open the folder of a diagnosis; None where it has no profile yet, or is something else."""
    if not (path / "request.json").is_file() or not (path / "transcript.jsonl").is_file():
        return None
    folder = RunFolder.find(path)
    events = read(folder.transcript)
    start = next(iter(bodies(events, RunStart)), None)
    record = record_of(events, folder)
    if start is None or not record.succeeded("profile"):
        return None
    kept = KeptRecord(record.calls, record.store, record.reopened_s)
    knowledge = start.plan.known(load_knowledge())
    machine = Machine.model_validate_json(folder.get(start.machine))
    case = Case(CUT_CALL, start.subject, start.limits, machine, knowledge, kept, plan=start.plan)
    return OpenRun(case, folder)


def _tree(chosen: Candidates, case: Case) -> DecisionTree:
    found = [fitted(block, FitTreeArguments().depth, case) for block in chosen.blocks or (chosen.common,)]
    return max(found, key=lambda one: one.tree.cross_validated or 0.0).tree


def _exactly(case: Case) -> tuple[tuple[PlottedFactor, ...], float]:
    result = rank_factors(RankArguments(), case).result
    assert isinstance(result, RankResult)
    return tuple(map(_ranked, result.factors)), result.p_value


def _ranked(one: RankedFactor) -> PlottedFactor:
    return PlottedFactor(
        one.factor, one.column, one.auc, one.p_value, one.r2, one.visible, one.slow_median, one.fast_median
    )


def _quickly(chosen: Candidates, case: Case) -> tuple[tuple[PlottedFactor, ...], float]:
    """Rank with few draws, each block at the price of all; the order of the runs waits for the exact answer."""
    found = [one for block in chosen.blocks for one in _associated(block, len(chosen.blocks), case)]
    found.sort(key=lambda one: (not one.visible, one.p_value))
    return tuple(found), min((one.p_value for one in found), default=1.0)


def _associated(block: ColumnBlock, blocks: int, case: Case) -> list[PlottedFactor]:
    alpha = case.limits.alpha
    searched = associated(block, 1 / blocks, case, permutations=QUICK_DRAWS, explain=False)
    factors = []
    for one in searched.factors:
        known, p_value = case.knowledge.factor_of(one.column), min(1.0, one.p_value * blocks)
        visible = p_value <= alpha and abs(one.auc - 0.5) >= LEAST_EFFECT
        name = known.key if known else one.name
        factors.append(
            PlottedFactor(name, one.column, one.auc, p_value, one.r2, visible, one.slow_median, one.fast_median)
        )
    return factors
