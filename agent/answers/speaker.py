"""A language model as the one who puts an answer into words: what it is told, and what it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...knowledge.loader import Knowledge
from ...prompts.render import render
from ..model.asked import Asked, ModelFailed
from ..planners.state import quoted
from . import written
from .fact import Fact
from .written import Chosen, Dropped

MOST_FACTS = 20
MOST_WORDS = 220
"""Characters of one fact: with twenty of them, the question and the frame a prompt stays below 2,000 tokens."""
MOST_QUESTION = 300


PATIENCE = 5.0
"""Times the seconds that a decision may take: an answer has a longer prompt and more words."""


class NotSpoken(Exception):
    """The model gave no answer; the words say why."""


@dataclass(frozen=True)
class Speaker:
    """Keeps no state: each question is asked by itself, from the facts that belong to it."""

    model: Asked
    name: str
    seconds: float = 300.0
    seed: int = 1

    def choose(
        self, question: str, direct: Sequence[Fact], more: Sequence[Fact], known: Knowledge, prompt: str
    ) -> tuple[list[Chosen], list[Dropped]]:
        """Let it choose what is said, in which order and in which wording; raises NotSpoken without an answer."""
        rest = more[: MOST_FACTS - len(direct)]
        request = {
            "messages": [{"role": "user", "content": told(question, direct, more, prompt)}],
            "grammar": written.grammar(direct, rest),
            "schema": written.schema(direct, rest),
            "most": written.MOST_TOKENS,
            "temperature": 0.0,
            "seed": self.seed,
        }
        try:
            answer = self.model.ask(request, self.seconds)
        except ModelFailed as failed:
            raise NotSpoken(str(failed)) from failed
        return written.read(str(answer.get("text", "")), (*direct, *rest), known)


def told(question: str, direct: Sequence[Fact], more: Sequence[Fact], prompt: str) -> str:
    """Write the prompt: the question and the facts, each quoted and bounded; what is left out is counted."""
    rest = more[: MOST_FACTS - len(direct)]
    left = len(more) - len(rest)
    return render(
        f"model/{prompt}.txt.j2",
        question=quoted(question, MOST_QUESTION),
        direct=list(map(_line, direct)),
        more=list(map(_line, rest)),
        cut=f" ({left} more left out)" if left else "",
        most=written.MOST_SENTENCES,
    )


def _line(fact: Fact) -> str:
    return f"[{fact.tag}] {quoted(fact.shown, MOST_WORDS)}"
