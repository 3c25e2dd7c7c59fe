"""Stressors without and with a quota: how a run of each is made, what its row says, and what follows from the pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl

from ...knowledge.errors import VgoError
from ...knowledge.shape import Frozen
from ...layers.schema import Column, Layer
from ..execution.bench import Bench
from ..execution.launch import RunGroup
from ..execution.progress import RunEnded
from ..execution.series import Series
from ..recorded.formats.vgo import measured
from ..recorded.recorded import RecordedRuns
from ..row import BASELINE, Row
from .battery import Group, Stressor
from .form import Quota, QuotaTrial, StressorRun
from .stress_ng import StressNg

LIMITED = "quota"
"""The condition of runs under the quota; those without it are the baseline."""
CONDITIONS = (BASELINE, LIMITED)
COLUMNS = Layer(
    key="stressors",
    description="What stress-ng counted in a run of a stressor.",
    columns=(
        Column(name="stressor", description="Name.", unit="", role="setting", type="text"),
        Column(name="group", description="Of the stressor.", unit="", role="setting", type="text"),
        Column(name="quota_cpus", description="What the quota is worth.", unit="CPUs", role="setting", level=True),
        Column(name="bogo_ops", description="Operations.", unit="count", role="consequence"),
        Column(name="cpu_s", description="User and system time.", unit="s", role="consequence"),
        Column(name="throttled", description="Periods in which the quota stopped it.", unit="count"),
    ),
)
"""Those of a row beside the ones that every run table has; `outcome` is the speed-up over the base, in real time."""


@dataclass(frozen=True)
class QuotaConditions:
    """The conditions of one step; the number of a pair is the place of its stressor."""

    bench: Bench
    stress_ng: StressNg
    groups: Mapping[str, RunGroup | None]
    """By condition."""
    stressors: Sequence[Stressor]
    base: Mapping[str, float]
    """Rate of each on the base."""
    seconds: float
    """Of a run; one that would not end within the budget is not begun."""
    cpus: float
    """What the quota is worth."""

    def run(self, series: Series, key: str, pair: int) -> None:
        """Run the stressor of a pair once."""
        bench, stressor = self.bench, self.stressors[pair]
        if bench.deadline.left_s < self.seconds:
            series.cut = True
            return
        group = self.groups[key]
        ran = self.stress_ng.run(bench.spawner, stressor, self.seconds, group=group, on_started=bench.on_started)
        base = self.base[stressor.name]
        given = {"order": len(series.rows), "condition": key, "pair": pair, "group": stressor.group}
        series.log.append({**given, **_counted(ran, base), "quota_cpus": self.cpus if key == LIMITED else None})
        bench.listener(RunEnded(series.rows, series.planned))

    def shown(self, series: Series, key: str) -> tuple[str, str]:
        """Give the condition; no layers are on."""
        return key, ""


def _counted(ran: StressorRun, base: float) -> Row:
    counts = ran.model_dump(include={"stressor", "bogo_ops", "wall_s", "cpu_s", "throttled"})
    failure = ran.failed or ("" if ran.rate("real") * ran.rate("cpu") > 0 else "zero bogo operations")
    outcome = None if failure else ran.rate("real") / base
    judged = {"ok": int(not failure), "exit_code": None, "survivors": 0, "outcome": outcome}
    return {**judged, **counts, "layers": "", "failure": failure}


def calibration_table(steps: Sequence[Sequence[Row]], given: str, facts: Mapping[str, Any]) -> RecordedRuns:
    """Put the rows of all steps together, with pairs of their own; `given` is what the table is called in messages."""
    rows = list[Row]()
    for number, step in enumerate(steps, 1):
        first = 1 + max((row["pair"] for row in rows), default=-1)
        rows += [
            {**row, "order": len(rows) + at, "pair": first + row["pair"], "step": number} for at, row in enumerate(step)
        ]
    recorded = measured(pl.DataFrame(rows, infer_schema_length=None), given, [COLUMNS], facts)
    return replace(recorded, roles={**recorded.roles, "stressor": "setting", "step": "id"})


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
