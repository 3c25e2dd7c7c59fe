"""Pairs of runs without and with a quota: what a search asks for, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...knowledge.errors import VgoError
from ...knowledge.shape import Frozen
from ..row import BASELINE, Row
from .battery import Group
from .form import Quota, QuotaTrial
from .measure import LIMITED

MOST_CPUS = 1.0
"""Of one thread: more than a whole CPU limits nothing."""
LEAST_RECENT = 8
"""Pairs that say how a quota acts now."""


class Search(Frozen):
    """How to search."""

    seconds: float = 0.5
    """Of a run."""
    sample: int = 24
    """CPU stressors of a step; all of them in the last."""
    steps: int = 5
    seed: int = 1
    ahead: bool = False


class QuotaStep(NamedTuple):
    """What one step of a search runs."""

    number: int
    stressors: tuple[str, ...]
    """In the order of their runs."""
    quota: Quota


@dataclass
class QuotaPairs:
    """All pairs so far, step by step."""

    base: Mapping[str, float]
    """Log rates."""
    groups: Mapping[str, Group]
    here: Mapping[str, float]
    """Log rates of this machine where a profile of it was given; else those of the runs without the quota."""
    steps: list[QuotaTrial] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    """Stressors with a run that gave no result, and why."""
    _made: pd.DataFrame = field(default_factory=pd.DataFrame)
    """A row for each pair of which both runs gave a result, as `_pairs` has them."""

    def add(self, step: QuotaStep, rows: Sequence[Row]) -> None:
        """Take the runs of a step, fewer than planned where the budget ended; VgoError where the quota did nothing."""
        made = _pairs(step, rows)
        failed = {one["stressor"]: one["failed"] for one in made if one["failed"]}
        self.failed |= failed
        worked = pd.DataFrame([one for one in made if not one["failed"]])
        self._made = pd.concat([self._made, worked], ignore_index=True)
        own = worked[worked["group"] == "cpu"] if len(worked) else worked
        if len(own):
            self.steps.append(self._trial(step.quota, own))
        elif len(made) == len(step.stressors):
            why = next(iter(failed.values()))
            raise VgoError(f"No CPU stressor worked with and without the quota ({why}): see that stress-ng works here.")

    def cpus_wanted(self) -> float:
        """Give the quota that would make the median 1: what must be left of the speed, corrected for the response."""
        own = self._made[self._made["group"] == "cpu"]
        recent = own[-max(LEAST_RECENT, len(own) // 2) :]
        return float(np.exp(-self.median() - recent["bias"].median()))

    def median(self) -> float:
        """Median log speed-up over the base without the quota, of the CPU stressors."""
        return float(self.before("cpu").median())

    @property
    def cpu_share(self) -> float:
        """Of a CPU that runs without the quota had, in the middle of the steps."""
        return float(np.median([step.cpu_share for step in self.steps]))

    def before(self, group: Group) -> pd.Series[float]:
        """Log speed-up over the base without the quota, by stressor."""
        rates = self._made.groupby("stressor")["full"].median() if len(self._made) else pd.Series(dtype=np.float64)
        rates = pd.Series(self.here, dtype=np.float64).combine_first(rates)
        rates = rates[[self.groups[str(name)] == group for name in rates.index]]
        return rates - pd.Series(self.base)[rates.index]

    def after(self, group: Group, cpus: float) -> pd.Series[float]:
        """The same with a quota: the response of the last pair of each, moved to this quota."""
        last = self._made.groupby("stressor")["bias"].last()
        return (self.before(group) + last).dropna() + math.log(cpus)

    def _trial(self, quota: Quota, own: pd.DataFrame) -> QuotaTrial:
        if quota.cpus < MOST_CPUS and not own["throttled"].any():
            raise VgoError(
                f"A quota of {quota.cpus:.3g} CPUs stopped no run (nr_throttled in cpu.stat), so it was not in force: "
                "other programs take the CPUs; end them, or use --ahead."
            )
        under = self.before("cpu")[own["stressor"]].to_numpy() + own["bias"].to_numpy() + math.log(quota.cpus)
        median, share = float(np.exp(np.median(under))), float(own["share"].median())
        return QuotaTrial(quota=quota, stressors=len(own), median=median, cpu_share=share)


def _pairs(step: QuotaStep, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Put the two runs of each stressor together; a torn pair is none.

    full: log of the rate per CPU second without the quota, so that waiting is not counted; bias: by how much in
    logarithms the speed under the quota is off its share of that.
    """
    runs = {(row["pair"], row["condition"]): row for row in rows}
    both = [(runs.get((place, BASELINE)), runs.get((place, LIMITED))) for place in range(len(step.stressors))]
    made: list[dict[str, Any]] = []
    for full, limited in both:
        if not (full and limited):
            continue
        pair = {"stressor": full["stressor"], "group": full["group"], "failed": limited["failure"] or full["failure"]}
        if not pair["failed"]:
            log = math.log(full["bogo_ops"] / full["cpu_s"])
            bias = math.log(limited["bogo_ops"] / limited["wall_s"]) - log - math.log(step.quota.cpus)
            pair |= {"full": log, "bias": bias, "throttled": limited["throttled"]}
            pair["share"] = full["cpu_s"] / full["wall_s"]
        made.append(pair)
    return made
