"""label: split runs into slow and fast; the cut is fixed before any counter is looked at."""

from __future__ import annotations

import random
from typing import Annotated

from pydantic import Field

from ..amount import amount
from ..case import Case, Choices, Situation, Slot, since_profile
from ..findings import Findings
from ..profiled import profiled
from ..record import Arguments, JsonArguments, Outcome, ToolError
from ..results import LabelResult, ProfileResult, RunClasses
from ..simulated import World, shape_of, stumble
from ..statistics.labels.classes import label, label_at
from ..statistics.shape.describe import describe
from ..tool import Tool


class LabelArguments(Arguments):
    """Where to cut."""

    cut: Annotated[float | None, Field(description="None: between modes, before a tail, or at the median.")] = None


def run(arguments: LabelArguments, case: Case) -> Outcome:
    """Label the runs of the last profile."""
    outcome = profiled(case.findings).outcome
    if not outcome.size:
        raise ToolError("Every layer was set aside; there is nothing to label.")
    shape = describe(outcome)
    if shape.all_equal:
        raise ToolError("All profiled runs are equal; there is nothing to label.")
    lower = case.subject.lower_is_better
    labelled = label(outcome, shape, lower) if arguments.cut is None else label_at(outcome, arguments.cut, lower)
    classes = RunClasses(**labelled.classes.model_dump(), slow=tuple(labelled.slow.tolist()))
    if not 0 < classes.n_slow < len(outcome):
        raise ToolError(f"The cut {classes.cut:g} leaves one class empty; choose it inside the range of outcomes.")
    summary = (
        f"{classes.n_slow} of {len(outcome)} runs are slow: "
        f"cut at {amount(classes.cut, case.subject.unit)} ({classes.kind})."
    )
    return Outcome(LabelResult(classes=classes, shape=shape, summary=summary))


class LabelTool(Tool[LabelArguments, LabelResult], run=run, title="Label slow and fast", analyses=True):
    """Split the profiled runs into slow and fast."""

    why = "fix the cut before any counter is looked at"

    def legal(self, situation: Situation) -> Choices | None:
        """Once after each profile that stands."""
        since = since_profile(situation)
        return () if since is not None and "label" not in since else None

    def amounts(self, situation: Situation, _: Choices) -> Choices:
        """The cut that the runs suggest, or a quantile of the baseline."""
        outcome = situation.findings.measured.outcome if situation.findings.measured else None
        return (Slot(("cut",), ((None,), (outcome.median,), (outcome.p95,)) if outcome else ((None,),)),)

    def simulate(self, world: World, found: Findings, arguments: JsonArguments, chance: random.Random) -> LabelResult:
        """Cut the profiled runs; a cut of one's own may leave a class empty."""
        stumble(world, chance)
        runs = found.last(ProfileResult).result.runs
        cut = arguments.get("cut")
        if cut is not None and chance.random() < 0.15:
            raise ToolError(f"The cut {cut:g} leaves one class empty; choose it inside the range of outcomes.")
        slow = max(1, min(runs - 1, round(runs * chance.uniform(0.05, 0.5))))
        classes = RunClasses(
            kind="median" if cut is None else "given",
            how="drawn",
            cut=world.run_s if cut is None else float(cut),
            cuts=(world.run_s,),
            lower_is_better=True,
            sizes=(runs - slow, slow),
            n_slow=slow,
            n_fast=runs - slow,
            slow=(True,) * slow + (False,) * (runs - slow),
        )
        shape = shape_of(runs, world.run_s, 1, tail=False)
        return LabelResult(classes=classes, shape=shape, summary=f"{slow} of {runs} runs are slow.")
