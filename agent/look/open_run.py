"""A diagnosis in the process that computes: its profile labelled at another cut, as the step by hand would do it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...knowledge.errors import VgoError
from ...knowledge.loader import load as load_knowledge
from ...tools.candidates import ORDER, Candidates, ColumnBlock, candidates
from ...tools.case import Case
from ...tools.findings import Findings
from ...tools.machine import Machine
from ...tools.profiled import Profiled, profiled
from ...tools.rank_factors import LEAST_EFFECT, RankArguments, associated
from ...tools.rank_factors import run as rank_factors
from ...tools.ranking import RankResult
from ...tools.record import Finished
from ...tools.results import LabelResult, RunClasses
from ...tools.statistics.association.tree import DecisionTree
from ...tools.statistics.labels.classes import Labelled
from ...tools.statistics.shape.describe import describe
from ...tools.steps.fit_tree import FitTreeArguments, fitted
from ..record import bodies, record_of
from ..run_folder import RunFolder
from ..transcript import RunStart, read
from .dots import Scatter
from .fits import QUICK_DRAWS, Fits, thinned
from .scenes import PlottedFactor, PlottedOutcomes, plotted

CUT_CALL = "cut"
"""Id of the label that stands in for one that nobody has recorded."""


@dataclass(frozen=True)
class OpenRun(Fits):
    """A run with a profile."""

    case: Case
    folder: RunFolder
    profiled: Profiled
    """The runs that are labelled."""

    def explained(self, labelled: Labelled, exact: bool) -> tuple[DecisionTree, tuple[PlottedFactor, ...]]:
        """Use the tools themselves, on a record that ends with this label."""
        case = self._case_at(labelled)
        chosen = candidates(case)
        return _tree(chosen, case), _exactly(case) if exact else _quickly(chosen, case)

    def column(self, name: str) -> Scatter:
        """Read one column over the runs that are labelled."""
        if name == ORDER:
            return thinned(name, np.arange(self.outcomes.values.size, dtype=np.float64), self.outcomes, "")
        known = {column.name: column for column in self.profiled.table.columns if column.type == "number"}
        if name not in known:
            raise VgoError(f"{self.folder.path} has no column of numbers named {name}.")
        return thinned(name, self.profiled.table.column(name), self.outcomes, known[name].unit)

    def _case_at(self, labelled: Labelled) -> Case:
        classes = RunClasses(**labelled.classes.model_dump(), slow=tuple(labelled.slow.tolist()))
        result = LabelResult(classes=classes, shape=self.shape, summary="")
        call = Finished.of(CUT_CALL, "label", {"cut": labelled.classes.cut}, result)
        return replace(self.case, record=replace(self.case.record, calls=(*self.case.record.calls, call)))


def open_run(path: Path) -> OpenRun | None:
    """Open the folder of a diagnosis; None where it has no profile yet, or is something else."""
    if not (path / "request.json").is_file() or not (path / "transcript.jsonl").is_file():
        return None
    folder = RunFolder.find(path)
    events = read(folder.transcript)
    start = next(iter(bodies(events, RunStart)), None)
    record = record_of(events, folder)
    if start is None or not Findings(record).profiles:
        return None
    knowledge = start.plan.known(load_knowledge())
    machine = Machine.model_validate_json(folder.get(start.machine))
    subject = start.subject
    case = Case(CUT_CALL, subject, start.limits, machine, knowledge, record, plan=start.plan)
    runs, labelled = profiled(case.findings), case.findings.labelled
    outcomes = PlottedOutcomes(runs.outcome, subject.unit, subject.name, subject.lower_is_better)
    cut = labelled.classes.cut if labelled else None
    return OpenRun(outcomes, describe(outcomes.values), cut, case, folder, runs)


def _tree(chosen: Candidates, case: Case) -> DecisionTree:
    found = [fitted(block, FitTreeArguments().depth, case) for block in chosen.blocks or (chosen.common,)]
    return max(found, key=lambda one: one.tree.cross_validated or 0.0).tree


def _exactly(case: Case) -> tuple[PlottedFactor, ...]:
    result = rank_factors(RankArguments(), case).result
    assert isinstance(result, RankResult)
    return tuple(plotted(one, name=one.factor) for one in result.factors)


def _quickly(chosen: Candidates, case: Case) -> tuple[PlottedFactor, ...]:
    """Rank with few draws, each block at the price of all; the order of the runs waits for the exact answer."""
    found = [one for block in chosen.blocks for one in _associated(block, len(chosen.blocks), case)]
    return tuple(sorted(found, key=lambda one: (not one.visible, one.p_value)))


def _associated(block: ColumnBlock, blocks: int, case: Case) -> list[PlottedFactor]:
    alpha = case.limits.alpha
    searched = associated(block, 1 / blocks, case, permutations=QUICK_DRAWS, explain=False)
    factors = []
    for one in searched.factors:
        known, p_value = case.knowledge.factor_of(one.column), min(1.0, one.p_value * blocks)
        visible = p_value <= alpha and abs(one.auc - 0.5) >= LEAST_EFFECT
        name = known.key if known else one.name
        factors.append(plotted(one, name=name, p_value=p_value, visible=visible))
    return factors
