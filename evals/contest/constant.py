"""Always the same answer: the most common cause of the train cases, without a look at the case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ...knowledge.errors import VgoError
from ...knowledge.loader import Knowledge, load
from ..recorded.recorded_case import ShownCase
from ..recorded.schema import Truth
from .answer import ContestAnswer


@dataclass(frozen=True)
class Constant:
    """What can be had without measuring anything: a tool that is no better has learnt nothing from its runs."""

    ranked: tuple[str, ...]
    """Keys of the causes, the most common first, then in the order of the alphabet."""
    mitigation: str
    name: str = "constant"

    @classmethod
    def of(cls, train: Iterable[Truth], knowledge: Knowledge | None = None) -> Constant:
        """Count the causes of the train cases; raises VgoError where none of them has one."""
        counts = Counter(cause for truth in train for cause in truth.causes)
        if not counts:
            raise VgoError("No train case has a cause, so there is no most common one; give the train cases too.")
        ranked = tuple(sorted(counts, key=lambda cause: (-counts[cause], cause)))
        return cls(ranked, _first_mitigation(ranked[0], knowledge or load()))

    def answer(self, case: ShownCase, seed: int) -> ContestAnswer:
        """Say it again."""
        return ContestAnswer(
            verdict="cause explained, remedy confirmed" if self.mitigation else "cause explained, remedy not tried",
            causes=self.ranked[:1],
            ranked=self.ranked,
            mitigation=self.mitigation,
        )


def _first_mitigation(cause: str, knowledge: Knowledge) -> str:
    """The first that the tool can apply; empty where there is none."""
    factor = knowledge.factors.get(cause)
    listed = factor.mitigations if factor else ()
    return next((key for key in listed if knowledge.mitigations[key].apply is not None), "")
