"""What carries out the calls that the loop decides on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any

from ..knowledge.loader import Knowledge
from ..knowledge.schema import Mitigation
from ..tools.record import Record
from ..tools.registry import TOOLS
from ..tools.steps.apply_by_hand import BY_HAND
from ..tools.subject import Limits, TrialPlan
from .transcript import Decision, ToolEnd


class Acting(ABC):
    """What carries out the calls that the loop decides on: the machine, or a record."""

    knowledge: Knowledge
    plan: TrialPlan

    @abstractmethod
    def act(self, decision: Decision, record: Record, limits: Limits) -> ToolEnd:
        """Run a tool within these limits, or serve it from a record."""

    @abstractmethod
    def question(self, decision: Decision) -> dict[str, Any]:
        """What the user is shown before a change beyond process scope."""

    @abstractmethod
    def observed(self, end: ToolEnd, record: Record) -> None:
        """Bring the files made from the record up to date."""

    @abstractmethod
    def elapsed_s(self, seq: int) -> float | None:
        """Seconds of the budget used when this event is made, or was; None where no clock runs."""

    @abstractmethod
    def asking(self) -> AbstractContextManager[None]:
        """Lasts while a person is asked."""

    def scope(self, decision: Decision) -> str:
        """Scope of the mitigation that a decision would apply; empty when it applies none, or a person has done so."""
        if applied_by(decision) == "by hand":
            return "" if self.plan.after else BY_HAND
        mitigation = self._applied(decision)
        return mitigation.scope if mitigation else ""

    def promise(self, decision: Decision) -> str:
        """What the program could no longer rely on under the mitigation that a decision applies; empty: nothing."""
        mitigation = self._applied(decision)
        return mitigation.changes_promise if mitigation else ""

    def _applied(self, decision: Decision) -> Mitigation | None:
        """The mitigation that the tool itself applies."""
        key = str(decision.arguments.get("mitigation"))
        return self.knowledge.mitigations.get(key) if applied_by(decision) == "itself" else None


def applied_by(decision: Decision) -> str:
    """Who applies the mitigation that a decision names; a tool that is not known applies nothing."""
    return TOOLS[decision.tool].applies if decision.tool in TOOLS else "nothing"
