"""Calibrate this machine to a base in a folder: every run is kept as it ends, the quota and the table at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field

from ..tools.execution.bench import Bench
from ..tools.execution.launch import RunGroup
from ..tools.execution.row_log import rows_in
from ..tools.experiment.experiment import Experiment, carry_out
from ..tools.experiment.schedules import Complete
from ..tools.machine_profile.battery import Group, Stressor
from ..tools.machine_profile.calibrate import base_rates, calibrate, period_for
from ..tools.machine_profile.form import Calibrated, Profile, System, write
from ..tools.machine_profile.measure import bench as stressor_bench
from ..tools.machine_profile.quota import quota_of, set_quota
from ..tools.machine_profile.quota_pairs import CONDITIONS, QuotaConditions, QuotaStep, Search, calibration_table
from ..tools.machine_profile.stress_ng import StressNg
from ..tools.recorded.write import write as write_table
from ..tools.row import RUNS, Row
from .experiment import ExperimentRequest, ExperimentRun, RemadeFiles
from .run_folder import RunFolder
from .session import ShownAnswer

QUOTA = "calibration.json"
"""What `machine run --like` reads."""
ANSWER_S = 2.0
"""Of the budget, for the answer after the last run."""


class CalibrationRequest(ExperimentRequest):
    """What a calibration was asked for: the base, what this machine can run, and how to search."""

    kind: Literal["calibration"] = "calibration"
    base: Profile
    here: Profile | None
    """Of this machine, made at the time of the base."""
    system: System
    stressors: tuple[Stressor, ...]
    search: Search
    budget_s: Annotated[float, Field(gt=0)]

    @cached_property
    def groups(self) -> Mapping[str, Group]:
        """Of the stressors, by name."""
        return {one.name: one.group for one in self.stressors}

    def lasting(self, seconds: float, folder: RunFolder) -> Self:
        """Give it another budget."""
        return self.model_copy(update={"budget_s": seconds})

    def run(self, run: ExperimentRun) -> CalibrationResult:
        """Search for the quota, as far as the logs lack runs."""
        bench, path = run.place.bench, run.folder.path / RUNS
        assert isinstance(bench, Bench)
        bench.deadline = run.clock.deadline(self.budget_s, ANSWER_S)
        made = list[Sequence[Row]]()
        with stressor_bench([None, quota_of(0.5, period_for(self.search.seconds))], self.search.ahead) as opened:

            def step(one: QuotaStep) -> Sequence[Row]:
                made.append(self._step(one, bench, *opened))
                return made[-1]

            found = calibrate(self.base, self.here, self.system, self.groups, self.search, step, run.say)
        write_table(calibration_table(made, str(path), run.facts), path, fresh=True)
        write(run.folder.path / QUOTA, found.calibration)
        return CalibrationResult(self, found, run.folder.path)

    def remade(self, folder: RunFolder) -> RemadeFiles:
        """Make the table and the whole answer again."""
        made = list[Sequence[Row]]()

        def step(one: QuotaStep) -> Sequence[Row]:
            made.append(rows_in(folder.partial / f"{_call(one)}.jsonl"))
            return made[-1]

        found = calibrate(self.base, self.here, self.system, self.groups, self.search, step)
        table = calibration_table(made, RUNS, {}).frame
        answer = CalibrationResult(self, found, folder.path).answer
        return RemadeFiles(len(table), {RUNS: table.write_csv().encode()}, answer)

    def _step(
        self, step: QuotaStep, bench: Bench, stress_ng: StressNg, groups: Sequence[RunGroup | None]
    ) -> Sequence[Row]:
        """Run each stressor of a step with and without the quota, in random order, or go on with what its log has."""
        assert groups[1]
        set_quota(groups[1], step.quota)
        known = {one.name: one for one in self.stressors}
        rates = base_rates(self.base, self.here, self.groups)
        conditions = QuotaConditions(
            bench,
            stress_ng,
            dict(zip(CONDITIONS, groups, strict=True)),
            [known[name] for name in step.stressors],
            {name: float(np.exp(rates[name])) for name in step.stressors},
            self.search.seconds,
            step.quota.cpus,
        )
        schedule = Complete(CONDITIONS, len(step.stressors), f"calibrate:{self.search.seed}:{step.number}")
        with bench.series(_call(step), planned=2 * len(step.stressors)) as series:
            carry_out(Experiment(conditions, schedule), series)
        return series.rows


def _call(step: QuotaStep) -> str:
    return f"step{step.number + 1}"


@dataclass(frozen=True)
class CalibrationResult:
    """A calibration that has ended."""

    request: CalibrationRequest
    found: Calibrated
    folder: Path

    @property
    def answer(self) -> Mapping[str, Any]:
        """All that it found."""
        from .report.machine import headline

        told = {"command": list(self.request.subject.command), "headline": headline(self.found)}
        return {"folder": str(self.folder), **told, **self.found.model_dump(mode="json")}

    def shown(self, saved: Sequence[Path] = ()) -> ShownAnswer:
        """All that it found, and its words."""
        from .report.machine import calibrated_text

        like = saved[0] if saved else self.folder
        return ShownAnswer(
            {**self.answer, "file": str(saved[0] if saved else self.folder / QUOTA)}, calibrated_text(self.found, like)
        )
