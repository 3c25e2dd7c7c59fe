"""A run as its readers see it: report, JSON summary, verify."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..knowledge.loader import Knowledge
from ..tools.case import Record
from ..tools.machine import Machine
from ..tools.plan import NO_PLAN, TrialPlan
from ..tools.subject import Limits, Subject
from .transcript import Event


@dataclass(frozen=True)
class FinishedRun:
    """Everything a reader needs; nothing here changes the run."""

    events: Sequence[Event]
    record: Record
    subject: Subject
    limits: Limits
    machine: Machine
    knowledge: Knowledge
    planner: str
    tip: str
    """Hash of the verdict event: the anchor printed in the report."""
    seconds: float
    """Wall time of the whole diagnosis, over all sessions."""
    agent_seconds: float
    """Of those, what was not the user's program."""
    run_dir: str
    plan: TrialPlan = NO_PLAN
