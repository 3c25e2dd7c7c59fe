"""Stressors without and with a quota as conditions of an experiment: how a run is made, and what its row says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from ...layers.schema import Column, Layer
from ..execution.bench import Bench
from ..execution.launch import RunGroup
from ..execution.progress import RunEnded
from ..execution.series import Series
from ..recorded.formats.vgo import measured
from ..recorded.recorded import RecordedRuns
from ..row import BASELINE, Row
from .battery import Stressor
from .form import StressorRun
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


def run_of(row: Row) -> StressorRun:
    """Read the run of a row."""
    counts = {name: row[name] for name in ("stressor", "bogo_ops", "wall_s", "cpu_s", "throttled")}
    return StressorRun(**counts, repetition=0, failed=row["failure"])


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
