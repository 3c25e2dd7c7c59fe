"""Run a study of threads: warm-up, randomised rounds, a batch that confirms, all kept in a folder as it goes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import polars as pl
import yaml
from pydantic import Field, ValidationError

from ..knowledge.errors import VgoError
from ..tools.execution.bench import Bench
from ..tools.execution.series import Series
from ..tools.execution.spawn import Spawner
from ..tools.recorded.formats.vgo import measured as described
from ..tools.recorded.write import write as write_table
from ..tools.row import Row
from ..tools.study.design import Design
from ..tools.study.rounds import LEAST, Plan, run_rounds
from ..tools.study.setting import Setting
from ..tools.study.spreads import spreads
from ..tools.study.study import Study, answered, choose, measured
from ..tools.study.warm_up import Tried, warm_up
from ..tools.subject import Frozen, Subject
from ..tools.survey import survey
from .progress import Lines
from .run_folder import RunFolder, write
from .session import base_launch, held, tell_restored

FILE, TABLE = "study.yaml", "runs.csv"
ROUNDS, CONFIRM = "rounds", "confirm"
CLOCK = "frequency:cpus=all,per_cpu=true"
"""The layer that logs the clock of each CPU (section 3.3 of the paper)."""
PROCESS = "process"
LINE_EVERY_S = 5.0


class Asked(Frozen):
    """What a study was asked for, and what its warm-up showed: all that it takes to go on with it."""

    subject: Subject
    design: Design
    rounds: Annotated[int, Field(ge=2)]
    budget_s: Annotated[float, Field(gt=0)]
    seed: int
    alpha: float
    layers: tuple[str, ...] = ()
    tried: tuple[Tried, ...] = ()


@dataclass(frozen=True)
class Studied:
    """A study that has ended."""

    asked: Asked
    study: Study
    rows: tuple[Row, ...]
    folder: Path


def begin(asked: Asked, out: Path, name: str, lines: Lines) -> Studied:
    """Run a study in a new folder below `out`."""
    tell_restored(lines)
    with _bench(asked.subject) as bench:
        lines.trying(" ".join(asked.subject.command))
        tried = warm_up(bench, asked.design.settings, lines.say)
        folder = RunFolder.create(out, f"study-{name}")
        layers = (PROCESS, CLOCK) if "freq.mean_mhz" not in bench.absent(CLOCK) else (PROCESS,)
        complete = asked.model_copy(update={"tried": tried, "layers": layers})
        write(folder.path / FILE, _page(complete))
        return _carry_on(complete, folder, bench, lines)


def go_on(path: Path, lines: Lines) -> Studied:
    """Go on with a study that was cut off; one that had ended is answered again."""
    folder = RunFolder(path.parent if path.is_file() else path)
    asked = read(folder.path)
    tell_restored(lines)
    with _bench(asked.subject) as bench:
        return _carry_on(asked, folder, bench, lines)


def read(folder: Path) -> Asked:
    """Read what a study was asked for."""
    try:
        return Asked.model_validate(yaml.safe_load((folder / FILE).read_text(encoding="utf-8")))
    except OSError as error:
        raise VgoError(f"{folder} is not the folder of a study ({FILE}: {error.strerror}).") from error
    except (yaml.YAMLError, ValidationError, UnicodeDecodeError) as error:
        raise VgoError(f"{folder / FILE} is damaged, so the study cannot go on: begin a new one.") from error


@contextlib.contextmanager
def _bench(subject: Subject) -> Iterator[Bench]:
    with Spawner() as spawner:
        bench = Bench(
            subject=subject, spawner=spawner, folder=Path(), launch=base_launch(subject), root=Path(subject.root)
        )
        with contextlib.closing(bench):
            yield bench


def _carry_on(asked: Asked, folder: RunFolder, bench: Bench, lines: Lines) -> Studied:
    with held(folder):
        bench.folder = folder.partial
        settings = measured(asked.design, asked.tried)
        lines.say(f"{len(settings)} settings in at most {asked.rounds} rounds, kept in {folder.path}")
        _warn_of_budget(asked, settings, lines)
        lines.say(f"  cut off, it goes on with `vgo-agent study openmp --resume {folder.path}`")
        rows, batch = _runs(asked, settings, bench, lines)
        study = answered(asked.design, asked.tried, rows, batch, asked.subject, asked.rounds, asked.alpha, asked.seed)
        everything = (*_marked(rows, 1, 0), *_marked(batch, 2, asked.rounds))
        _save_table(asked, everything, bench, folder.path)
        return Studied(asked, study, everything, folder.path)


def _warn_of_budget(asked: Asked, settings: Sequence[Setting], lines: Lines) -> None:
    """Say before the first round what the warm-up runs let expect."""
    took = {its.setting: its.wall_s for its in asked.tried}
    rounds = asked.budget_s / max(sum(took[one.name] for one in settings), 1e-9)
    if rounds < LEAST:
        lines.say(
            f"  --budget {asked.budget_s:g} may end after {max(int(rounds), 1)} rounds, and fewer than {LEAST} "
            "say nothing: raise it, name fewer --factors, or give the program less to do"
        )


def _runs(asked: Asked, settings: Sequence[Setting], bench: Bench, lines: Lines) -> tuple[Sequence[Row], Sequence[Row]]:
    """Run the rounds, then the chosen setting and the baseline in pairs of their own, as many as there were rounds."""
    plan = Plan(asked.rounds, asked.budget_s, asked.seed, asked.layers)
    series = run_rounds(bench, ROUNDS, settings, plan, Pace(lines, plan.rounds * len(settings)))
    found = spreads(series.rows, asked.subject.lower_is_better, asked.alpha, asked.seed)
    chosen = choose(found, asked.design)
    if chosen is None:
        return series.rows, ()
    lines.say(f"{chosen.name} looks steadiest: it and the baseline run {asked.rounds} more rounds, to confirm it")
    pair = [one for one in asked.design.settings if one.baseline or one.name == chosen.name]
    left = _for_confirming(plan, series.spent_s)
    batch = run_rounds(bench, CONFIRM, pair, left, Pace(lines, plan.rounds * len(pair)))
    return series.rows, batch.rows


def _for_confirming(plan: Plan, spent_s: float) -> Plan:
    """Give the batch that confirms a fifth of the budget at least, whatever the rounds have spent."""
    return plan._replace(budget_s=max(plan.budget_s - spent_s, plan.budget_s / 5), seed=plan.seed + 1)


class Pace:
    """Tells now and then how far the runs are."""

    def __init__(self, lines: Lines, planned: int) -> None:
        """Nothing was told yet."""
        self._lines, self._planned, self._told_s = lines, planned, time.monotonic()

    def __call__(self, series: Series) -> None:
        """Take the runs so far."""
        if time.monotonic() - self._told_s >= LINE_EVERY_S:
            self._told_s = time.monotonic()
            self._lines.say(f"  run {series.processes} of {self._planned}, {series.spent_s:.0f} s of the program")


def _marked(rows: Sequence[Row], batch: int, first: int) -> Iterator[Row]:
    yield from ({**row, "batch": batch, "pair": row["pair"] + first} for row in rows)


def _save_table(asked: Asked, rows: Sequence[Row], bench: Bench, folder: Path) -> None:
    """Write the table with the settings as columns, in the form that analyze, compare and import read."""
    levels = {one.name: one.levels for one in asked.design.settings}
    factors = [factor.key for factor in asked.design.factors if len(factor.levels) > 1]
    varied = [{**row, **{key: levels[row["condition"]].get(key, "as given") for key in factors}} for row in rows]
    numbered = [{**row, "order": place} for place, row in enumerate(varied)]
    frame = pl.DataFrame(numbered, infer_schema_length=None)
    facts = {
        "subject": asked.subject.model_dump(mode="json"),
        "machine": survey(asked.subject, (), root=Path(asked.subject.root)).model_dump(mode="json"),
    }
    recorded = described(frame, str(folder / TABLE), list(bench.described_by(asked.layers).values()), facts)
    roles = {**recorded.roles, **dict.fromkeys(factors, "setting"), "batch": "id"}
    write_table(replace(recorded, roles=roles), folder / TABLE, fresh=True)


def _page(asked: Asked) -> bytes:
    told = asked.model_dump(mode="json")
    head = "# A study of threads: what was asked, its settings, and what the warm-up run of each showed.\n"
    return (head + yaml.safe_dump(told, sort_keys=False, allow_unicode=True, width=120)).encode()
