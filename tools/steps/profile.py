"""profile: where the baseline varies or fails, look at what the system did in each run."""

from __future__ import annotations

import random

from ..base import JsonArguments
from ..candidates import LEAST_IN_CLASS
from ..findings import Findings
from ..profile import ProfileArguments, run
from ..results import ProfileResult
from ..simulated import HEAVY, World, profiled, stumble
from ..situation import Choices, Situation, Slot, Suggestion, seconds_amounts, whole_amounts
from ..tool import Tool

RUNS, SHARE = 100, 0.25
"""Runs with each set of layers at least, since weak causes need them; share of the budget."""
PLANNED_RUNS, PLANNED_SHARE = 20, 0.1
"""Of a trial: enough to know how many CPUs the program keeps busy; what the counters do, its pairs show."""
MOST_ATTEMPTS = 2
"""At a second look; layers that no run survives would fail again."""


def since_profile(situation: Situation) -> frozenset[str] | None:
    """Tools that gave a result since the last profile; None: no layer of it stands, or no cause is sought."""
    findings = situation.findings
    if situation.plan.mitigation or not (findings.measured and findings.profiled and findings.profiled.standing):
        return None
    return frozenset(call.tool for call in findings.since_profile if call.result is not None)


def once_labelled(situation: Situation, tool: str) -> Choices | None:
    """Let a tool be called once after each label of the last profile."""
    since = since_profile(situation) or frozenset()
    return () if "label" in since and tool not in since else None


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
        limits, measured = situation.limits, situation.findings.measured
        if situation.plan.mitigation:
            runs, share, why = (
                PLANNED_RUNS,
                PLANNED_SHARE,
                "see how many CPUs it keeps busy, and which counters can be watched",
            )
        else:
            runs, share = min(limits.max_runs, max(RUNS, measured.runs if measured else 0)), SHARE
            stands = situation.findings.profiles and situation.findings.profiles[-1].standing
            why = (
                "the light layers show no factor: look with the heavy ones" if stands else "no layer stands: look again"
            )
            why = why if choices else "the baseline varies: look at what the system did in each run"
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
