"""profile: run again with metric layers that read system counters around each run, and bare runs between."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Annotated

from pydantic import Field

from ..amount import LONGEST
from ..case import Case, Choices, Situation, Slot, Suggestion, seconds_amounts, since_profile, whole_amounts
from ..distortion import Distortion, distortion, gap_of, other_behaviour, with_their_parts
from ..execution.capture import SAID
from ..execution.expected import Expected
from ..execution.outcomes import first_of_run
from ..execution.series import Measuring, Series
from ..experiment.conditions import AppliedConditions, Condition
from ..experiment.experiment import Experiment, Limit, carry_out
from ..experiment.schedules import BARE, LayerSet, Rotation, layer_sets, rotated, without_included
from ..failures import broken_among, failures_of
from ..findings import Findings
from ..hosts import hosts_of
from ..layers_here import LayerChoice, choose_once
from ..machine import demand
from ..record import Arguments, JsonArguments, Outcome, ToolError
from ..results import ProfileResult
from ..row import BASELINE, FIXED, Row
from ..run_table import artefacts
from ..simulated import HEAVY, World, profiled, stumble
from ..statistics.spread import summarise
from ..statistics.values import LEAST_IN_CLASS
from ..tool import Tool

RUNS, SHARE = 100, 0.33
"""Runs with each set of layers at least, since weak causes need them; share of the budget."""
PLANNED_RUNS, PLANNED_SHARE = 20, 0.1
"""Of a trial: enough to know how many CPUs the program keeps busy; what the counters do, its pairs show."""
MOST_ATTEMPTS = 2
"""At a second look; layers that no run survives would fail again."""


class ProfileArguments(Arguments):
    """Which layers, and how many runs."""

    layers: Annotated[tuple[str, ...], Field(min_length=1)]
    runs: Annotated[int, Field(ge=2, le=100_000)]
    """Or samples, with each set of layers that is on together: heavy ones are on in turn; bare runs come on top."""
    max_seconds: Annotated[float, Field(gt=0, le=LONGEST)]
    """By the clock."""


def run(arguments: ProfileArguments, case: Case) -> Outcome:
    """Run with the probes of the layers around each run, in seeded random order."""
    bench = case.measuring
    choice = choose_once(_allowed(arguments.layers, case), bench, bench.choice_of(case.call_id))
    if case.plan.mitigation:  # no cause is sought, and what is heavy is not kept beside pairs
        choice = replace(choice, layers=tuple(spec for spec in choice.layers if spec not in choice.most_runs))
    known = {spec: bench.layer(spec) for spec in choice.layers}
    heavy = {spec for spec in known if known[spec].heavy}
    included = {spec: [one for one in known if known[one].key in known[spec].includes] for spec in heavy}
    fit = _fitting(arguments.max_seconds, case)
    sets = layer_sets(choice.layers, heavy, {spec for spec in heavy if known[spec].run}, included)
    sets = without_included(sets, included, fit)
    named = {set_name(layers, bench): layers for layers in (BARE, *sets)}
    most = {one: min(choice.most_runs.get(spec, arguments.runs) for spec in one) for one in sets}
    rotation = rotated(sets, arguments.runs, case.limits.seed, most, fit)
    order = tuple(set_name(layers, bench) for layers in rotation)
    expected = case.findings.expected
    bench.expect(expected)
    conditions = {name: Condition(name=BASELINE, layers=layers) for name, layers in named.items()}
    broken = BrokenSets([set_name(layers, bench) for layers in sets], expected)
    with bench.series(case.call_id, choice.layers, planned=len(order)) as series:
        applied, schedule = AppliedConditions(bench, conditions), Rotation(order, broken)
        limit = Limit(seconds=arguments.max_seconds)
        wanted = {set_name(layers, bench): most.get(layers, arguments.runs) for layers in (BARE, *sets)}
        stop = partial(_enough, broken=broken, wanted=wanted, max_seconds=arguments.max_seconds)
        carry_out(Experiment(applied, schedule, stop, limit), series)
    broke = {named[name]: why for name, why in broken(series.rows).items()}
    left_behind = artefacts(series.rows, bench.described_by(choice.layers), bench.executor.beside)
    return Outcome(_result(series, sets, choice, case, broke), left_behind)


@dataclass
class BrokenSets:
    """The sets of layers under which the program fails, by name: they are set aside, and the others go on."""

    names: Sequence[str]
    expected: Expected
    found: dict[str, str] = field(default_factory=dict)
    """What each does to the program; one that was found once stays."""

    def __call__(self, rows: Sequence[Row]) -> Mapping[str, str]:
        """Look for further ones."""
        for name in self.names:
            if name not in self.found and (broke := self._broke(name, rows)):
                self.found[name] = f"it {broke}"
        return self.found

    def all(self, rows: Sequence[Row]) -> bool:
        """Tell whether none is left to run with."""
        return all(name in self.found or self._broke(name, rows) for name in self.names)

    def _broke(self, name: str, rows: Sequence[Row]) -> str:
        own = [row for row in rows if row["layers"] == name]
        if all(row["ok"] for row in own):
            return ""
        return broken_among(own, [row for row in rows if row["layers"] == ""], self.expected)


def _enough(series: Series, broken: BrokenSets, wanted: Mapping[str, int], max_seconds: float) -> str:
    """No set is left, all runs fail until the time is up, or samples have given each set as many as were asked for."""
    if broken.all(series.rows):
        return "no set of layers is left"
    if series.rows and not series.outcomes and series.elapsed_s >= max_seconds:
        return "no run ended well in time"
    if series.processes == len(series.rows):
        return ""
    counts = Counter(row["layers"] for row in series.rows if row["ok"] == 1)
    return "samples" * all(counts[name] >= runs for name, runs in wanted.items())


def _fitting(seconds: float, case: Case) -> float:
    """Runs that the time is enough for if each takes as long as in the baseline; infinite without one."""
    measured = case.findings.measured
    return seconds * measured.started / measured.spent_s if measured and measured.spent_s else math.inf


def _allowed(layers: tuple[str, ...], case: Case) -> tuple[str, ...]:
    """Those of the user's choice, or those of a second look."""
    earlier = case.findings.profiled
    allowed = earlier.waiting if earlier else case.limits.layers
    if unknown := [layer for layer in layers if layer not in allowed]:
        raise ToolError(f"No layer {unknown[0]}; there are {', '.join(allowed)}.")
    return layers


def _result(
    series: Series, sets: Sequence[LayerSet], choice: LayerChoice, case: Case, broken: Mapping[LayerSet, str]
) -> ProfileResult:
    bench, rows = series.bench, _counted(series.rows)
    named = {set_name(layers, bench): layers for layers in (BARE, *sets)}
    started: dict[LayerSet, list[Row]] = {layers: [] for layers in named.values()}
    for row in series.rows:
        started[named[row["layers"]]].append(row)
    by_set = {layers: _counted(its) for layers, its in started.items()}
    bare = outcomes(by_set.pop(BARE))
    if not any(by_set.values()) and not (broken and bare):
        raise ToolError("No run with the layers on ended well.")
    found = _distortions(started, case, broken)
    standing = [row for one in found if not one.set_aside for row in by_set[one.layers]]
    profiled = [row for own in by_set.values() for row in own]
    summary = summarise(outcomes(standing or profiled) or bare)
    absent = {spec: reasons for spec in choice.layers if (reasons := bench.absent(spec))}
    columns = len(set().union(*profiled) - {*FIXED, SAID})
    return ProfileResult(
        layers=choice.layers,
        later=choice.later,
        unavailable=dict(choice.unavailable),
        runs=len(standing),
        failed=len(series.rows) - len(rows),
        failures=failures_of(series.rows),
        spent_s=series.spent_s,
        outcome=summary,
        bare=summarise(bare) if bare else None,
        distortions=found,
        columns=columns,
        absent=absent,
        hosts=hosts_of(
            standing,
            bench.described_by(choice.layers),
            lower_is_better=case.subject.lower_is_better,
            alpha=case.limits.alpha,
            lost=bench.executor.lost,
        ),
        **demand(profiled)._asdict(),
        summary=_summary(len(profiled), len(bare), columns, sum(map(len, absent.values())), found),
    )


def _distortions(
    started: Mapping[LayerSet, Sequence[Row]], case: Case, broken: Mapping[LayerSet, str]
) -> tuple[Distortion, ...]:
    """Hold the runs of each set against the bare ones."""
    bare, sets = outcomes(_counted(started[BARE])), [layers for layers in started if layers != BARE]
    # The baseline has more runs than the bare ones here.
    gap = gap_of(case.findings.steady_outcomes.tolist() or bare, case.subject.lower_is_better)
    whole = samples_each([row for rows in started.values() for row in _counted(rows)])
    found: list[Distortion] = []
    for layers in sets:
        own = outcomes(_counted(started[layers]))
        if layers in broken:
            found.append(Distortion(layers=layers, runs=len(own), mean=None, spread=None, set_aside=broken[layers]))
        elif own:
            times = distortion(layers, bare, own, gap, sets=len(sets), seed=case.limits.seed, whole=whole)
            why = times.set_aside or other_behaviour(started[BARE], started[layers], len(sets))
            found.append(times.model_copy(update={"set_aside": why}))
    return with_their_parts(found)


def _counted(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["ok"] == 1]


def set_name(layers: LayerSet, bench: Measuring) -> str:
    """What the column `layers` says of these."""
    return "+".join(bench.layer(spec).key for spec in layers)


def samples_each(rows: Sequence[Row]) -> int:
    """Samples that every run gave; 1 where they gave different numbers, and their order alone tells what they share."""
    starts = [place for place, row in enumerate(rows) if first_of_run(row)]
    sizes = {end - begin for begin, end in pairwise([*starts, len(rows)])}
    return sizes.pop() if len(sizes) == 1 else 1


def outcomes(rows: Sequence[Row]) -> list[float]:
    """Outcomes of rows, in their order."""
    return [row["outcome"] for row in rows]


def _summary(profiled: int, bare: int, columns: int, absent: int, found: Sequence[Distortion]) -> str:
    standing = {layer for one in found if not one.set_aside for layer in one.layers}
    aside = [f"{_blamed(one, standing)} set aside: {one.set_aside}" for one in found if one.set_aside]
    first = f"{profiled} runs with {columns} columns, {bare} bare ones; {absent} columns are absent on this machine."
    return " ".join([first, *(f"{words}." for words in aside)])


def _blamed(one: Distortion, standing: Container[str]) -> str:
    """Name the layers that stand in no set; where each stands in another, all of these together."""
    return ", ".join(layer for layer in one.layers if layer not in standing) or f"{' + '.join(one.layers)} together"


def _second_look(situation: Situation) -> Choices | None:
    findings = situation.findings
    waiting = findings.profiles[-1].waiting
    attempts = sum(call.tool == "profile" for call in findings.since_profile)
    steady = findings.measured is not None and findings.measured.steady
    if not waiting or attempts >= MOST_ATTEMPTS or findings.suspects or steady:
        return None
    return (Slot(("layers",), ((list(waiting),),)),)


class ProfileTool(Tool[ProfileArguments, ProfileResult], run=run, measures=True):
    """Run with metric layers that count what the system did during each run."""

    def legal(self, situation: Situation) -> Choices | None:
        """Once; again with layers that wait when the light ones have shown nothing, or one alone when none stands."""
        measured = situation.findings.measured
        if measured is None or not situation.time_left:
            return None
        if situation.plan.mitigation:
            return None if situation.findings.called("profile") or measured.unusable or situation.plan.by_hand else ()
        if not situation.findings.profiles:
            to_explain = not measured.steady or measured.failed >= LEAST_IN_CLASS
            return () if to_explain and not measured.unusable else None
        since = since_profile(situation)
        return _second_look(situation) if since is None or {"label", "rank_factors"} <= since else None

    def usual(self, situation: Situation, choices: Choices) -> Suggestion:
        """Enough runs for weak causes; of a trial, a few."""
        findings, limits = situation.findings, situation.limits
        runs, share = min(limits.max_runs, max(RUNS, findings.measured.runs if findings.measured else 0)), SHARE
        if situation.plan.mitigation:
            runs, share = PLANNED_RUNS, PLANNED_SHARE
            why = "see how many CPUs it keeps busy, and which counters can be watched"
        elif not choices:
            why = "the baseline varies: look at what the system did in each run"
        elif findings.profiled and findings.profiled.standing:
            why = "the light layers show no factor: look with the heavy ones"
        else:
            why = "no layer stands: look again"
        layers = choices[0].choices[0][0] if choices else list(limits.layers)
        return Suggestion({"layers": layers, "runs": runs, "max_seconds": limits.budget_s * share}, why)

    def amounts(self, situation: Situation, choices: Choices) -> Choices:
        """Layers where they are free, runs and seconds."""
        arguments, limits = self.usual(situation, choices).arguments, situation.limits
        layers = () if choices else (Slot(("layers",), ((arguments["layers"],),)),)
        runs = whole_amounts("runs", arguments["runs"], limits.min_runs, limits.max_runs)
        return *layers, runs, seconds_amounts("max_seconds", arguments["max_seconds"])

    def missed(self, now: Choices | None, _: Choices) -> tuple[str, ...]:
        """Name it where there is no time for it."""
        return ("a profile",) if now is None else ()

    def simulate(self, world: World, found: Findings, arguments: JsonArguments, chance: random.Random) -> ProfileResult:
        """Run with layers on: the light ones first, the heavy ones where they are asked for again."""
        stumble(world, chance)
        first = not found.profiles
        asked = tuple(arguments["layers"])
        later = tuple(layer for layer in asked if layer in HEAVY) if first else ()
        on = tuple(layer for layer in asked if layer not in later) or asked
        runs = min(int(arguments["runs"]), max(20, int(arguments["max_seconds"] / world.run_s)))
        aside = "it shifts the mean by more than slow and fast runs differ" if world.kind == "distorted" else ""
        spent_s = runs * world.run_s * chance.uniform(1.2, 1.5)
        return profiled(on, later if on != asked else (), runs, spent_s, world.busy_cpus, aside)
