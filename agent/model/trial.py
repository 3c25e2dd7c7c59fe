"""Try a model on recorded moments: whether its calls are legal, agree with the rule policy, and how long they take."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from ...tools.record import NO_FILES, Finished, Record
from ...tools.subject import Limits
from ..planners.base import Choice, Planner, Rules, View, calls, menu, view_of

FILE = Path(__file__).with_name("states.json")
"""Written by `python benchmarks/model_states.py`, from cases of the training half."""


class DecisionState(NamedTuple):
    """One moment."""

    case: str
    """The recorded case it comes from."""
    view: View


def states() -> Sequence[DecisionState]:
    """Read them all, in the order in which they came about."""
    return [state for told in json.loads(FILE.read_text()) for state in _moments(told)]


def _moments(told: dict[str, Any]) -> Iterator[DecisionState]:
    """Give the moments before those calls of one diagnosis that were chosen among several."""
    limits = Limits.model_validate(told["limits"])
    finished = [Finished(artefacts={}, **call) for call in told["calls"]]
    for number in range(len(finished) + 1):
        record = Record(tuple(finished[:number]), NO_FILES)
        view = view_of(record, limits, number)
        if number in told["asked"] and calls(menu(view)) > 1:
            yield DecisionState(told["case"], view)


CHOSEN = ("mitigation", "batch", "factor", "call")
"""Arguments that say what is done, not how much of it."""


class ModelDecision(NamedTuple):
    """One decision."""

    state: DecisionState
    chosen: str
    """The call, in words; that of the rule policy where the answer was not taken."""
    usual: str
    """The call of the rule policy, in words."""
    passed_over: str
    """Why the answer was not taken; empty: it was, so it is legal."""
    seconds: float

    @property
    def agrees(self) -> bool:
        """Whether the model chose what the rule policy would."""
        return not self.passed_over and self.chosen == self.usual


class AgreementSummary(NamedTuple):
    """All decisions together."""

    decisions: int
    taken: int
    """Legal calls that were read strictly."""
    agreeing: int
    median_s: float
    longest_s: float


def trial(
    planner: Planner, moments: Sequence[DecisionState], tell: Callable[[ModelDecision], None]
) -> list[ModelDecision]:
    """Let it decide at each moment."""
    found = []
    for state in moments:
        begun = time.perf_counter()
        choice = planner.choose(state.view)
        seconds = time.perf_counter() - begun
        passed_over = choice.said.passed_over if choice.said else ""
        state.view.legal.check(choice.tool, choice.arguments)  # whoever chose: it would be a bug of ours
        tried = ModelDecision(state, _words(choice), _words(Rules().choose(state.view)), passed_over, seconds)
        tell(tried)
        found.append(tried)
    return found


def summary(tried: Sequence[ModelDecision]) -> AgreementSummary:
    """Count."""
    seconds = [one.seconds for one in tried]
    taken = sum(not one.passed_over for one in tried)
    return AgreementSummary(len(tried), taken, sum(one.agrees for one in tried), median(seconds), max(seconds))


def _words(choice: Choice) -> str:
    """Write a call; amounts are left out, since half or twice the usual ones are as good a decision."""
    named = [str(value) for name, value in choice.arguments.items() if name in CHOSEN]
    return " ".join([choice.tool, *named])
