"""A planner may conclude whenever it likes: the reasons in the verdict are true all the same."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from vgo_agent.agent.planners.base import Choice, Rules, View
from vgo_agent.agent.report.diagnosis import sentence
from vgo_agent.agent.report.evidence import gather
from vgo_agent.agent.report.further import steps
from vgo_agent.agent.report.mitigations import untried
from vgo_agent.agent.report.remarks import warnings
from vgo_agent.evals.contest.loop import PlannerContestant
from vgo_agent.evals.recorded.folders import CASES
from vgo_agent.evals.recorded.recorded_case import USUAL, RecordedCase, read_case
from vgo_agent.tools.verdict import undecided
from vgo_agent.tools.verdict_words import headline


@dataclass(frozen=True)
class Hasty:
    """Does as the rule policy does, with half of the baseline, and concludes after a call of one tool."""

    last: str
    name: str = "hasty"

    def choose(self, view: View) -> Choice:
        if view.findings.calls(self.last):
            return Choice("conclude", {}, "enough")
        choice = Rules().choose(view)
        if choice.tool != "measure":
            return choice
        return replace(choice, arguments={**choice.arguments, "max_runs": 30})


@pytest.fixture(scope="module")
def case() -> RecordedCase:
    return USUAL.to(read_case(CASES / "page-faults"))


@pytest.mark.parametrize(
    ("last", "words"),
    [
        ("measure", "The planner ended before it looked at any factor (profile was next)"),
        ("label", "The planner ended before it looked at any factor (fit_tree was next)"),
        ("look_up", "before the planner ended the search: glibc_hugetlb, "),
        ("compare", "(less in one batch) undecided"),
    ],
)
@pytest.mark.cells(2)
def test_what_ended_the_search_is_told_as_it_was(case: RecordedCase, last: str, words: str) -> None:
    with PlannerContestant("hasty", lambda _: Hasty(last)).diagnosed(case.shown, 1) as one:
        evidence = gather(one.finished)
        assert words in headline(evidence.verdict)
        assert "--budget" not in headline(evidence.verdict)
        told = [warning for warning in warnings(evidence) if warning.startswith("Measuring stopped")]
        assert all("at 30 runs" in warning and "--max-runs" not in warning for warning in told)
        left = undecided(evidence.verdict)
        assert left and left.ended_by == "planner"
        assert words in sentence(evidence) and "`--planner rules`" in steps(evidence)[0]
        reasons = {row.reason for row in untried(evidence)}
        assert ("the planner ended before its turn" in reasons) == (last in ("look_up", "compare"))
        assert not any("budget" in reason for reason in reasons)
