"""What `model.py` counts: decisions, explanations, and what a large model costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from model_raw import Claims

from vgo_agent.agent.model.facts import ModelFacts


class Timed(NamedTuple):
    """One answer of the model."""

    answer: dict[str, Any]
    seconds: float


@dataclass
class Decisions:
    """What was counted over many decisions, each in another state."""

    name: str
    notation: str = "json"
    asked: int = 0
    answered: int = 0
    strict: int = 0
    """Texts that are strict JSON, or the form of places."""
    legal: int = 0
    """Texts that are calls which the graph would run, as they were written."""
    taken: int = 0
    """Answers that the planner took; others repeat a call."""
    like_rules: int = 0
    choosing: int = 0
    """Decisions with something to choose, those in a state that was seen before among them."""
    diagnoses: int = 0
    texts: set[str] = field(default_factory=set)
    timed: list[Timed] = field(default_factory=list)
    resident_bytes: int = 0
    """Of the process of the model."""


class Said(NamedTuple):
    """What a model with random weights said over finished runs."""

    claims: list[Claims]
    """Of the answers that it formulated."""
    by_templates: int
    """Answers to other questions, since it gave none."""
    seconds: list[float]


class Large(NamedTuple):
    """What a model of the size that people use costs here."""

    facts: ModelFacts
    parameters: int
    file_bytes: int
    resident_bytes: int
    timed: list[Timed]

    def seconds(self, name: str) -> float:
        """Add up a part of the time of all answers."""
        return sum(float(timed.answer["seconds"][name]) for timed in self.timed)

    def tokens(self, name: str) -> int:
        """Add up tokens of a kind."""
        return sum(int(timed.answer[name]) for timed in self.timed)

    @property
    def decoding_s(self) -> float:
        """Seconds of the model itself, for what it wrote."""
        return self.seconds("model") - self.seconds("prompt")

    @property
    def share(self) -> float:
        """What the grammar takes, of the time to write."""
        grammar = self.seconds("all") - self.seconds("model")
        return grammar / (self.decoding_s + grammar)
