"""A language model as the one who puts an answer into words: what it is told, and what it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...knowledge.loader import Knowledge
from ...prompts.render import render
from ..model.language_model import LanguageModel, ModelFailed
from ..planners.state import quoted
from . import sentence_choice
from .checker import Objection
from .fact import CitableFact
from .sentence_choice import SentenceChoice

MOST_FACTS = 20
WORDS = (220, 120, 60)
"""Characters of one fact: the most with which the prompt is not too long."""
MOST_QUESTION = 300
CHARACTERS = 6000
"""Of a prompt at most, where nothing is known of the model's context."""
PATIENCE = 5.0
"""Times the seconds that a decision may take: an answer has a longer prompt and more words."""


class NotSpoken(Exception):
    """The model gave no answer; the words say why."""


@dataclass(frozen=True)
class Speaker:
    """Keeps no state: each question is asked by itself, from the facts that belong to it."""

    model: LanguageModel
    name: str
    seconds: float = 300.0
    seed: int = 1
    characters: int = CHARACTERS
    """Of a prompt at most: beside it the answer has to fit into the model's context."""

    def choose(
        self, question: str, direct: Sequence[CitableFact], more: Sequence[CitableFact], known: Knowledge, prompt: str
    ) -> tuple[list[SentenceChoice], list[Objection]]:
        """Let it choose what is said, in which order and in which wording; raises NotSpoken without an answer."""
        text, rest = facts_prompt(question, direct, more, prompt, self.characters)
        request = {
            "messages": [{"role": "user", "content": text}],
            "grammar": sentence_choice.grammar(direct, rest),
            "schema": sentence_choice.schema(direct, rest),
            "most": sentence_choice.MOST_TOKENS,
            "temperature": 0.0,
            "seed": self.seed,
        }
        try:
            answer = self.model.ask(request, self.seconds)
        except ModelFailed as failed:
            raise NotSpoken(str(failed)) from failed
        return sentence_choice.read(str(answer.get("text", "")), (*direct, *rest), known)


class FactsPrompt(NamedTuple):
    """What a model is told."""

    text: str
    rest: Sequence[CitableFact]
    """Of those that belong to the answer, the ones that are in it."""


def facts_prompt(
    question: str, direct: Sequence[CitableFact], more: Sequence[CitableFact], prompt: str, characters: int = CHARACTERS
) -> FactsPrompt:
    """Write the prompt: the question and the facts, each quoted and bounded; what is left out is counted.

    First the facts that only belong to the answer go, the last first; then each of the others is cut shorter. Where
    even that is too long, the model is asked nevertheless, and says so itself.
    """
    most = max(0, MOST_FACTS - len(direct))
    for words in WORDS:
        for kept in range(min(most, len(more)), -1, -1):
            found = FactsPrompt(_written(question, direct, more[:kept], len(more) - kept, prompt, words), more[:kept])
            if len(found.text) <= characters:
                return found
    return found


def _written(
    question: str, direct: Sequence[CitableFact], rest: Sequence[CitableFact], left: int, prompt: str, words: int
) -> str:
    return render(
        f"model/{prompt}.txt.j2",
        question=quoted(question, MOST_QUESTION),
        direct=[_line(fact, words) for fact in direct],
        more=[_line(fact, words) for fact in rest],
        cut=f" ({left} more left out)" if left else "",
        most=sentence_choice.MOST_SENTENCES,
    )


def _line(fact: CitableFact, words: int) -> str:
    return f"[{fact.tag}] {quoted(fact.shown, words)}"
