"""From the rows of a study to its answers."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
from pydantic import Field

from ...knowledge.shape import Frozen, is_none
from ...layers.schema import Layer
from ..claim import Claim, interval, word
from ..comparison import direction
from ..mitigation.permanent_starter import NOT_INHERITED
from ..recorded.formats.vgo import measured
from ..recorded.recorded import RecordedRuns
from ..row import BASELINE, Row
from ..statistics.ratio_test import FEWEST
from ..subject import Subject
from .design import StudyDesign
from .effects import Effect, Reservation, Runs, effects, reservation
from .setting import StudySetting
from .spreads import (
    TIMES,
    Against,
    Spread,
    StudyPrice,
    held_against,
    outcomes,
    price_of,
    price_words,
    spreads,
    within_limit,
)
from .warm_up import WarmUpRun, ignores_threads

_ABSTRACT = {1: "cores", 2: "threads"}
STEADY_CV = 0.01


class Advice(Frozen):
    """How to run the program so."""

    setting: str
    shell: tuple[str, ...]
    """Lines before the program."""
    slurm: tuple[str, ...]
    """Lines of a job script; places are named, not numbered, since a job may get other CPUs."""
    notes: tuple[str, ...]


def advice(setting: StudySetting, design: StudyDesign, command: Sequence[str]) -> Advice:
    """Write down a setting; `command` in words, the program first."""
    unset = [f"unset {name}" for name in setting.unset if name not in setting.environment]
    exported = [f"export {name}={shlex.quote(value)}" for name, value in setting.environment.items()]
    program = shlex.join([setting.program or command[0], *command[1:]])
    start = f"taskset -c {','.join(map(str, setting.affinity))} {program}" if setting.affinity else program
    return Advice(
        setting=setting.name,
        shell=(*unset, *exported, start),
        slurm=tuple(_slurm(setting, unset, program)),
        notes=tuple(_advice_notes(setting, design)),
    )


def _slurm(setting: StudySetting, unset: list[str], program: str) -> list[str]:
    deep = 2 if setting.threads > setting.cores else 1
    cpus = (setting.cores + setting.spare) * deep
    bound = setting.environment.get("OMP_PROC_BIND", "false") != "false"
    hint = "--hint=multithread" if deep == 2 else "--hint=nomultithread"
    environment = {
        name: _ABSTRACT[deep] if name == "OMP_PLACES" else value for name, value in setting.environment.items()
    }
    step = f"srun --cpus-per-task={cpus} {hint} --cpu-bind={_ABSTRACT[deep] if bound else 'none'} {program}"
    return [
        "#SBATCH --nodes=1 --ntasks=1",
        f"#SBATCH --cpus-per-task={cpus}",
        f"#SBATCH {hint}",
        *unset,
        *(f"export {name}={shlex.quote(value)}" for name, value in environment.items()),
        step,
    ]


def _advice_notes(setting: StudySetting, design: StudyDesign) -> list[str]:
    notes = [NOT_INHERITED]
    if setting.spare:
        cores = "core" if setting.spare == 1 else "cores"
        notes.append(
            f"The job asks for {setting.spare} more {cores} than it uses and leaves them to the system; where the "
            f"site allows it, --core-spec={setting.spare} with --exclusive does the same and binds the system there."
        )
    if setting.affinity:
        notes.append("The CPU numbers are those of this machine; with Slurm choose such CPUs with --cpu-bind=map_cpu.")
    notes.append(f"It was measured on a machine with {design.machine}; on another one run the study again.")
    return notes


class Study(Frozen):
    """What a study found."""

    design: StudyDesign
    tried: tuple[WarmUpRun, ...]
    rounds: int
    """In which the baseline counts."""
    planned: int
    spreads: tuple[Spread, ...]
    effects: tuple[Effect, ...]
    reservation: Reservation
    chosen: str | None
    """Of those that are shown to vary less: see `choose`. None: none is."""
    confirmed: Against | None
    """It against the baseline in runs that had no part in the choice; None where there were none."""
    advice: Advice | None
    """None where nothing is recommended."""
    price: StudyPrice | None = Field(default=None, exclude_if=is_none)
    verdict: str
    notes: tuple[str, ...]

    @property
    def headline(self) -> str:
        """The verdict in a line of a list."""
        if self.rounds < FEWEST:
            return "too few rounds"
        if self.advice is None:
            return f"no setting is {word('less')}"
        proved, price = "" if self.confirmed else ", not confirmed", f"; {self.price.words}" if self.price else ""
        return f"{self.chosen} is {word('less')}{proved}{price}"


def settings_to_run(design: StudyDesign, tried: Sequence[WarmUpRun]) -> tuple[StudySetting, ...]:
    """Settings that are run in rounds: those that do not fail and are not the same as an earlier one."""
    left = {its.setting for its in tried if its.failure or its.alike}
    return tuple(setting for setting in design.settings if setting.name not in left)


def runs_for(design: StudyDesign, tried: Sequence[WarmUpRun]) -> Runs:
    """Say whose runs stand for a combination of levels; None where it was not run or failed."""
    alike = {its.setting: its.alike or its.setting for its in tried if not its.failure}

    def find(levels: Mapping[str, str]) -> str | None:
        setting = design.at(dict(levels))
        return alike.get(setting.name) if setting else None

    return find


def choose(
    found: Sequence[Spread], design: StudyDesign, times: TIMES, lower_is_better: bool, alpha: float, seed: int = 1
) -> StudySetting | None:
    """Choose among the settings that are shown to vary less than the environment as given.

    Where a limit is stated, the steadiest of those that keep to it; else the fastest than which no other is shown to
    vary less without being shown to take longer: what costs time, as one thread for two, is for a limit to ask for.
    Jobs of ours beside it are nothing to recommend.
    """
    usable = {one.name: one for one in design.settings if not one.background and not one.baseline}
    kept = (one for one in within_limit(found, design.subject_to, lower_is_better) if one.setting in usable)
    less = {one.setting: one for one in kept if one.against and one.against.direction == "less"}
    if not less:
        return None
    if design.subject_to:
        return usable[min(less, key=lambda name: _ratio(less[name]))]
    names = sorted(less, key=lambda name: (less[name].mean or 0.0) * (1 if lower_is_better else -1))
    worse = "more" if lower_is_better else "less"

    def beaten(name: str) -> bool:
        rivals = held_against(name, names, times, alpha, seed).values()
        return any(one.direction == "less" and direction(one.mean) != worse for one in rivals)

    return usable[next((name for name in names if not beaten(name)), names[0])]


def _ratio(one: Spread) -> float:
    found = one.against.spread if one.against else None
    return found.ratio if isinstance(found, Claim) and found.ratio is not None else math.inf


def answered(
    design: StudyDesign,
    tried: Sequence[WarmUpRun],
    rows: Sequence[Row],
    batch: Sequence[Row],
    subject: Subject,
    planned: int,
    alpha: float = 0.05,
    seed: int = 1,
) -> Study:
    """Compute all answers; `batch` are the runs that confirm the choice, or none."""
    times = outcomes(rows)
    runs = runs_for(design, tried)
    place = {one.name: number for number, one in enumerate(design.settings)}
    found = sorted(spreads(rows, alpha, seed), key=lambda one: place[one.setting])
    chosen = choose(found, design, times, subject.lower_is_better, alpha, seed)
    confirmed = _confirmed(batch, chosen, alpha) if chosen else None
    rounds = next((one.runs for one in found if one.setting == BASELINE), 0)
    recommended = chosen is not None and (confirmed is None or confirmed.direction == "less")
    price = price_of(chosen, design, times, subject.lower_is_better, alpha, seed) if chosen and recommended else None
    return Study(
        design=design,
        tried=tuple(tried),
        rounds=rounds,
        planned=planned,
        spreads=tuple(found),
        effects=effects(design, times, runs, seed),
        reservation=reservation(design, times, runs, alpha),
        chosen=chosen.name if chosen else None,
        confirmed=confirmed,
        advice=advice(chosen, design, _words(subject)) if chosen and recommended else None,
        price=price,
        verdict=_verdict(chosen, confirmed, found, rounds, design.subject_to) + price_words(price, design.subject_to),
        notes=tuple(_notes(design, tried, found, rounds, subject.lower_is_better)),
    )


def _words(subject: Subject) -> tuple[str, ...]:
    return ("sh", "-c", " ".join(subject.command)) if subject.shell else subject.command


def _confirmed(batch: Sequence[Row], chosen: StudySetting, alpha: float) -> Against | None:
    times = outcomes(batch)
    if chosen.name not in times:
        return None
    return held_against(BASELINE, [chosen.name], times, alpha).get(chosen.name)


def _verdict(
    chosen: StudySetting | None, confirmed: Against | None, found: Sequence[Spread], rounds: int, limit: str
) -> str:
    which = f"No setting that keeps to {limit}" if limit else "No setting"
    none = f"{which} is {word('less')} than the environment as given by more than luck."
    if rounds < FEWEST:
        return (
            f"Rounds that count: {rounds}, and {FEWEST} are the least: nothing can be said; raise --budget or --rounds."
        )
    if chosen is None:
        return none
    if confirmed is None:
        shown = next(one.against for one in found if one.setting == chosen.name)
        return (
            f"{chosen.name} is {word('less')}{_numbers(shown)}, in the rounds that also chose it: run the study again "
            "before you rely on it."
        )
    if confirmed.direction != "less":
        return f"{chosen.name} looked {word('less')}, but runs of its own did not confirm it. {none}"
    return f"{chosen.name} is {word('less')}{_numbers(confirmed)}, and runs that had no part in the choice confirm it."


def _numbers(found: Against | None) -> str:
    """Quote the claim and its price, as ratios to the environment as given."""
    if found is None:
        return ""
    spread, cv, mean = (interval(one) for one in (found.spread, found.cv, found.mean))
    return f" (ratio of the spread {spread}, of the CV {cv}, of the mean {mean})"


def _notes(
    design: StudyDesign, tried: Sequence[WarmUpRun], found: Sequence[Spread], rounds: int, lower_is_better: bool
) -> Iterator[str]:
    if limit := design.subject_to:
        kept = len(within_limit(found, limit, lower_is_better))
        yield f"{kept} of {len(found)} settings keep to {limit}, and only of those the steadiest is recommended."
    if ignored := ignores_threads(design.settings, tried):
        yield ignored
    baseline = next((one for one in found if one.setting == BASELINE), None)
    if baseline and baseline.cv is not None and baseline.cv < STEADY_CV:
        yield f"As it is given its spread is only {100 * baseline.cv:.2g} % of its mean: there is little to reduce."
    if FEWEST <= rounds < 2 * FEWEST:
        yield f"{rounds} rounds show only large differences of spread; take 20 or more."
    if lost := [one.setting for one in found if one.against and one.against.hidden]:
        yield (
            f"Settings that would be shown to differ alone and not among so many: {len(lost)} ({', '.join(lost[:3])}"
            f"{', ...' if len(lost) > 3 else ''}): take more --rounds, or fewer --factors."
        )
    for one in found:
        if one.failed:
            yield f"{one.failed} of {one.failed + one.runs} runs of {one.setting} failed and do not count."


def numbered(rounds: int, rows: Sequence[Row], batch: Sequence[Row]) -> tuple[Row, ...]:
    """Put the batch that confirms after the rounds, with pairs of its own."""
    first = max(rounds, 1 + max((row["pair"] for row in rows), default=-1))
    later = ({**row, "batch": 2, "pair": row["pair"] + first} for row in batch)
    return (*({**row, "batch": 1} for row in rows), *later)


def runs_table(
    design: StudyDesign, rows: Iterable[Row], given: str, layers: Iterable[Layer], facts: Mapping[str, Any]
) -> RecordedRuns:
    """Describe the numbered rows as any run table: factors are its settings."""
    levels = {one.name: one.levels for one in design.settings}
    runs = [
        {**row, **{key: levels[row["condition"]].get(key, "as given") for key in design.varied}, "order": place}
        for place, row in enumerate(rows)
    ]
    recorded = measured(pl.DataFrame(runs, infer_schema_length=None), given, list(layers), facts)
    roles = {**recorded.roles, **dict.fromkeys(design.varied, "setting"), "batch": "id"}
    return replace(recorded, roles=roles)
