"""How good a planner is: finished diagnoses in worlds that nobody was trained on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from vgo_agent.agent.model.chosen import SHIPPED_FILE, ModelChoice
from vgo_agent.agent.model.language_model import ModelProcess
from vgo_agent.agent.planners.base import Choice, Planner, Rules, View
from vgo_agent.agent.planners.llama import Llama
from vgo_agent.evals.simulator.diagnosis import DiagnosisOutcome, diagnose
from vgo_agent.evals.simulator.world import drawn
from vgo_agent.tools.simulated import World

from .generate import WORLDS, TrainingExample

CONTEXT = 256
"""Tokens: a line, and the answer."""
MOST_TOKENS = 8
"""Of an answer."""


class PlannerScore(NamedTuple):
    """Finished diagnoses of one planner."""

    diagnoses: int
    curable: int
    """Of them, those in which something helps that can be found."""
    cured: int
    """Of these, those in which what is claimed really helps."""
    wrong: int
    """Of all, those in which what is claimed does not help at all."""
    verdicts: int
    """Of all, those that end with the verdict to which the rule policy comes there."""
    runs: float
    """Of the program, on the mean."""
    decisions: float
    passed_over: int
    """Decisions that the rule policy took in its place."""
    asked: int
    """Decisions in which there was something to choose."""


@dataclass
class Counting:
    """A planner, and how often its answer was not taken."""

    planner: Planner
    asked: int = 0
    passed_over: int = 0
    name: str = "counting"
    reasons: set[str] = field(default_factory=set)

    def choose(self, view: View) -> Choice:
        """Let it choose."""
        choice = self.planner.choose(view)
        self.asked += choice.said is not None
        if choice.said and choice.said.passed_over:
            self.passed_over += 1
            self.reasons.add(choice.said.passed_over)
        return choice


@contextmanager
def shipped(path: Path = SHIPPED_FILE) -> Iterator[Llama]:
    """Open a model that writes places as a planner."""
    with ModelProcess(path, CONTEXT, 1) as model:
        yield Llama(model, ModelChoice(spec=str(path)), notation="places", context=CONTEXT)


def freely(model: Llama, pairs: Sequence[TrainingExample]) -> float:
    """Share of states in which the file itself, held by no grammar, writes what the rule policy does."""
    free = {"grammar": "", "schema": None, "most": MOST_TOKENS, "temperature": 0.0, "seed": 1}
    asked = ({"messages": [{"role": "user", "content": pair.line}]} | free for pair in pairs)
    answers = [str(model.model.ask(request, model.wish.decision_timeout_s)["text"]) for request in asked]
    agreed = [answer == pair.answer for answer, pair in zip(answers, pairs, strict=True)]
    return sum(agreed) / len(pairs)


def worlds(count: int, seed: int) -> Iterator[World]:
    """Worlds of the held-out half."""
    return (drawn(WORLDS["held-out"] + 500_000_000 + seed * 10_000 + number) for number in range(count))


def judge(planner: Planner, some: Iterable[World]) -> PlannerScore:
    """Let a planner finish a diagnosis in each world."""
    counting, ended, usual = Counting(planner), list[DiagnosisOutcome](), list[DiagnosisOutcome]()
    for world in some:
        ended.append(diagnose(world, counting))
        usual.append(diagnose(world, Rules()))
    curable = [one for one in ended if one.curable]
    return PlannerScore(
        diagnoses=len(ended),
        curable=len(curable),
        cured=sum(one.cured for one in curable),
        wrong=sum(one.wrong for one in ended),
        verdicts=sum(one.verdict == other.verdict for one, other in zip(ended, usual, strict=True)),
        runs=sum(one.runs for one in ended) / len(ended),
        decisions=sum(one.decisions for one in ended) / len(ended),
        passed_over=counting.passed_over,
        asked=counting.asked,
    )
