"""Record a case: the baseline, a profile, and pairs with every mitigation that applies, as a diagnosis measures."""

from __future__ import annotations

import statistics
import time
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ...agent.commands.mitigation_arguments import surveyed
from ...agent.commands.trial import TOLD
from ...agent.place import base_launch, launcher_of
from ...agent.progress import Lines
from ...agent.session import held, tell_restored
from ...knowledge.errors import VgoError
from ...knowledge.loader import Knowledge
from ...knowledge.schema import Mitigation
from ...tools.case import Case
from ...tools.execution.bench import Bench
from ...tools.execution.row_log import ProgressEvent, RunEnded
from ...tools.execution.spawn import Spawner
from ...tools.experiment.conditions import AS_GIVEN, AppliedConditions, Condition
from ...tools.experiment.schedules import block_of, pairs_in
from ...tools.layers_here import LayerChoice, choose
from ...tools.machine import Machine
from ...tools.profiled import companions
from ...tools.rank_factors import RankArguments
from ...tools.ranking import RankResult
from ...tools.record import Finished, Record, ToolError
from ...tools.registry import TOOLS
from ...tools.row import BASELINE
from ...tools.run_table import LAYERS, write_layers
from ...tools.steps.label import LabelArguments
from ...tools.steps.look_up import meant_states
from ...tools.steps.measure import MeasureArguments
from ...tools.steps.profile import ProfileArguments
from ...tools.subject import Limits, Subject
from ..workloads.registry import find, subject_of, surrounded
from .bench import BATCHES
from .recorded_case import definition
from .recording_plan import (
    FEW,
    RecordingPlan,
    Sizes,
    fitted,
    obstacles,
    run_pairs,
    series_name,
    telling_columns,
    trial_s,
    untold,
    visible,
    wanted,
    words,
)
from .schema import Trial, Truth
from .workshop import MitigationRecording, Surveyed, Workshop

NO_END = 1e9
"""Seconds, and runs: only the number asked for ends a series."""
MINUTE_S = 60.0
ONE_CPU = 1.0
"""Busy ones, before a profile tells how many."""


class Minutely(Lines):
    """A plain line a minute."""

    def progressed(self, event: ProgressEvent) -> None:
        """Say where the runs are, and what else is told."""
        if not isinstance(event, RunEnded) or time.monotonic() - self._told_s >= MINUTE_S:
            super().progressed(event)


@dataclass
class Recorder:
    """One recording that goes on in a workshop."""

    asked: RecordingPlan
    """Fitted into the minutes that there are when a run has shown how long it takes."""
    workshop: Workshop
    truth: Truth | None
    """None: of a user's program nothing is known yet."""
    lines: Lines
    known: Knowledge
    ranking: RankResult | None = None
    """Of the recorded profile, where it could be told."""

    def measure(self) -> None:
        """Record the baseline and the profile, those of them that are not there yet."""
        with self._at_work() as (bench, machine):
            if self.workshop.surveyed() is None:
                named = wanted(self.asked, self.truth, (), (), self.known)  # whatever is found
                possible = sum(not self._why_not(one, machine, ONE_CPU) for one in named)
                self._fit(trial_s(bench, self.asked.subject), max(FEW, possible))
            choice = self._chosen(bench, machine)
            case = self._case("baseline", machine, choice.layers, bench)
            if not case.findings.measured:
                self._call("baseline", MeasureArguments(max_runs=self.asked.runs, max_seconds=NO_END), case)
            case = self._case("profile", machine, choice.layers, bench)
            if choice.layers and not case.findings.profiled:
                arguments = ProfileArguments(layers=choice.layers, runs=self.asked.runs, max_seconds=NO_END)
                self._call("profile", arguments, case)

    def rank(self) -> None:
        """Rank the factors in the recorded profile, and say where no counter shows a cause that was named."""
        self.ranking = self._ranked()
        for cause in self.asked.causes if self.ranking else ():
            if cause not in visible(self.ranking, self.known):
                self.lines.say(f"  no counter ranks {cause}, the --cause: its mitigations are recorded all the same")

    def _ranked(self) -> RankResult | None:
        kept = self.workshop.surveyed()
        assert kept is not None
        case = self._case("rank", kept.machine, ())
        try:
            calls = list(case.record.calls)
            for tool, arguments in ((TOOLS["label"], LabelArguments()), (TOOLS["rank_factors"], RankArguments())):
                outcome = tool.run(arguments, case)
                self.lines.say(f"  {outcome.result.summary}")
                calls.append(Finished.of(tool.name, tool.name, {}, outcome.result))
                case = replace(case, record=Record(tuple(calls), case.record.store))
        except ToolError as error:
            self.lines.say(f"  no factor is looked for: {error}")
            return None
        assert isinstance(outcome.result, RankResult)
        return outcome.result

    def try_all(self) -> None:
        """Record the pairs of every mitigation that is wanted, can be had and is not there yet."""
        ranking = self.ranking
        found = ranking.suspects if ranking else ()
        kept = self.workshop.surveyed()
        assert kept is not None
        blind = untold(self._case("rank", kept.machine, ()), ranking.uncounted if ranking else ())
        every = wanted(self.asked, self.truth, found, blind, self.known)
        tried = self.workshop.tried()
        if all(one.key in tried for one in every):
            return
        with self._at_work() as (bench, machine):
            case = self._case("pairs", machine, ())
            possible = self._possible(every, case, tried)
            rows = self.workshop.rows("baseline")
            self._fit(statistics.median(row["wall_s"] for row in rows), len(possible), refuse=False)
            left = [one for one in possible if one.key not in tried]
            for place, mitigation in enumerate(left, 1):
                self.lines.say(f"{mitigation.key} ({place} of {len(left)})")
                columns = telling_columns(mitigation, self.truth, found, self.known)
                self.workshop.keep(f"tried-{mitigation.key}", self._tried(mitigation, columns, bench, case))

    def _possible(self, every: Sequence[Mitigation], case: Case, tried: Container[str]) -> list[Mitigation]:
        """Leave out what cannot be had here, before the time is divided; tell it in one line a reason."""
        whys = {one.key: self._why_not(one, case.machine, case.findings.busy_cpus) for one in every}
        for why in dict.fromkeys(filter(None, whys.values())):
            keys = [key for key, reason in whys.items() if reason == why]
            self.lines.say(f"left out, {why}: {', '.join(keys)}")
            for key in keys:
                if key not in tried:
                    self.workshop.keep(f"tried-{key}", MitigationRecording(refused=why))
        return [one for one in every if not whys[one.key]]

    def _why_not(self, mitigation: Mitigation, machine: Machine, busy: float | None) -> str:
        return next(obstacles(mitigation, machine, self.asked.subject, busy, self.asked.allow), "")

    def _fit(self, run_s: float, mitigations: int, refuse: bool = True) -> None:
        """Scale down what would take too long, and say how long it takes."""
        sizes, minutes = Sizes(self.asked.runs, self.asked.pairs), self.asked.minutes
        if minutes is not None:
            sizes = fitted(sizes, minutes, run_s, mitigations, refuse)
            if not refuse:  # the runs are made
                sizes = sizes._replace(runs=self.asked.runs)
            self.asked = self.asked.model_copy(update=sizes._asdict())
            self.workshop.keep("asked", self.asked)
        self.lines.say(words(sizes, run_s, mitigations))

    def _tried(self, mitigation: Mitigation, columns: tuple[str, ...], bench: Bench, case: Case) -> MitigationRecording:
        """Apply, prove, run the pairs, put everything back."""
        beside = companions(case.findings, columns, bool(meant_states(mitigation.key, case)))
        layers = tuple(spec for spec in beside if spec in case.record.all_layers)  # only those can be read back
        block = block_of(self.asked.pairs // BATCHES, mitigation.interleavable)
        planned = pairs_in(self.asked.pairs, block)
        name = series_name(mitigation.key)
        self.workshop.forget_rows(name)
        conditions = {BASELINE: AS_GIVEN, mitigation.key: Condition(name=mitigation.key, mitigation=mitigation)}
        placebo = mitigation.key in self.asked.placebos
        with AppliedConditions(bench, conditions, case.machine) as applied:
            try:
                checks, broke = applied.prove(mitigation.key)
            except VgoError as refused:
                self.lines.say(f"  refused: {refused}")
                return MitigationRecording(refused=str(refused))
            if broke:
                self.lines.say(f"  {broke}")
                return MitigationRecording(refused=broke)
            if placebo:
                applied.close()  # it is put back, so that neither half of a pair has it
                conditions[mitigation.key] = Condition(name=mitigation.key)
            if failing := next((check for check in checks if not check.passed), None):
                self.lines.say(f"  {failing.failure}")
                planned = 0
            with bench.series(name, layers, planned=2 * planned) as series:
                if broken := run_pairs(series, applied, mitigation.key, planned, block):
                    self.lines.say(f"  refused: {broken}")
                    return MitigationRecording(refused=broken)
        told, does = tuple(applied.heard), definition(mitigation)
        trial = Trial(pairs=planned, checks=checks, told=told, block=block, placebo=placebo, definition=does)
        return MitigationRecording(trial=trial, columns=columns)

    @contextmanager
    def _at_work(self) -> Iterator[tuple[Bench, Machine]]:
        """Have the bench, the program and what must hold around it, and the machine as it is within."""
        asked = self.asked
        with _standing(asked.subject, asked.workload, asked.steady), Spawner() as spawner:
            machine = surveyed(asked.subject, self.known.mitigations.values())
            bench = Bench(
                subject=asked.subject,
                spawner=spawner,
                folder=self.workshop.rows_folder,
                launch=base_launch(asked.subject),
                listener=self.lines.progressed,
                root=Path(asked.subject.root),
                launcher=launcher_of(asked.subject),
            )
            try:
                yield bench, machine
            finally:
                bench.close()

    def _chosen(self, bench: Bench, machine: Machine) -> LayerChoice:
        """Choose the layers, or take those that were chosen before it was cut off."""
        kept = self.workshop.surveyed()
        if kept is not None:
            for name in TOLD:
                old, new = getattr(kept.machine, name), getattr(machine, name)
                if old != new:
                    change = f"Since the recording began, {name} went from {old} to {new}"
                    raise VgoError(f"{change}: begin again with --force.")
            return LayerChoice(kept.layers, (), kept.unavailable)
        choice = choose(self.asked.layers, bench)
        described = write_layers(bench.described_by(choice.layers))
        (self.workshop.path / LAYERS).write_bytes(described)
        survey = Surveyed(machine=machine, layers=choice.layers, unavailable=dict(choice.unavailable))
        self.workshop.keep("surveyed", survey)
        return choice

    def _case(self, call_id: str, machine: Machine, layers: tuple[str, ...], bench: Bench | None = None) -> Case:
        runs, allow = self.asked.runs, self.asked.allow
        limits = Limits(min_runs=2, max_runs=runs, stop="count", stop_at=NO_END, layers=layers, allow=allow)
        return Case(call_id, self.asked.subject, limits, machine, self.known, self.workshop.record(), bench)

    def _call(self, name: str, arguments: MeasureArguments | ProfileArguments, case: Case) -> None:
        """Call a measuring tool, the series of one piece, and keep what it gave."""
        tool = TOOLS["measure" if isinstance(arguments, MeasureArguments) else "profile"]
        self.lines.say(f"{name}: {self.asked.runs} runs{' with each set of layers' if tool.name == 'profile' else ''}")
        self.workshop.forget_rows(name)
        try:
            outcome = tool.run(arguments, case)
        except ToolError as error:
            raise VgoError(f"The {name} cannot be recorded: {error}") from error
        self.lines.say(f"  {outcome.result.summary}")
        self.workshop.keep_call(name, tool.name, arguments.model_dump(mode="json"), outcome)


def record(recorder: Recorder) -> None:
    """Measure all that is not there yet; what is cut off can go on."""
    tell_restored(recorder.lines)
    with held(recorder.workshop.folder):
        try:
            recorder.measure()
        except VgoError:
            recorder.workshop.drop_if_empty()
            raise
        recorder.rank()
        recorder.try_all()


@contextmanager
def _standing(subject: Subject, workload: str, steady: bool) -> Iterator[None]:
    """Have the workload's surroundings, its files as they should be at the beginning; nothing for another program."""
    if not workload:
        yield
        return
    subject_of(find(workload), steady)
    with surrounded(find(workload), steady):
        yield
