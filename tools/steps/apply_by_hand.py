"""apply_by_hand: measure again after a person has applied what the tool cannot; weaker than pairs, and told as such."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..case import Case, Choices, Situation, Slot
from ..experiment.conditions import AppliedConditions, Condition
from ..experiment.experiment import Experiment, carry_out
from ..experiment.schedules import Repeat
from ..record import Arguments, Outcome, ToolError
from ..run_table import artefacts
from ..statistics.shape.describe import describe
from ..tool import Tool
from ..trial_results import ByHandResult

BY_HAND = "by hand"
"""As an approval names the scope of such a call."""


class ByHandArguments(Arguments):
    """Which mitigation, and how many runs."""

    mitigation: str
    runs: Annotated[int, Field(ge=2, le=100_000)]


def run(arguments: ByHandArguments, case: Case) -> Outcome:
    """Run as the baseline was run; that the mitigation is in force is the word of the person who applied it."""
    if arguments.mitigation not in case.knowledge.mitigations:
        raise ToolError(f"There is no mitigation {arguments.mitigation}.")
    bench = case.measuring
    with bench.series(case.call_id, planned=arguments.runs) as series:
        condition = Condition(name=arguments.mitigation)  # a person set it, so nothing is set here
        applied = AppliedConditions(bench, {condition.name: condition})
        carry_out(Experiment(applied, Repeat(arguments.runs, condition.name)), series)
    outcomes = series.outcomes
    warm_up = describe(outcomes).warm_up if len(outcomes) > 1 else 0
    result = ByHandResult(
        mitigation=arguments.mitigation,
        runs=len(outcomes) - warm_up,
        failed=sum(row["ok"] == 0 for row in series.rows),
        warm_up=warm_up,
        spent_s=series.spent_s,
        summary=f"{arguments.mitigation}, applied by hand: {len(outcomes) - warm_up} runs after those of the baseline.",
    )
    return Outcome(result, artefacts(series.rows, bench.described_by(()), bench.executor.beside))


class ApplyByHandTool(Tool[ByHandArguments, ByHandResult], run=run, title="By hand", applies="by hand"):
    """Wait until the user has applied a mitigation that the tool cannot apply, then measure again."""

    why = "a person applies it, then it is measured again"

    def legal(self, situation: Situation) -> Choices | None:
        """Once, where the user plans it so."""
        measured, plan = situation.findings.measured, situation.plan
        if not plan.by_hand or situation.findings.called("apply_by_hand") or measured is None or measured.unusable:
            return None
        # As many runs as the baseline had, so that neither arm is the weak one.
        runs = plan.pairs or max(2, measured.started)
        return Slot(("mitigation",), ((plan.mitigation,),)), Slot(("runs",), ((runs,),))
