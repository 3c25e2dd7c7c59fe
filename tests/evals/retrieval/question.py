"""The shape of a question, and where an answer has its first right entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from vgo_agent.knowledge.shape import Frozen

Kind = Literal["symptom", "output", "negative", "cure", "paper"]
"""What happens; what a tool prints; what it is not; how something is done; who measured it."""
Identity = Annotated[str, Field(pattern=r"^(?:(?:factor|mitigation):[a-z][a-z0-9_]*|note:[a-z0-9][a-z0-9_.-]*)$")]
"""`factor:KEY`, `mitigation:KEY`, or `note:STEM` after the name of the note's file."""


class RetrievalQuestion(Frozen):
    """One question; frozen, and an unknown key is an error."""

    number: Annotated[int, Field(ge=1)]
    """In the order of writing; with the kind it decides into which half the question was drawn."""
    kind: Kind
    text: Annotated[str, StringConstraints(min_length=5, strip_whitespace=True)]
    right: Annotated[tuple[Identity, ...], Field(min_length=1, max_length=5)]
    """What a good answer should have, the best first; any of them counts."""


def place(question: RetrievalQuestion, answer: Sequence[str]) -> int | None:
    """Give the place, from 1, of the first right entry in an answer that has the best first; None without one.

    A note is found by its sections: `note:STEM#SECTION` is right where `note:STEM` is.
    """
    found = (nth for nth, identity in enumerate(answer, start=1) if identity.partition("#")[0] in question.right)
    return next(found, None)
