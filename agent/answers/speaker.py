"""A language model as the one who chooses what an answer says: what it is told, and what it is asked.

It names references and writes no word of the answer: the sentences are those of the facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...knowledge.errors import VgoError
from ...prompts.render import render
from ..model.chosen import ModelChoice, open_source
from ..model.language_model import LanguageModel, ModelFailed
from ..planners.llama import PROMPT_TOKENS
from ..planners.state import quoted
from ..planning import told_by
from .fact import CitableFact

MOST_SENTENCES = 6
MOST_TOKENS = 128
"""Of an answer: references only."""
LISTED = "references"
"""Key of the list in an answer in JSON."""
REFERENCE = re.compile(r"\b[fk]\d+\b")


def grammar(direct: Sequence[CitableFact], more: Sequence[CitableFact]) -> str:
    """Write in GBNF what may be written: first something that answers, then anything that belongs to it."""
    following = ""
    for _ in range(MOST_SENTENCES - 1):
        following = f'(" " next {following})?' if following else '(" " next)?'
    first, every = (" | ".join(f'"[{one.tag}]"' for one in facts) for facts in (direct, (*direct, *more)))
    return f"root ::= first {following}\nfirst ::= {first}\nnext ::= {every}\n"


def schema(direct: Sequence[CitableFact], more: Sequence[CitableFact]) -> dict[str, Any]:
    """The same as a JSON schema, a list of references, for a server that takes no grammar."""
    listed = [one.tag for one in (*direct, *more)]
    array = {"type": "array", "minItems": 1, "maxItems": MOST_SENTENCES, "items": {"enum": listed}}
    return {"type": "object", "properties": {LISTED: array}, "required": [LISTED], "additionalProperties": False}


def read(text: str, facts: Sequence[CitableFact]) -> list[CitableFact]:
    """Read which facts were chosen, each once; of the words around the references nothing is read."""
    listed = {one.tag: one for one in facts}
    chosen = dict.fromkeys(tag for tag in REFERENCE.findall(text) if tag in listed)
    return [listed[tag] for tag in chosen][:MOST_SENTENCES]


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
        self, question: str, direct: Sequence[CitableFact], more: Sequence[CitableFact], prompt: str
    ) -> list[CitableFact]:
        """Let it choose what is said, and in which order; raises NotSpoken where it chooses nothing."""
        text, rest = facts_prompt(question, direct, more, prompt, self.characters)
        request = {
            "messages": [{"role": "user", "content": text}],
            "grammar": grammar(direct, rest),
            "schema": schema(direct, rest),
            "most": MOST_TOKENS,
            "temperature": 0.0,
            "seed": self.seed,
        }
        try:
            answer = self.model.ask(request, self.seconds)
        except ModelFailed as failed:
            raise NotSpoken(str(failed)) from failed
        if not (chosen := read(str(answer.get("text", "")), (*direct, *rest))):
            raise NotSpoken("it named nothing of what can be said")
        return chosen


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
        most=MOST_SENTENCES,
    )


def _line(fact: CitableFact, words: int) -> str:
    return f"[{fact.tag}] {quoted(fact.text, words)}"


SPEAKS = "json"
"""Notation of models that read words; one that was trained for another can only plan."""


@contextmanager
def speaking(wish: ModelChoice | None, decision_s: float, demanded: bool) -> Iterator[Speaker | None]:
    """Open the model that is wished for, for as long as it is needed; None where that is none that can speak.

    Raises VgoError for one that cannot be used, and where the user demanded one that can only plan.
    """
    if wish is None:
        yield None
        return
    with open_source(wish) as model:
        facts = told_by(model, wish)
        if facts.notation == SPEAKS:
            room = min(PROMPT_TOKENS, facts.context - MOST_TOKENS) * facts.characters_a_token
            yield Speaker(model, quoted(facts.name, 80), PATIENCE * decision_s, wish.seed, int(room))
        elif demanded:
            raise VgoError(f"The model {facts.name} plans and cannot speak; name another, or leave --model out.")
        else:
            yield None
