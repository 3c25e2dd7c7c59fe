"""What decides on the next call: the finished calls, limits and plan, and what the budget still pays for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import median
from typing import Any, NamedTuple

from .findings import Batch, Findings
from .plan import NO_PLAN, TrialPlan
from .record import Record
from .results import MeasureResult
from .subject import Limits

PROOF_RUNS = 4
"""Of the program, before the pairs of a mitigation."""


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


def proof_s(findings: Findings) -> float:
    """Seconds that the proof of a mitigation takes before its pairs; what its pairs cost holds those of later ones."""
    return PROOF_RUNS * run_s(findings) if findings.record.clocked else 0.0


def _each_s(batch: Batch) -> float:
    """Seconds of one run of the pairs, the proof included; 0 where it has none."""
    return max(batch.call.took_s, batch.call.program_s) / (2 * batch.applied.pairs) if batch.applied.pairs else 0.0


SCALES = (1.0, 0.5, 2.0)
"""Times what the rule policy would spend; its own amount comes first."""
MANY = 1_000_000
"""Pairs that a budget without an end pays for."""


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
        left_s = self.limits.budget_s - self.record.spent_s - self.kept_s - proof_s(self.findings)
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
