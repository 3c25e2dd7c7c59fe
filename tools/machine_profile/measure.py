"""Runs of stressors in an experiment: how each is made, what its row says, and the profile that rows give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from ...layers.schema import Column, Layer
from ..execution.bench import Bench
from ..execution.launch import RunGroup
from ..execution.progress import RunEnded
from ..execution.series import Series
from ..experiment.experiment import Experiment, carry_out
from ..experiment.schedules import Complete
from ..mitigation.owned_folder import temporary_folder
from ..recorded.formats.vgo import measured
from ..recorded.recorded import RecordedRuns
from ..row import Row
from .battery import Stressor
from .form import Battery, Profile, Quota, StressorRun, System
from .quota import limited_group
from .stress_ng import StressNg

LIMITED = "quota"
"""The condition of runs under the quota; those without it are the baseline."""
COUNTED = ("stressor", "bogo_ops", "wall_s", "cpu_s", "throttled")
"""What a row has of a `StressorRun`."""
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
"""Those of a row beside the ones that every run table has."""


@contextmanager
def bench(quotas: Sequence[Quota | None], ahead: bool) -> Iterator[tuple[StressNg, list[RunGroup | None]]]:
    """Open what runs stressors: a folder, a group a quota."""
    with ExitStack() as stack:
        stress_ng = StressNg(stack.enter_context(temporary_folder()))
        groups = [
            stack.enter_context(limited_group(quota, ahead)) if quota is not None or ahead else None for quota in quotas
        ]
        yield stress_ng, groups


@dataclass(frozen=True)
class StressorConditions:
    """Stressors without a quota, under one, or both; the number of a pair is the place of its stressor."""

    bench: Bench
    stress_ng: StressNg
    groups: Mapping[str, RunGroup | None]
    """By condition."""
    stressors: Sequence[Stressor]
    """In the order of their runs."""
    seconds: float
    """Of a run; one that would not end within the budget is not begun."""
    quota: Quota | None = None
    """Under which the condition `quota` runs."""
    base: Mapping[str, float] | None = None
    """Rate of each on a base, in real time, over which the outcome is the speed-up; None: it is the rate."""

    def run_all(self, call: str, seed: str) -> Sequence[Row]:
        """Run what the log lacks of every stressor under each condition, next to each other in random order."""
        schedule = Complete(tuple(self.groups), len(self.stressors), seed)
        with self.bench.series(call, planned=len(self.groups) * len(self.stressors)) as series:
            carry_out(Experiment(self, schedule), series)
        return series.rows

    def run(self, series: Series, key: str, pair: int) -> None:
        """Run the stressor of a pair once."""
        bench, stressor = self.bench, self.stressors[pair]
        if bench.deadline.left_s < self.seconds:
            series.cut = True
            return
        group = self.groups[key]
        ran = self.stress_ng.run(bench.spawner, stressor, self.seconds, group=group, on_started=bench.on_started)
        base = self.base[stressor.name] if self.base else 1.0
        given = {"order": len(series.rows), "condition": key, "pair": pair, "group": stressor.group}
        cpus = self.quota.cpus if self.quota and key == LIMITED else None
        series.log.append({**given, **_counted(ran, base), "quota_cpus": cpus})
        bench.listener(RunEnded(series.rows if self.base else list(map(_alone, series.rows)), series.planned))

    def shown(self, series: Series, key: str) -> tuple[str, str]:
        """Give the condition; no layers are on."""
        return key, ""


def _counted(ran: StressorRun, base: float) -> Row:
    real = ran.rate("real")
    lacks = "" if real * ran.rate("cpu") else "no CPU time counted" if real else "zero bogo operations"
    failure = ran.failed or lacks
    outcome = None if failure else real / base
    judged = {"ok": int(not failure), "exit_code": None, "survivors": 0, "outcome": outcome}
    return {**judged, **ran.model_dump(include=set(COUNTED)), "layers": "", "failure": failure}


def _alone(row: Row) -> Row:
    """Tell a run apart from those of other stressors: their rates have no middle in common."""
    return {**row, "condition": f"{row['stressor']}, {row['condition']}"}


def stressor_table(rows: Sequence[Row], part: str, given: str, facts: Mapping[str, Any]) -> RecordedRuns:
    """Make a run table of rows, each of which has the number of its `part`; `given` names the table in messages."""
    recorded = measured(pl.DataFrame(rows, infer_schema_length=None), given, [COLUMNS], facts)
    return replace(recorded, roles={**recorded.roles, "stressor": "setting", part: "id"})


def repeated(battery: Battery, stressors: Sequence[Stressor]) -> tuple[Stressor, ...]:
    """Give every run of a profile: each stressor once a repetition, in an order drawn anew."""
    known = {one.name: one for one in sorted(stressors)}
    rounds = Complete(tuple(known), battery.repetitions, f"profile:{battery.seed}")
    return tuple(known[name] for block in rounds.blocks(list) for name in block.order)


def profile_of(rows: Sequence[Row], condition: str, system: System, battery: Battery) -> Profile:
    """Take the runs of one condition as a profile."""
    if battery.quota:
        system = system.model_copy(update={"name": f"{system.name} with {battery.quota.cpus:.3g} CPUs"})
    runs = tuple(
        StressorRun(repetition=row["repetition"], failed=row["failure"], **{name: row[name] for name in COUNTED})
        for row in rows
        if row["condition"] == condition
    )
    return Profile(system=system, battery=battery, runs=runs)
