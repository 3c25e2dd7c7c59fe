"""What a tool may see, and what decides on the next call: finished calls, limits, plan, what the budget pays for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from ..knowledge.loader import Knowledge
from .findings import Batch, Findings
from .machine import Machine
from .record import Record
from .results import Candidate, MeasureResult
from .subject import NO_PLAN, Limits, Subject, TrialPlan

if TYPE_CHECKING:
    from .execution.series import Measuring

WITHIN_PROGRAM = frozenset({"process", "code"})
"""Scopes of mitigations that change the program, or how it is started, and nothing else."""
PROOF_RUNS = 4
"""Of the program, before the pairs of a mitigation; what pairs cost holds the proofs of later ones."""
SCALES = (1.0, 0.5, 2.0)
"""Times what the rule policy would spend; its own amount comes first."""
MANY = 1_000_000
"""Pairs that a budget without an end pays for."""
PER_FACTOR = 4
"""Mitigations of one factor before the next factor has its turn."""


def changes_system(scope: str) -> bool:
    """Tell whether a mitigation of this scope goes beyond the program."""
    return scope not in WITHIN_PROGRAM


@dataclass(frozen=True)
class Case:
    """Everything one call may look at."""

    call_id: str
    subject: Subject
    limits: Limits
    machine: Machine
    knowledge: Knowledge
    record: Record
    bench: Measuring | None = None
    """None while replaying: measuring tools are then served from the record."""
    plan: TrialPlan = NO_PLAN
    left: frozenset[str] = frozenset()
    """Tools that were legal beside the one that is called."""
    applicable: frozenset[tuple[str, int]] = frozenset()
    """(mitigation, batch) that could be applied instead."""
    no_time: tuple[str, ...] = ()
    """What might be done if more were left of the budget, in words."""

    @cached_property
    def findings(self) -> Findings:
        """Results of the finished calls."""
        return Findings(self.record)

    @property
    def measuring(self) -> Measuring:
        """The bench; only measuring tools ask for it."""
        if self.bench is None:
            raise RuntimeError(f"{self.call_id} measures, but there is no bench.")
        return self.bench


def run_s(findings: Findings, mitigation: str = "") -> float:
    """Seconds that one run of a pair takes, with what lies between two runs: switching, probes, our own work.

    Known from the pairs of this mitigation, else of the others, else from the baseline. Where no clock ran, as over
    recorded runs, these are seconds of the program.
    """
    (call, measured), plain_s = findings.last(MeasureResult), program_s(findings)
    if not findings.record.clocked:
        return plain_s
    own = [_each_s(batch) for batch in findings.batches if batch.applied.mitigation == mitigation]
    seen = [each for each in own or map(_each_s, findings.batches) if each]
    alone_s = 0.0 if measured.hosts else plain_s  # a call that was cut off and went on took more
    return median(seen) if seen else max(call.took_s / measured.started, alone_s)


def program_s(findings: Findings) -> float:
    """Seconds of the program in one run of the baseline; 0 before it."""
    runs = findings.measured.started if findings.measured else 0
    return findings.last(MeasureResult).call.program_s / runs if runs else 0.0


def _each_s(batch: Batch) -> float:
    """Seconds of one run of the pairs, the proof included; 0 where it has none."""
    return max(batch.call.took_s, batch.call.program_s) / (2 * batch.applied.pairs) if batch.applied.pairs else 0.0


@dataclass(frozen=True)
class Slot:
    """Arguments that are chosen together."""

    names: tuple[str, ...]
    choices: tuple[tuple[Any, ...], ...]
    """Values in the order of the names, of JSON's kinds; the first is what the rule policy would take."""


Choices = tuple[Slot, ...]
"""Of one call, each to be filled; arguments without a slot are free within their schema."""


class Suggestion(NamedTuple):
    """Arguments of a call, and why it is made."""

    arguments: Mapping[str, Any]
    why: str


def first(choices: Choices) -> dict[str, Any]:
    """The first of every choice, by argument."""
    return {name: value for slot in choices for name, value in zip(slot.names, slot.choices[0], strict=True)}


@dataclass(frozen=True)
class Situation:
    """No wall-clock time is in it, so that the same record gives the same choice."""

    record: Record
    limits: Limits
    plan: TrialPlan = field(default=NO_PLAN, kw_only=True)
    kept_s: float = field(default=0.0, kw_only=True)
    """Seconds of the budget to keep for what comes after measuring."""

    @cached_property
    def findings(self) -> Findings:
        """Results of the finished calls."""
        return Findings(self.record)

    @property
    def time_left(self) -> bool:
        """Whether the budget leaves anything for more runs."""
        return self.record.spent_s + self.kept_s < self.limits.budget_s

    @property
    def time_to_spare(self) -> bool:
        """The same of steps that could be done without; where no clock runs they cost nothing."""
        return not self.record.clocked or self.time_left

    def affordable_pairs(self, mitigation: str = "") -> int:
        """Pairs that the rest of the budget pays for, at what a run has taken so far, the proof taken off."""
        if self.findings.measured is None:
            return 0
        if math.isinf(self.limits.budget_s):
            return MANY
        each_s = run_s(self.findings, mitigation)
        proof_s = PROOF_RUNS * run_s(self.findings) if self.record.clocked else 0.0
        left_s = self.limits.budget_s - self.record.spent_s - self.kept_s - proof_s
        return max(0, int(left_s / (2 * each_s))) if each_s else 0

    @property
    def without_end(self) -> Situation:
        """The same with a budget that never ends."""
        return replace(self, limits=self.limits.model_copy(update={"budget_s": math.inf}))


def whole_amounts(name: str, usual: int, least: int, most: int) -> Slot:
    """Offer what the rule policy would spend, half of it and twice it, within bounds."""
    bounded = (min(max(round(usual * scale), least), most) for scale in SCALES)
    return Slot((name,), tuple((value,) for value in dict.fromkeys(bounded)))


def seconds_amounts(name: str, usual: float) -> Slot:
    """The same of seconds."""
    return Slot((name,), tuple((usual * scale,) for scale in SCALES))


class TrialTurn(NamedTuple):
    """When a mitigation is tried: by round, then by factor, then by its place."""

    round: int
    look_up: int
    """The number of the look-up that offered it first."""
    place: int


def turns(findings: Findings) -> dict[str, TrialTurn]:
    """Say of each mitigation that was offered when it has its turn."""
    found: dict[str, TrialTurn] = {}
    for factor, looked in enumerate(findings.looked_up):
        for place, candidate in enumerate(looked.offered):
            found.setdefault(candidate.mitigation, TrialTurn(place // PER_FACTOR, factor, place))
    return found


def open_candidates(situation: Situation) -> list[Candidate]:
    """Mitigations that can be tried here and have not been, in the order of the look-ups."""
    findings, limits = situation.findings, situation.limits
    if limits.allow == "none" or len(findings.applied) >= limits.max_mitigations:
        return []
    ready = {c.mitigation: c for c in findings.offered if c.mitigation not in findings.tried}
    return [c for c in ready.values() if not (situation.record.no_system and changes_system(c.scope))]


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


def batches_wanted(situation: Situation) -> list[tuple[str, int]]:
    """(mitigation, batch), whatever they cost."""
    findings, no_system = situation.findings, situation.record.no_system
    second = {c.mitigation for c in findings.trials if c.arguments.get("batch") == 2}
    refused = {c.mitigation for c in findings.offered if no_system and changes_system(c.scope)}
    confirm = [(key, 2) for key in findings.promising if key not in second | refused]
    return confirm + [(candidate.mitigation, 1) for candidate in open_candidates(situation)]


def planned_batch(situation: Situation) -> int | None:
    """The first batch, then the one that confirms it; of a search only the latter. None: nothing is left to run."""
    findings, plan = situation.findings, situation.plan
    tried = [call.arguments.get("batch", 1) for call in findings.trials]
    if plan.search:
        return None if tried or not findings.screened or findings.screened.best is None else 2
    if not tried:
        return 1
    return 2 if findings.promising and 2 not in tried else None
