"""label: the cut is fixed before any counter is looked at."""

from __future__ import annotations

import random

from ..base import JsonArguments, ToolError
from ..findings import Findings
from ..label import LabelArguments, run
from ..results import LabelResult, ProfileResult, RunClasses
from ..simulated import World, shape_of, stumble
from ..situation import Choices, Situation, Slot
from ..tool import Tool
from .profile import since_profile


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
