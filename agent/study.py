"""Run a study of threads: warm-up, randomised rounds, a batch that confirms, all kept in a folder as it goes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field

from ..tools.execution.bench import Bench
from ..tools.execution.row_log import rows_in
from ..tools.execution.series import Measuring
from ..tools.experiment.conditions import AppliedConditions, Condition
from ..tools.experiment.experiment import Experiment, carry_out
from ..tools.experiment.schedules import Complete
from ..tools.hosts import on_one_level
from ..tools.machine import busy_words
from ..tools.recorded.write import write as write_table
from ..tools.row import Row
from ..tools.run_table import RUNS
from ..tools.statistics.ratio_test import FEWEST
from ..tools.study.design import StudyDesign, StudyScope
from ..tools.study.setting import StudySetting
from ..tools.study.spreads import outcomes, spreads
from ..tools.study.study import answered, choose, numbered, runs_table, settings_to_run
from ..tools.study.warm_up import WarmUpRun, warm_up
from .clock import BudgetClock
from .experiment import ExperimentRequest, ExperimentRun, RemadeFiles, carry_on, opened
from .interface import Interface
from .run_folder import RunFolder

if TYPE_CHECKING:
    from .report.study import StudyResult

ROUNDS, CONFIRM = "rounds", "confirm"
CLOCK = "frequency:cpus=all,per_cpu=true"
"""The layer that logs the clock of each CPU (section 3.3 of the paper)."""
PROCESS = "process"
ANSWER_S, FOR_CONFIRMING = 2.0, 0.2
"""Of the budget: seconds for the answer after the last run, and the share of the batch that confirms."""


class StudyOptions(ExperimentRequest):
    """A study before the machine was looked at."""

    kind: Literal["study"] = "study"
    rounds: Annotated[int, Field(ge=2)]
    budget_s: Annotated[float, Field(gt=0)]
    seed: int
    alpha: float

    @property
    def probed(self) -> Sequence[str]:
        """The layer that every run has."""
        return (PROCESS,)


class StudyRequest(StudyOptions):
    """What a study was asked for, and what its warm-up showed."""

    design: StudyDesign
    layers: tuple[str, ...] = ()
    tried: tuple[WarmUpRun, ...] = ()
    load_1min: float = 0.0
    """Of this machine at the start; 0 where the runs are made elsewhere."""
    cpus: int = Field(default_factory=lambda: len(os.sched_getaffinity(0)))
    """That the load was for."""

    def lasting(self, seconds: float, folder: RunFolder) -> Self:
        """Give it another budget."""
        return self.model_copy(update={"budget_s": seconds})

    def run(self, run: ExperimentRun) -> StudyResult:
        """Run the rounds and the batch that confirms, as far as the log lacks them."""
        from .report.study_files import save

        settings = settings_to_run(self.design, self.tried)
        run.say(f"{len(settings)} settings in at most {self.rounds} rounds")
        _warn_of_budget(self, settings, run)
        rows, batch = _runs(self, settings, run)
        path, layers = run.folder.path / RUNS, run.place.bench.described_by(self.layers)
        together = numbered(self.rounds, rows, batch)
        write_table(runs_table(self.design, together, str(path), layers.values(), run.facts), path, fresh=True)
        result = concluded(self, rows, batch, run.folder.path)
        save(result)
        return result

    def remade(self, folder: RunFolder) -> RemadeFiles:
        """Make the table and the whole answer again."""
        rows, batch = (rows_in(folder.partial / f"{name}.jsonl") for name in (ROUNDS, CONFIRM))
        answer = concluded(self, rows, batch, folder.path).answer
        table = runs_table(self.design, numbered(self.rounds, rows, batch), RUNS, (), {}).frame
        return RemadeFiles(len(table), {RUNS: table.write_csv().encode()}, answer)


def begin(
    options: StudyOptions, scope: StudyScope, out: Path, name: str, interface: Interface, clock: BudgetClock
) -> StudyResult:
    """Run a study in a new folder below `out`; what cannot be laid out on this machine is refused before any run."""
    subject, load_1min = options.subject, os.getloadavg()[0]
    design = None if subject.on else scope.laid_out(subject.argv, Path(subject.root))
    with opened(options, interface, clock) as (began, there):
        bench = there.bench
        bench.deadline = clock.deadline(options.budget_s)
        interface.trying(" ".join(subject.command))
        if isinstance(bench, Bench) and design:
            tried = warm_up(bench, design.settings)
        else:
            from ..tools.fleet.bench import laid_out, warmed_up

            design = laid_out(bench.executor, scope)
            tried = warmed_up(bench.executor, design.settings)
        request = StudyRequest(
            **dict(options),
            design=design,
            layers=(PROCESS, CLOCK) if "freq.mean_mhz" not in bench.absent(CLOCK) else (PROCESS,),
            tried=tried,
            load_1min=0.0 if subject.on else load_1min,
        )
        folder = RunFolder.create(out, f"study-{name}")
        return carry_on(request, request.run, folder, began, there)


def concluded(asked: StudyRequest, rows: Sequence[Row], batch: Sequence[Row], folder: Path) -> StudyResult:
    """Answer from the rows of the rounds, and from those of the batch that confirms."""
    from .report.study import StudyResult

    one, two = on_one_level(rows), on_one_level(batch)
    study = answered(asked.design, asked.tried, one, two, asked.subject, asked.rounds, asked.alpha, asked.seed)
    if busy := busy_words(asked.load_1min, asked.cpus):
        study = study.model_copy(update={"notes": (busy, *study.notes)})
    return StudyResult(asked.subject, study, numbered(asked.rounds, one, two), folder)


def _warn_of_budget(asked: StudyRequest, settings: Sequence[StudySetting], run: ExperimentRun) -> None:
    """Say before the first round what the warm-up runs let expect."""
    took = {its.setting: its.wall_s for its in asked.tried}
    rounds = run.clock.deadline(asked.budget_s).left_s / max(sum(took[one.name] for one in settings), 1e-9)
    if rounds < FEWEST:
        run.say(
            f"  --budget {asked.budget_s:g} may end after {max(int(rounds), 1)} rounds, and fewer than {FEWEST} "
            "say nothing: raise it, name fewer --factors, or give the program less to do"
        )


def _runs(
    asked: StudyRequest, settings: Sequence[StudySetting], run: ExperimentRun
) -> tuple[Sequence[Row], Sequence[Row]]:
    """Run the rounds, then the chosen setting and the baseline in pairs of their own, as many as there were rounds."""
    bench, clock, budget_s = run.place.bench, run.clock, asked.budget_s
    answer_s = min(ANSWER_S, FOR_CONFIRMING * budget_s)
    bench.deadline = clock.deadline(budget_s, answer_s + FOR_CONFIRMING * budget_s)
    made = _rounds(asked, settings, bench, ROUNDS, asked.seed)
    rows = on_one_level(made)
    found = spreads(rows, asked.alpha, asked.seed)
    chosen = choose(found, asked.design, outcomes(rows), asked.subject.lower_is_better, asked.alpha, asked.seed)
    pair = [one for one in asked.design.settings if chosen and (one.baseline or one.name == chosen.name)]
    _forget_another(run.folder.partial / f"{CONFIRM}.jsonl", pair)
    if chosen is None:
        return made, ()
    run.say(f"{chosen.name} looks best: it and the baseline run {asked.rounds} more rounds, to confirm it")
    bench.deadline = clock.deadline(budget_s, answer_s)
    return made, _rounds(asked, pair, bench, CONFIRM, asked.seed + 1)


def _forget_another(batch: Path, pair: Sequence[StudySetting]) -> None:
    """Begin the batch anew that confirmed another setting, which looked best after fewer rounds."""
    if any(row["condition"] not in {one.name for one in pair} for row in rows_in(batch)):
        batch.unlink()


def _rounds(
    asked: StudyRequest, settings: Sequence[StudySetting], bench: Measuring, call: str, seed: int
) -> Sequence[Row]:
    """Run randomised complete blocks, or go on with those that a killed agent left."""
    conditions = {one.name: Condition(name=one.name, setting=one) for one in settings}
    schedule = Complete(tuple(conditions), asked.rounds, f"study:{seed}")
    with bench.series(call, asked.layers, asked.rounds * len(settings)) as series:
        carry_out(Experiment(AppliedConditions(bench, conditions), schedule), series)
    return series.rows
