"""The turns of a calibration: each stressor with and without the quota next to each other; what follows from them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...knowledge.errors import VgoError
from ..execution.launch import RunGroup
from ..execution.spawn import Spawner
from .battery import Group, Stressor
from .calibrated import QuotaTrial
from .form import Quota, StressorRun
from .quota import set_quota
from .speed_up import middle
from .stress_ng import StressNg

MOST_CPUS = 1.0
"""Of one thread: more than a whole CPU limits nothing."""
LEAST_RECENT = 8
"""Pairs that say how a quota acts now."""

Telling = Callable[[str], None]


@dataclass(frozen=True)
class Search:
    """How to search."""

    seconds: float = 0.5
    """Of a run."""
    sample: int = 24
    """CPU stressors of a step; all of them in the last."""
    steps: int = 5
    seed: int = 1
    ahead: bool = False


@dataclass(frozen=True)
class Pair:
    """One stressor without and with the quota, next to each other."""

    stressor: str
    full: StressorRun
    limited: StressorRun
    cpus: float
    """What the quota was worth."""

    @property
    def works(self) -> bool:
        """Both gave a result."""
        return not (self.full.failed or self.limited.failed) and self.full.rate("cpu") > 0 < self.limited.rate("real")

    @property
    def response(self) -> float:
        """Log of what the quota left of the speed; full is the rate per CPU second, so that waiting is not counted."""
        return float(np.log(self.limited.rate("real") / self.full.rate("cpu")))


@dataclass
class Turns:
    """Runs pairs, and keeps them."""

    base: Mapping[str, float]
    """Log rates."""
    stressors: Mapping[str, Stressor]
    search: Search
    stress_ng: StressNg
    spawner: Spawner
    groups: Sequence[RunGroup | None]
    telling: Telling
    pairs: list[Pair] = field(default_factory=list)
    here: Mapping[str, float] = field(default_factory=dict)
    """Log rates of this machine where a profile of it was given; else those of the runs without the quota."""
    steps: list[QuotaTrial] = field(default_factory=list)

    def step(self, names: Sequence[str], quota: Quota) -> None:
        """Run the stressors in an order drawn anew, each with and without the quota in an order drawn anew."""
        limited = self.groups[1]
        assert limited is not None
        set_quota(limited, quota)
        draw = random.Random(f"{self.search.seed} {len(self.steps)}")
        order = sorted(names)
        draw.shuffle(order)
        for name in order:
            turns = [0, 1]
            draw.shuffle(turns)
            runs = {turn: self._run(name, turn) for turn in turns}
            self.pairs.append(Pair(name, runs[0], runs[1], quota.cpus))
        self._tell(quota, len(order))

    def cpus_wanted(self) -> float:
        """Give the quota that would make the median 1: what must be left of the speed, corrected for the response."""
        return float(np.exp(-self.median() - self.bias()))

    def median(self) -> float:
        """Median log speed-up over the base without the quota, of the CPU stressors."""
        return float(np.median(list(self.before("cpu").values())))

    @property
    def cpu_share(self) -> float:
        """Of a CPU that runs without the quota had, in the middle of the steps."""
        return float(np.median([step.cpu_share for step in self.steps]))

    def bias(self) -> float:
        """By how much in logarithms the speed under a quota is off its share; in the latest half of the pairs."""
        own = [pair for pair in self.pairs if pair.works and self._is(pair.stressor, "cpu")]
        recent = own[-max(LEAST_RECENT, len(own) // 2) :]
        return float(np.median([pair.response - np.log(pair.cpus) for pair in recent])) if recent else 0.0

    def before(self, group: Group) -> dict[str, float]:
        """Log speed-up over the base without the quota, by stressor."""
        full: dict[str, list[float]] = {}
        for pair in self.pairs:
            if pair.works:
                full.setdefault(pair.stressor, []).append(pair.full.rate("cpu"))
        rates = {**{name: middle(seen) for name, seen in full.items()}, **self.here}
        return {
            name: rates[name] - self.base[name]
            for name in sorted(rates.keys() & self.base.keys())
            if self._is(name, group)
        }

    def after(self, group: Group, cpus: float) -> dict[str, float]:
        """The same with a quota: the response of the last step, moved to this quota."""
        last = {pair.stressor: pair for pair in self.pairs if pair.works}
        before = self.before(group)
        return {
            name: before[name] + pair.response + float(np.log(cpus / pair.cpus))
            for name, pair in sorted(last.items())
            if name in before
        }

    def _run(self, name: str, turn: int) -> StressorRun:
        return self.stress_ng.run(
            self.spawner, self.stressors[name], self.search.seconds, len(self.steps), self.groups[turn]
        )

    def _is(self, name: str, group: Group) -> bool:
        return self.stressors[name].group == group

    def _tell(self, quota: Quota, count: int) -> None:
        own = [pair for pair in self.pairs[-count:] if pair.works and self._is(pair.stressor, "cpu")]
        if not own:
            reason = next((p.limited.failed or p.full.failed for p in self.pairs[-count:] if not p.works), "no result")
            raise VgoError(
                f"No CPU stressor worked with and without the quota ({reason}): see that stress-ng works here."
            )
        if quota.cpus < MOST_CPUS and not any(pair.limited.throttled for pair in own):
            raise VgoError(
                f"A quota of {quota.cpus:.3g} CPUs stopped no run (nr_throttled in cpu.stat), so it was not in force: "
                "other programs take the CPUs; end them, or use --ahead."
            )
        before = self.before("cpu")
        median = float(np.exp(np.median([before[pair.stressor] + pair.response for pair in own])))
        shares = [pair.full.cpu_s / pair.full.wall_s for pair in own if pair.full.wall_s]
        self.steps.append(
            QuotaTrial(
                quota=quota, stressors=len(own), median=median, cpu_share=float(np.median(shares)) if shares else 0.0
            )
        )
        self.telling(
            f"  quota {quota.cpus:.4g} CPUs: median speed-up over the base {median:.3g} ({len(own)} stressors)"
        )
