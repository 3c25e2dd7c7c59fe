"""What a tool may see: the subject, the limits, the machine, what is known, and the calls finished before."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..knowledge.loader import Knowledge
from .findings import Findings
from .machine import Machine
from .plan import NO_PLAN, TrialPlan
from .record import Record
from .subject import Limits, Subject

if TYPE_CHECKING:
    from .execution.series import Measuring

WITHIN_PROGRAM = frozenset({"process", "code"})
"""Scopes of mitigations that change the program, or how it is started, and nothing else."""


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
