"""A new tool is one object in one list: offered, chosen, run, told, shown and simulated without another change."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.training import generate
from vgo_agent.agent.planners.base import Choice, Rules, View, menu
from vgo_agent.agent.planners.compact import WORDS
from vgo_agent.agent.record import bodies
from vgo_agent.agent.render.text import markdown_page
from vgo_agent.agent.report.diagnosis import document
from vgo_agent.agent.report.evidence import gather
from vgo_agent.agent.session_view.view import view_of
from vgo_agent.agent.transcript import Decision, ToolEnd
from vgo_agent.evals.contest.contestants import RandomLegal
from vgo_agent.evals.contest.loop import PlannerContestant
from vgo_agent.evals.recorded.recorded_case import read_case
from vgo_agent.evals.simulator.diagnosis import diagnose
from vgo_agent.evals.simulator.world import drawn
from vgo_agent.tools.case import Case, Choices, Situation, Slot
from vgo_agent.tools.findings import Findings
from vgo_agent.tools.record import Arguments, Outcome, Result
from vgo_agent.tools.registry import TOOLS
from vgo_agent.tools.simulated import World
from vgo_agent.tools.tool import Tool

from .cases_made import made_case


class LagArguments(Arguments):
    """Of the autocorrelation."""

    lag: int


class LagResult(Result):
    """How alike a run and a later one are."""

    correlation: float


def correlated(arguments: LagArguments, case: Case) -> Outcome:
    outcome = case.findings.steady_outcomes
    found = float(np.corrcoef(outcome[arguments.lag :], outcome[: -arguments.lag])[0, 1])
    return Outcome(LagResult(correlation=found, summary=f"Runs {arguments.lag} apart correlate by {found:.3f}."))


class Autocorrelate(Tool[LagArguments, LagResult], run=correlated):
    """Correlate each run with a later one."""

    why = "nothing else is left: do neighbours resemble each other?"

    def legal(self, situation: Situation) -> Choices | None:
        called = bool(situation.findings.calls("autocorrelate"))
        return (Slot(("lag",), ((1,), (2,))),) if situation.findings.measured and not called else None

    def simulate(self, _: World, __: Findings, arguments: Mapping[str, Any], chance: random.Random) -> LagResult:
        return LagResult(correlation=chance.uniform(-1, 1), summary=f"Runs {arguments['lag']} apart correlate.")


AUTOCORRELATE = Autocorrelate()


class Keeping(Rules):
    """The rule policy; it keeps what it saw."""

    def choose(self, view: View) -> Choice:
        SEEN.append(view)
        return super().choose(view)


SEEN: list[View] = []


@pytest.fixture(autouse=True)
def listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TOOLS, AUTOCORRELATE.name, AUTOCORRELATE)
    SEEN.clear()


def test_it_is_offered_chosen_run_told_and_shown(tmp_path: Path) -> None:
    case = read_case(made_case(tmp_path, "noise"))
    with PlannerContestant("keeping", lambda _: Keeping()).diagnosed(case.shown, 1) as done:
        events, evidence = done.transcript.events, gather(done.finished)
        report = markdown_page(document(evidence))
    assert any(menu(view)["autocorrelate"] == (Slot(("lag",), ((1,), (2,))),) for view in SEEN[1:])
    (decision,) = (one for one in bodies(events, Decision) if one.tool == "autocorrelate")
    assert (decision.arguments, decision.origin) == ({"lag": 1}, "rules")
    (end,) = (one for one in bodies(events, ToolEnd) if one.call_id == decision.call_id)
    assert end.result is not None
    said = LagResult.model_validate(end.result)
    assert -1 <= said.correlation <= 1
    assert said.summary in report and decision.why in report
    (step,) = (one for one in view_of(events).steps if one.tool == "autocorrelate")
    assert (step.title, step.state, step.summary) == ("Autocorrelate", "done", said.summary)


def test_it_is_simulated_and_drawn_by_chance() -> None:
    for planner in (Keeping(), RandomLegal(1)):
        ended = [diagnose(drawn(seed), planner) for seed in range(20)]
        assert not any(one.illegal for one in ended)
    simulated = [call for view in SEEN for call in view.record.calls if call.tool == "autocorrelate"]
    assert simulated and all(call.result is not None for call in simulated)


def test_the_small_model_which_has_no_word_for_it_is_trained_without_it() -> None:
    examples = generate.simulated(60, 1, "train")
    assert {word for one in examples for word in f"{one.line} {one.answer}".split()} <= set(WORDS)
