"""Run a study of threads: warm-up, randomised rounds, a batch that confirms, all kept in a folder as it goes."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import Annotated

import polars as pl
import yaml
from pydantic import Field, ValidationError

from ..knowledge.errors import VgoError
from ..knowledge.shape import Frozen
from ..tools.execution.bench import Bench, Progress
from ..tools.execution.deadline import Deadline
from ..tools.execution.series import Measuring
from ..tools.execution.spawn import Spawner
from ..tools.experiment.applied import AppliedConditions
from ..tools.experiment.condition import Condition
from ..tools.experiment.experiment import Experiment, carry_out
from ..tools.experiment.schedules import Complete
from ..tools.machine import busy_words
from ..tools.one_level import on_one_level
from ..tools.recorded.formats.vgo import measured as described
from ..tools.recorded.write import write as write_table
from ..tools.row import Row
from ..tools.statistics.exchange import FEWEST
from ..tools.study.design import StudyDesign
from ..tools.study.laid_out import StudyScope
from ..tools.study.setting import StudySetting
from ..tools.study.spreads import outcomes, spreads
from ..tools.study.study import Study, answered, choose, measured
from ..tools.study.warm_up import WarmUpRun, warm_up
from ..tools.subject import Subject
from .clock import BudgetClock
from .place import ProgramBench, place
from .progress import Lines
from .run_folder import RunFolder, write
from .session import resumable, tell_restored

FILE, TABLE = "study.yaml", "runs.csv"
ROUNDS, CONFIRM = "rounds", "confirm"
CLOCK = "frequency:cpus=all,per_cpu=true"
"""The layer that logs the clock of each CPU (section 3.3 of the paper)."""
PROCESS = "process"
LINE_EVERY_S = 5.0
ANSWER_S, FOR_CONFIRMING = 2.0, 0.2
"""Of the budget: seconds for the answer after the last run, and the share of the batch that confirms."""


class StudyPlan(Frozen):
    """What a study was asked for, and what its warm-up showed: all that it takes to go on with it."""

    subject: Subject
    design: StudyDesign
    rounds: Annotated[int, Field(ge=2)]
    budget_s: Annotated[float, Field(gt=0)]
    seed: int
    alpha: float
    layers: tuple[str, ...] = ()
    tried: tuple[WarmUpRun, ...] = ()
    load_1min: float = 0.0
    """Of this machine at the start; 0 where the runs are made elsewhere."""
    cpus: int = Field(default_factory=lambda: len(os.sched_getaffinity(0)))
    """That the load was for."""


@dataclass(frozen=True)
class StudyResult:
    """A study that has ended."""

    asked: StudyPlan
    study: Study
    rows: tuple[Row, ...]
    folder: Path


@dataclass(frozen=True)
class StudyRequest:
    """A study before the machine was looked at."""

    subject: Subject
    wanted: StudyScope
    rounds: int
    budget_s: float
    seed: int
    alpha: float
    clock: BudgetClock = field(default_factory=BudgetClock)
    """Counts the budget, from when the command began."""

    def asked(
        self, design: StudyDesign, layers: tuple[str, ...], tried: tuple[WarmUpRun, ...], load_1min: float
    ) -> StudyPlan:
        """With what the machine and the warm-up have shown."""
        return StudyPlan(
            subject=self.subject,
            design=design,
            rounds=self.rounds,
            budget_s=self.budget_s,
            seed=self.seed,
            alpha=self.alpha,
            layers=layers,
            tried=tried,
            load_1min=load_1min,
        )


def begin(question: StudyRequest, out: Path, name: str, lines: Lines) -> StudyResult:
    """Run a study in a new folder below `out`."""
    subject = question.subject
    load_1min = 0.0 if subject.on else os.getloadavg()[0]
    here = None if subject.on else question.wanted.laid_out(subject.argv, Path(subject.root))
    tell_restored(lines)
    with _place(subject, lines) as there:
        bench = there.bench
        bench.deadline = question.clock.deadline(question.budget_s)
        lines.trying(" ".join(subject.command))
        design = here or laid_out_there(bench, question.wanted)
        tried = _warmed_up(bench, design, lines)
        folder = RunFolder.create(out, f"study-{name}")
        layers = (PROCESS, CLOCK) if "freq.mean_mhz" not in bench.absent(CLOCK) else (PROCESS,)
        complete = question.asked(design, layers, tried, load_1min)
        write(folder.path / FILE, _page(complete))
        folder.note_time("begun")
        return _carry_on(complete, folder, there, lines, question.clock)


def go_on(path: Path, lines: Lines, clock: BudgetClock, on: str = "", more_s: float | None = None) -> StudyResult:
    """Go on with a study that was cut off, on hosts that may be reached elsewhere now, for its budget again or for
    more_s seconds; one that had ended is answered again.
    """
    folder = RunFolder(path)
    asked = read(path)
    asked = asked.model_copy(update={"budget_s": more_s or asked.budget_s})
    if on and not asked.subject.on:
        raise VgoError(f"{folder.path} is a study of this machine: go on without --on, or begin a new one.")
    if on:
        asked = asked.model_copy(update={"subject": asked.subject.model_copy(update={"on": on})})
    tell_restored(lines)
    with _place(asked.subject, lines) as there:
        return _carry_on(asked, folder, there, lines, clock)


def laid_out_there(bench: Measuring, wanted: StudyScope) -> StudyDesign:
    """Have the hosts lay the study out."""
    from ..tools.fleet.bench import FleetBench
    from ..tools.fleet.every import laid_out

    assert isinstance(bench, FleetBench)
    return laid_out(bench.executor, wanted)


def _warmed_up(bench: Measuring, design: StudyDesign, lines: Lines) -> tuple[WarmUpRun, ...]:
    """Run every setting once, here or on every host."""
    if isinstance(bench, Bench):
        return warm_up(bench, design.settings, lines.say)
    from ..tools.fleet.bench import FleetBench
    from ..tools.fleet.every import warmed_up

    assert isinstance(bench, FleetBench)
    tried = warmed_up(bench.executor, design.settings)
    for one in tried:
        if one.failure:
            lines.say(f"{one.setting} is left out: {one.failure}")
    return tried


def read(folder: Path) -> StudyPlan:
    """Read what a study was asked for."""
    try:
        return StudyPlan.model_validate(yaml.safe_load((folder / FILE).read_text(encoding="utf-8")))
    except OSError as error:
        raise VgoError(f"{folder} is not the folder of a study ({FILE}: {error.strerror}).") from error
    except (yaml.YAMLError, ValidationError, UnicodeDecodeError) as error:
        raise VgoError(f"{folder / FILE} is damaged, so the study cannot go on: begin a new one.") from error


@contextlib.contextmanager
def _place(subject: Subject, lines: Lines) -> Iterator[ProgramBench]:
    pace = Pace(lines)
    with (
        Spawner() as spawner,
        place(subject, Path(), spawner, lines, (PROCESS,), listener=pace, told=lines.say) as there,
    ):
        yield there


def _carry_on(
    asked: StudyPlan, folder: RunFolder, there: ProgramBench, lines: Lines, clock: BudgetClock
) -> StudyResult:
    with resumable(folder):
        bench = there.bench
        there.keep_in(folder)
        settings = measured(asked.design, asked.tried)
        lines.say(f"{len(settings)} settings in at most {asked.rounds} rounds, kept in {folder.path}")
        _warn_of_budget(asked, settings, clock.deadline(asked.budget_s), lines)
        lines.say(f"  cut off, it goes on with `vgo-agent resume {quote(str(folder.path))}`")
        rows, batch = _runs(asked, settings, bench, lines, clock)
        _save_table(asked, table(asked, rows, batch), there, folder.path)
        return concluded(asked, rows, batch, folder.path)


def concluded(asked: StudyPlan, rows: Sequence[Row], batch: Sequence[Row], folder: Path) -> StudyResult:
    """Answer from the rows of the rounds, and from those of the batch that confirms."""
    one, two = on_one_level(rows), on_one_level(batch)
    study = answered(asked.design, asked.tried, one, two, asked.subject, asked.rounds, asked.alpha, asked.seed)
    if busy := busy_words(asked.load_1min, asked.cpus):
        study = study.model_copy(update={"notes": (busy, *study.notes)})
    return StudyResult(asked, study, _numbered(asked, one, two), folder)


def table(asked: StudyPlan, rows: Sequence[Row], batch: Sequence[Row]) -> pl.DataFrame:
    """Every run, with the levels of its setting as columns."""
    levels = {one.name: one.levels for one in asked.design.settings}
    varied = asked.design.varied
    runs = (
        {**row, **{key: levels[row["condition"]].get(key, "as given") for key in varied}}
        for row in _numbered(asked, rows, batch)
    )
    return pl.DataFrame([{**row, "order": place} for place, row in enumerate(runs)], infer_schema_length=None)


def logs(folder: Path) -> tuple[Path, Path]:
    """Where the rows of the rounds and of the batch that confirms are kept, run by run."""
    partial = RunFolder(folder).partial
    return partial / f"{ROUNDS}.jsonl", partial / f"{CONFIRM}.jsonl"


def _warn_of_budget(asked: StudyPlan, settings: Sequence[StudySetting], deadline: Deadline, lines: Lines) -> None:
    """Say before the first round what the warm-up runs let expect."""
    took = {its.setting: its.wall_s for its in asked.tried}
    rounds = deadline.left_s / max(sum(took[one.name] for one in settings), 1e-9)
    if rounds < FEWEST:
        lines.say(
            f"  --budget {asked.budget_s:g} may end after {max(int(rounds), 1)} rounds, and fewer than {FEWEST} "
            "say nothing: raise it, name fewer --factors, or give the program less to do"
        )


def _runs(
    asked: StudyPlan, settings: Sequence[StudySetting], bench: Measuring, lines: Lines, clock: BudgetClock
) -> tuple[Sequence[Row], Sequence[Row]]:
    """Run the rounds, then the chosen setting and the baseline in pairs of their own, as many as there were rounds."""
    budget_s = asked.budget_s
    answer_s = min(ANSWER_S, FOR_CONFIRMING * budget_s)
    bench.deadline = clock.deadline(budget_s, answer_s + FOR_CONFIRMING * budget_s)
    made = _rounds(asked, settings, bench, ROUNDS, asked.seed)
    rows = on_one_level(made)
    found = spreads(rows, asked.alpha, asked.seed)
    chosen = choose(found, asked.design, outcomes(rows), asked.subject.lower_is_better, asked.alpha, asked.seed)
    if chosen is None:
        return made, ()
    lines.say(f"{chosen.name} looks best: it and the baseline run {asked.rounds} more rounds, to confirm it")
    pair = [one for one in asked.design.settings if one.baseline or one.name == chosen.name]
    bench.deadline = clock.deadline(budget_s, answer_s)
    return made, _rounds(asked, pair, bench, CONFIRM, asked.seed + 1)


def _rounds(
    asked: StudyPlan, settings: Sequence[StudySetting], bench: Measuring, call: str, seed: int
) -> Sequence[Row]:
    """Run randomised complete blocks, or go on with those that a killed agent left."""
    conditions = {one.name: Condition(name=one.name, setting=one) for one in settings}
    schedule = Complete(tuple(conditions), asked.rounds, f"study:{seed}")
    with bench.series(call, asked.layers, asked.rounds * len(settings)) as series:
        carry_out(Experiment(AppliedConditions(bench, conditions), schedule), series)
    return series.rows


class Pace:
    """Tells now and then how far the runs are."""

    def __init__(self, lines: Lines) -> None:
        """Nothing was told yet."""
        self._lines, self._told_s = lines, time.monotonic()

    def __call__(self, progress: Progress) -> None:
        """Take the runs so far."""
        if time.monotonic() - self._told_s >= LINE_EVERY_S:
            self._told_s = time.monotonic()
            spent_s = sum(row["wall_s"] for row in progress.rows)
            self._lines.say(f"  run {len(progress.rows)} of {progress.planned}, {spent_s:.0f} s of the program")


def _numbered(asked: StudyPlan, rows: Sequence[Row], batch: Sequence[Row]) -> tuple[Row, ...]:
    """Put the batch that confirms after the rounds, with pairs of its own."""
    first = max(asked.rounds, 1 + max((row["pair"] for row in rows), default=-1))
    later = ({**row, "batch": 2, "pair": row["pair"] + first} for row in batch)
    return (*({**row, "batch": 1} for row in rows), *later)


def _save_table(asked: StudyPlan, frame: pl.DataFrame, there: ProgramBench, folder: Path) -> None:
    """Write the table in the form that analyze, compare and import read."""
    facts = {
        "subject": asked.subject.model_dump(mode="json"),
        "machine": there.described(()).model_dump(mode="json"),
    }
    for name, content in there.bench.executor.beside.items():
        write(folder / name, content)
    recorded = described(frame, str(folder / TABLE), list(there.bench.described_by(asked.layers).values()), facts)
    roles = {**recorded.roles, **dict.fromkeys(asked.design.varied, "setting"), "batch": "id"}
    write_table(replace(recorded, roles=roles), folder / TABLE, fresh=True)


def _page(asked: StudyPlan) -> bytes:
    told = asked.model_dump(mode="json")
    head = "# A study of threads: what was asked, its settings, and what the warm-up run of each showed.\n"
    return (head + yaml.safe_dump(told, sort_keys=False, allow_unicode=True, width=120)).encode()
