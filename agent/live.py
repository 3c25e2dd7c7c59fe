"""Act for real: run tools on this machine and keep what they give."""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from ..knowledge.errors import VgoError
from ..knowledge.loader import Knowledge
from ..knowledge.passages import cited
from ..knowledge.schema import Mitigation
from ..tools.case import Case
from ..tools.execution.series import Measuring
from ..tools.machine import Machine
from ..tools.mitigation.by_hand import planned
from ..tools.mitigation.parameters import with_values
from ..tools.record import Outcome, Record, ToolError
from ..tools.registry import TOOLS
from ..tools.run_table import LAYERS, RUNS, write_layers
from ..tools.steps.apply_mitigation import ApplyMitigationTool
from ..tools.subject import NO_PLAN, Limits, Subject, TrialPlan
from .acting import Acting, applied_by
from .clock import BudgetClock
from .interface import Interface
from .legal import after_s, legal
from .report.tables import runs_csv
from .run_folder import RunFolder, write
from .transcript import Decision, ToolEnd


@dataclass
class Live(Acting):
    """Runs the calls of one diagnosis."""

    folder: RunFolder
    subject: Subject
    machine: Machine
    knowledge: Knowledge
    bench: Measuring
    interface: Interface
    plan: TrialPlan = NO_PLAN
    clock: BudgetClock | None = None
    """Counts the budget; None where runs are served from a record."""

    def act(self, decision: Decision, record: Record, limits: Limits) -> ToolEnd:
        """Run one call; an error that the planner can mend becomes its end."""
        self.interface.decided(decision)
        end = self._end(decision, record, limits)
        self.interface.ended(decision, end)
        return end

    def elapsed_s(self, seq: int) -> float | None:
        """Seconds of the budget used now."""
        return round(self.clock.elapsed_s(), 3) if self.clock else None

    def asking(self) -> AbstractContextManager[None]:
        """Lasts while a person is asked: the clock stands still."""
        return self.clock.waiting() if self.clock else nullcontext()

    def _end(self, decision: Decision, record: Record, limits: Limits) -> ToolEnd:
        if self.clock:
            kept_s = after_s(record, limits, self.clock.elapsed_s())
            self.bench.deadline = self.clock.deadline(limits.budget_s, kept_s)
        try:
            known = filled(self.knowledge, decision, self.machine)
            case = Case(decision.call_id, self.subject, limits, self.machine, known, record, self.bench, self.plan)
            outcome = call_tool(decision, case)
        except ToolError as error:
            return ToolEnd(call_id=decision.call_id, error=str(error))
        return ended(decision, outcome, {name: self.folder.put(data) for name, data in outcome.artefacts.items()})

    def question(self, decision: Decision) -> dict[str, Any]:
        """Show all that would be done here, each write with its file and its value now, and the risk."""
        by_hand = applied_by(decision) == "by hand"
        variants = self._meant(decision)
        mitigation = variants[0]
        return {
            "key": mitigation.key,
            "mitigation": mitigation.name,
            "scope": mitigation.scope,
            "why": decision.why,
            "origin": decision.origin,
            "description": mitigation.description,
            "when": mitigation.when,
            "would": [] if by_hand else list(dict.fromkeys(line for one in variants for line in self._would(one))),
            "hurts": mitigation.hurts,
            "changes_promise": mitigation.changes_promise,
            "accept": mitigation.key,
            "sources": [cited(reference) for reference in mitigation.references],
            "steps": list(mitigation.steps) if by_hand else [],
        }

    def _would(self, mitigation: Mitigation) -> tuple[str, ...]:
        """What it would do; what it could not do is told when it is tried, so that the question can be asked."""
        try:
            return planned(mitigation, self.subject, self.machine)
        except VgoError as refused:
            return (f"nothing: {refused}",)

    def _meant(self, decision: Decision) -> list[Mitigation]:
        """The mitigation of a decision with the values that it or the user gave: one, or one for each level."""
        given = decision.arguments
        plain = self.knowledge.mitigations[str(given["mitigation"])]
        values = given.get("values") or self.plan.values
        levels = [{given["parameter"]: level} for level in given.get("levels", ())] or [{}]
        return [with_values(plain, {**values, **level}, self.machine) for level in levels]

    def observed(self, end: ToolEnd, record: Record) -> None:
        """Rewrite runs.csv, and what its columns mean, after a call that measured; drop the rows kept for a crash."""
        if RUNS in end.artefacts:
            write(self.folder.path / RUNS, runs_csv(record))
        if LAYERS in end.artefacts:
            write(self.folder.path / LAYERS, write_layers(record.all_layers))
        (self.folder.partial / f"{end.call_id}.jsonl").unlink(missing_ok=True)
        self.bench.choice_of(end.call_id).unlink(missing_ok=True)


def call_tool(decision: Decision, case: Case) -> Outcome:
    """Validate a decision and run its tool; raise ToolError for what the planner can mend."""
    now = legal(case.record, case.limits, case.plan)
    now.check(decision.tool, decision.arguments)
    tool = TOOLS[decision.tool]
    try:
        arguments = tool.arguments.model_validate(decision.arguments)
    except ValueError as error:
        raise ToolError(f"{decision.tool}: {error}") from error
    return tool.run(
        arguments, replace(case, left=frozenset(now.tools) - {tool.name}, applicable=now.batches, no_time=now.ran_out)
    )


def ended(decision: Decision, outcome: Outcome, artefacts: dict[str, str]) -> ToolEnd:
    """Make the end event of a call."""
    return ToolEnd(call_id=decision.call_id, result=outcome.result.model_dump(mode="json"), artefacts=artefacts)


def filled(knowledge: Knowledge, decision: Decision, machine: Machine) -> Knowledge:
    """Put the values that a decision names into its mitigation; what they may not be is for the planner to mend."""
    values, key = decision.arguments.get("values"), str(decision.arguments.get("mitigation"))
    if decision.tool != ApplyMitigationTool.name or not isinstance(values, dict) or key not in knowledge.mitigations:
        return knowledge
    try:
        mitigation = with_values(knowledge.mitigations[key], values, machine)
    except VgoError as refused:
        raise ToolError(str(refused)) from refused
    return replace(knowledge, mitigations={**knowledge.mitigations, key: mitigation})


def clear_partial(folder: RunFolder) -> None:
    """Remove what only an unfinished run needs."""
    shutil.rmtree(folder.partial, ignore_errors=True)
    folder.child.unlink(missing_ok=True)
