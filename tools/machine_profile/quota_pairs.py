"""The pairs of a calibration: each stressor without and with a quota, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...knowledge.errors import VgoError
from ...knowledge.shape import Frozen
from ..row import BASELINE, Row
from .battery import Group
from .compare import middle
from .form import Quota, QuotaTrial, StressorRun
from .quota_conditions import LIMITED, run_of

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


@dataclass(frozen=True)
class QuotaPair:
    """One stressor without and with the quota, next to each other."""

    stressor: str
    full: StressorRun
    limited: StressorRun
    cpus: float
    """What the quota was worth."""

    @property
    def failed(self) -> str:
        """Why one of the two gave no result; empty where both did."""
        return self.limited.failed or self.full.failed

    @property
    def response(self) -> float:
        """Log of what the quota left of the speed; full is the rate per CPU second, so that waiting is not counted."""
        return float(np.log(self.limited.rate("real") / self.full.rate("cpu")))


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
    _pairs: list[QuotaPair] = field(default_factory=list)
    """Those of which both runs gave a result."""

    def add(self, step: QuotaStep, rows: Sequence[Row]) -> None:
        """Take the runs of a step, fewer than planned where the budget ended; VgoError where the quota did nothing."""
        made = _pairs(step, rows)
        self.failed |= {pair.stressor: pair.failed for pair in made if pair.failed}
        self._pairs += [pair for pair in made if not pair.failed]
        own = [pair for pair in made if not pair.failed and self.groups[pair.stressor] == "cpu"]
        if own:
            self.steps.append(self._trial(step.quota, own))
        elif len(made) == len(step.stressors):
            reason = next(pair.failed for pair in made if pair.failed)
            raise VgoError(
                f"No CPU stressor worked with and without the quota ({reason}): see that stress-ng works here."
            )

    def cpus_wanted(self) -> float:
        """Give the quota that would make the median 1: what must be left of the speed, corrected for the response."""
        return float(np.exp(-self.median() - self._bias()))

    def median(self) -> float:
        """Median log speed-up over the base without the quota, of the CPU stressors."""
        return float(np.median(list(self.before("cpu").values())))

    @property
    def cpu_share(self) -> float:
        """Of a CPU that runs without the quota had, in the middle of the steps."""
        return float(np.median([step.cpu_share for step in self.steps]))

    @property
    def last(self) -> dict[str, QuotaPair]:
        """The latest pair of each stressor, by name."""
        return {pair.stressor: pair for pair in sorted(self._pairs, key=lambda pair: pair.stressor)}

    def before(self, group: Group) -> dict[str, float]:
        """Log speed-up over the base without the quota, by stressor."""
        full: dict[str, list[float]] = {}
        for pair in self._pairs:
            full.setdefault(pair.stressor, []).append(pair.full.rate("cpu"))
        rates = {**{name: middle(seen) for name, seen in full.items()}, **self.here}
        return {name: rates[name] - self.base[name] for name in sorted(rates) if self.groups[name] == group}

    def after(self, group: Group, cpus: float) -> dict[str, float]:
        """The same with a quota: the response of the last step, moved to this quota."""
        before, moved = self.before(group), float(np.log(cpus))
        return {
            name: before[name] + pair.response + moved - float(np.log(pair.cpus))
            for name, pair in self.last.items()
            if name in before
        }

    def _bias(self) -> float:
        """By how much in logarithms the speed under a quota is off its share; in the latest half of the pairs."""
        own = [pair for pair in self._pairs if self.groups[pair.stressor] == "cpu"]
        recent = own[-max(LEAST_RECENT, len(own) // 2) :]
        return float(np.median([pair.response - np.log(pair.cpus) for pair in recent]))

    def _trial(self, quota: Quota, own: Sequence[QuotaPair]) -> QuotaTrial:
        if quota.cpus < MOST_CPUS and not any(pair.limited.throttled for pair in own):
            raise VgoError(
                f"A quota of {quota.cpus:.3g} CPUs stopped no run (nr_throttled in cpu.stat), so it was not in force: "
                "other programs take the CPUs; end them, or use --ahead."
            )
        before = self.before("cpu")
        return QuotaTrial(
            quota=quota,
            stressors=len(own),
            median=float(np.exp(np.median([before[pair.stressor] + pair.response for pair in own]))),
            cpu_share=float(np.median([pair.full.cpu_s / pair.full.wall_s for pair in own])),
        )


def _pairs(step: QuotaStep, rows: Sequence[Row]) -> list[QuotaPair]:
    """Put the two runs of each stressor together; a torn pair is none."""
    runs = {(row["pair"], row["condition"]): run_of(row) for row in rows}
    return [
        QuotaPair(name, runs[number, BASELINE], runs[number, LIMITED], step.quota.cpus)
        for number, name in enumerate(step.stressors)
        if (number, BASELINE) in runs and (number, LIMITED) in runs
    ]
