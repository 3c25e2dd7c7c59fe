"""Calibrate this machine to a base in a folder: every run is kept as it ends, the quota and the table at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from ..tools.execution.bench import Bench
from ..tools.execution.launch import RunGroup
from ..tools.execution.row_log import rows_in
from ..tools.machine_profile.battery import Group
from ..tools.machine_profile.calibrate import RunStep, base_rates, calibrate, period_for
from ..tools.machine_profile.form import IN_FOLDER, Calibrated, Calibration, Profile, write
from ..tools.machine_profile.measure import LIMITED, StressNg, StressorConditions, stressor_table
from ..tools.machine_profile.quota import quota_of, set_quota
from ..tools.machine_profile.quota_pairs import QuotaStep, Search
from ..tools.recorded.recorded import RecordedRuns
from ..tools.recorded.write import write as write_table
from ..tools.row import BASELINE, RUNS, Row
from .experiment import ExperimentRun, RemadeFiles
from .machine_profile import StressorRequest
from .run_folder import RunFolder
from .session import ShownAnswer


class CalibrationRequest(StressorRequest):
    """What a calibration was asked for: the base, what this machine can run, and how to search."""

    kind: Literal["calibration"] = "calibration"
    base: Profile
    here: Profile | None
    """Of this machine, made at the time of the base."""
    search: Search

    @cached_property
    def groups(self) -> Mapping[str, Group]:
        """Of the stressors, by name."""
        return {one.name: one.group for one in self.stressors}

    def run(self, run: ExperimentRun) -> CalibrationResult:
        """Search for the quota, as far as the logs lack runs."""
        quotas, path = [None, quota_of(0.5, period_for(self.search.seconds))], run.folder.path / RUNS
        with self.opened(run, quotas, self.search.ahead) as there:
            steps, result = self._searched(lambda one: self._step(one, *there), run.folder, run.say)
        write_table(_table(steps, str(path), run.facts), path, fresh=True)
        write(run.folder.path / IN_FOLDER[Calibration], result.found.calibration)
        return result

    def remade(self, folder: RunFolder) -> RemadeFiles:
        """Make the table and the whole answer again."""
        steps, result = self._searched(lambda one: rows_in(folder.partial / f"{_call(one)}.jsonl"), folder)
        table = _table(steps, RUNS, {}).frame
        return RemadeFiles(len(table), {RUNS: table.write_csv().encode()}, result.answer)

    def _searched(
        self, run: RunStep, folder: RunFolder, tell: Callable[[str], None] = lambda words: None
    ) -> tuple[Sequence[Sequence[Row]], CalibrationResult]:
        """Search, and give the rows of each step and the result."""
        from .report.machine import headline

        made = list[Sequence[Row]]()

        def step(one: QuotaStep) -> Sequence[Row]:
            made.append(run(one))
            return made[-1]

        found = calibrate(self.base, self.here, self.system, self.groups, self.search, step, tell)
        told = {"command": list(self.subject.command), "headline": headline(found)}
        answer = {"folder": str(folder.path), **told, **found.model_dump(mode="json")}
        return made, CalibrationResult(found, answer)

    def _step(
        self, step: QuotaStep, bench: Bench, stress_ng: StressNg, groups: Sequence[RunGroup | None]
    ) -> Sequence[Row]:
        """Run each stressor of a step with and without the quota, in random order, or go on with what its log has."""
        assert groups[1]
        set_quota(groups[1], step.quota)
        known, rates = {one.name: one for one in self.stressors}, base_rates(self.base, self.here, self.groups)
        conditions = StressorConditions(
            bench,
            stress_ng,
            dict(zip((BASELINE, LIMITED), groups, strict=True)),
            [known[name] for name in step.stressors],
            self.search.seconds,
            step.quota,
            {name: float(np.exp(rates[name])) for name in step.stressors},
        )
        return conditions.run_all(_call(step), f"calibrate:{self.search.seed}:{step.number}")


def _table(steps: Sequence[Sequence[Row]], given: str, facts: Mapping[str, Any]) -> RecordedRuns:
    """Put the rows of all steps together, with pairs of their own."""
    rows = list[Row]()
    for number, step in enumerate(steps, 1):
        first = 1 + max((row["pair"] for row in rows), default=-1)
        rows += [
            {**row, "order": len(rows) + at, "pair": first + row["pair"], "step": number} for at, row in enumerate(step)
        ]
    return stressor_table(rows, "step", given, facts)


def _call(step: QuotaStep) -> str:
    return f"step{step.number + 1}"


class CalibrationResult(NamedTuple):
    """A calibration that has ended."""

    found: Calibrated
    answer: Mapping[str, Any]

    def shown(self, saved: Sequence[Path] = ()) -> ShownAnswer:
        """All that it found, and its words."""
        from .report.machine import calibrated_text

        folder = Path(self.answer["folder"])
        file = saved[0] if saved else folder / IN_FOLDER[Calibration]
        return ShownAnswer(
            {**self.answer, "file": str(file)}, calibrated_text(self.found, saved[0] if saved else folder)
        )
