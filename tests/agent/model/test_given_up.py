"""A model that is always gone or late is not asked for ever."""

from __future__ import annotations

from typing import Any

import pytest

from vgo_agent.agent.model.chosen import MOST_GONE, ModelChoice, Patient
from vgo_agent.agent.model.language_model import ModelFailed, ModelGone
from vgo_agent.agent.planners.llama import Llama

from ..planners.test_llama import CHOOSING


class RefusingModel:
    """Fails as it is told, and counts how often it is asked."""

    def __init__(self, *failures: ModelFailed | None) -> None:
        self.failures, self.asked = failures, 0

    def describe(self) -> dict[str, Any]:
        return {}

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        failure = self.failures[self.asked % len(self.failures)]
        self.asked += 1
        if failure:
            raise failure
        return {}


def asked(model: Patient, times: int) -> None:
    for _ in range(times):
        try:
            model.ask({}, 1.0)
        except ModelFailed:
            continue


def test_after_three_times_in_a_row_it_is_given_up_and_said_why() -> None:
    told = RefusingModel(ModelGone("no answer within 1 s"))
    patient = Patient(told)
    asked(patient, 10)
    assert told.asked == MOST_GONE == 3
    with pytest.raises(ModelFailed, match="given up, since it was gone or late 3 times in a row: no answer within 1 s"):
        patient.ask({}, 1.0)


@pytest.mark.parametrize("between", [None, ModelFailed("the prompt is too long")])
def test_an_answer_between_begins_anew(between: ModelFailed | None) -> None:
    told = RefusingModel(ModelGone("late"), ModelGone("late"), between)
    asked(Patient(told), 9)
    assert told.asked == 9


def test_the_rule_policy_decides_the_rest_and_each_step_says_why() -> None:
    told = RefusingModel(ModelGone("its process ended by SIGKILL"))
    planner = Llama(Patient(told), ModelChoice(spec="fake"))
    said = [choice.said for choice in map(planner.choose, CHOOSING[:5])]
    assert told.asked == 3
    assert [one is not None and "given up" in one.passed_over for one in said] == [False, False, False, True, True]
