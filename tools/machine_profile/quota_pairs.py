"""Pairs of runs without and with a quota: what a search asks for, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

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
NEAR = 0.2
"""In logarithms: quotas that act alike; pairs of all steps this near to the last say together how it acts."""


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
    _made: list[dict[str, Any]] = field(default_factory=list)
    """Pairs of which both runs gave a result, as `_pairs` has them."""

    def add(self, step: QuotaStep, rows: Sequence[Row]) -> None:
        """Take the runs of a step, fewer than planned where the budget ended; VgoError where the quota did nothing."""
        made = _pairs(step, rows)
        failed = {one["stressor"]: one["failed"] for one in made if one["failed"]}
        self.failed |= failed
        worked = [one for one in made if not one["failed"]]
        self._made += worked
        if own := [one for one in worked if one["group"] == "cpu"]:
            self.steps.append(self._trial(step.quota, own))
        elif len(made) == len(step.stressors):
            why = next(iter(failed.values()))
            raise VgoError(f"No CPU stressor worked with and without the quota ({why}): see that stress-ng works here.")

    def cpus_wanted(self) -> float:
        """Give the quota that would make the median 1: what must be left of the speed, corrected for the response."""
        own = [one["bias"] for one in self._made if one["group"] == "cpu"]
        return float(np.exp(-self.median() - np.median(own[-max(LEAST_RECENT, len(own) // 2) :])))

    def median(self) -> float:
        """Median log speed-up over the base without the quota, of the CPU stressors."""
        return float(np.median([*self.before("cpu").values()]))

    @property
    def cpu_share(self) -> float:
        """Of a CPU that runs without the quota had, in the middle of the steps."""
        return float(np.median([step.cpu_share for step in self.steps]))

    def before(self, group: Group) -> dict[str, float]:
        """Log speed-up over the base without the quota, by stressor."""
        full: dict[str, list[float]] = {}
        for one in self._made:
            full.setdefault(one["stressor"], []).append(one["full"])
        rates = {name: float(np.median(its)) for name, its in sorted(full.items())} | dict(self.here)
        return {name: rate - self.base[name] for name, rate in rates.items() if self.groups[name] == group}

    def after(self, group: Group, cpus: float) -> dict[str, float]:
        """The same with a quota: the middle response of the pairs near the last step of each, moved to it."""
        before, log, found = self.before(group), math.log(self.steps[-1].quota.cpus), dict[str, list[float]]()
        for one in self._made:
            if abs(one["quota"] - log) <= NEAR:
                found.setdefault(one["stressor"], []).append(one["bias"])
        both = sorted(before.keys() & found.keys())
        return {name: before[name] + float(np.median(found[name])) + math.log(cpus) for name in both}

    def _trial(self, quota: Quota, own: Sequence[Mapping[str, Any]]) -> QuotaTrial:
        if quota.cpus < MOST_CPUS and not any(one["throttled"] for one in own):
            raise VgoError(
                f"A quota of {quota.cpus:.3g} CPUs stopped no run (nr_throttled in cpu.stat), so it was not in force: "
                "other programs take the CPUs; end them, or use --ahead."
            )
        before = self.before("cpu")
        under = [before[one["stressor"]] + one["bias"] + math.log(quota.cpus) for one in own]
        median, share = float(np.exp(np.median(under))), float(np.median([one["share"] for one in own]))
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
            log, quota = math.log(full["bogo_ops"] / full["cpu_s"]), math.log(step.quota.cpus)
            bias = math.log(limited["bogo_ops"] / limited["wall_s"]) - log - quota
            pair |= {"full": log, "bias": bias, "quota": quota, "throttled": limited["throttled"]}
            pair["share"] = full["cpu_s"] / full["wall_s"]
        made.append(pair)
    return made
