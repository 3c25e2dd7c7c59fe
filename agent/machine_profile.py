"""Profile this machine in a folder: every run of a stressor is kept as it ends, table and profile at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Literal, Self

from pydantic import Field

from ..knowledge.errors import VgoError
from ..tools.execution.bench import Bench
from ..tools.execution.launch import RunGroup
from ..tools.execution.row_log import rows_in
from ..tools.machine_profile.battery import Stressor
from ..tools.machine_profile.form import BESIDE, IN_FOLDER, Battery, Profile, Quota, System, content
from ..tools.machine_profile.measure import LIMITED, StressNg, StressorConditions, profile_of, repeated, stressor_table
from ..tools.machine_profile.measure import bench as stressor_bench
from ..tools.recorded.write import write as write_table
from ..tools.row import BASELINE, RUNS, Row
from .experiment import EndedExperiment, ExperimentRequest, ExperimentRun, RemadeFiles
from .render.text import blocks_text
from .run_folder import RunFolder, write

CALL = "battery"
ANSWER_S = 2.0
"""Of the budget, for the answer after the last run."""


class StressorRequest(ExperimentRequest):
    """What is asked for that runs stressors."""

    system: System
    stressors: tuple[Stressor, ...]
    budget_s: Annotated[float, Field(gt=0)]

    def lasting(self, seconds: float, folder: RunFolder) -> Self:
        """Give it another budget."""
        return self.model_copy(update={"budget_s": seconds})

    @contextmanager
    def opened(
        self, run: ExperimentRun, quotas: Sequence[Quota | None], ahead: bool
    ) -> Iterator[tuple[Bench, StressNg, list[RunGroup | None]]]:
        """Open what runs stressors until the budget ends; VgoError on another machine than the one it began on."""
        bench, machine, began = run.place.bench, run.machine, self.system
        assert isinstance(bench, Bench)
        bench.deadline = run.clock.deadline(self.budget_s, ANSWER_S)
        with stressor_bench(quotas, ahead) as (stress_ng, groups):
            before = (began.cpu, began.architecture, began.stress_ng)
            if before != (machine.cpu, machine.architecture, stress_ng.version):
                raise VgoError(f"It was begun on {began.name} ({', '.join(before)}): go on there, or begin a new one.")
            yield bench, stress_ng, groups


class MachineProfileRequest(StressorRequest):
    """What a profile was asked for."""

    kind: Literal["machine profile"] = "machine profile"
    battery: Battery
    beside: bool = False
    """Under the quota and without it."""
    ahead: bool = False

    @property
    def quotas(self) -> Mapping[str, Quota | None]:
        """By condition, that of the profile first."""
        if quota := self.battery.quota:
            return {LIMITED: quota, BASELINE: None} if self.beside else {LIMITED: quota}
        return {BASELINE: None}

    def run(self, run: ExperimentRun) -> EndedExperiment:
        """Run what the log lacks of every stressor; write table and profiles."""
        quotas, battery, path = self.quotas, self.battery, run.folder.path / RUNS
        with self.opened(run, list(quotas.values()), self.ahead) as (bench, stress_ng, groups):
            every, arms = repeated(battery, self.stressors), dict(zip(quotas, groups, strict=True))
            conditions = StressorConditions(bench, stress_ng, arms, every, battery.seconds, battery.quota)
            conditions.run_all(CALL, f"profile:{battery.seed}")
        rows = self._rows(run.folder)
        if not rows:
            raise VgoError(f"The budget of {self.budget_s:g} s ended before the first run: raise --budget.")
        write_table(stressor_table(rows, "repetition", str(path), run.facts), path, fresh=True)
        made = self.remade(run.folder)
        for name, file in made.tables.items():
            write(run.folder.path / name, file)
        answer = made.answer
        kept = f"Kept as {' and '.join(one['file'] for one in answer['profiles'])} in {answer['folder']}."
        return EndedExperiment(answer, blocks_text((f"{answer['headline']}.", *answer["notes"], kept)))

    def remade(self, folder: RunFolder) -> RemadeFiles:
        """Make table, profiles and answer again."""
        from .report.machine import profile_sentences, profiled_values

        rows = self._rows(folder)
        profiles = {
            name: profile_of(rows, condition, self.system, self.battery.model_copy(update={"quota": quota}))
            for name, (condition, quota) in zip((IN_FOLDER[Profile], BESIDE), self.quotas.items(), strict=False)
        }
        headline, *notes = (said for one in profiles.values() for said in profile_sentences(one))
        answer = {
            "folder": str(folder.path),
            "command": list(self.subject.command),
            "headline": headline.removesuffix("."),
            "notes": notes,
            "profiles": [{"file": name, **profiled_values(one)} for name, one in profiles.items()],
        }
        table = stressor_table(rows, "repetition", RUNS, {}).frame.write_csv().encode()
        return RemadeFiles(len(rows), {RUNS: table} | {name: content(one) for name, one in profiles.items()}, answer)

    def _rows(self, folder: RunFolder) -> Sequence[Row]:
        rows = rows_in(folder.partial / f"{CALL}.jsonl")
        return [{**row, "repetition": row["pair"] // len(self.stressors)} for row in rows]
