"""A language model as the one who puts an answer into words: what it is told, and what it is asked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...knowledge.errors import VgoError
from ...knowledge.loader import Knowledge
from ...prompts.render import render
from ..model.chosen import ModelChoice, open_source
from ..model.language_model import LanguageModel, ModelFailed
from ..planners.llama import PROMPT_TOKENS
from ..planners.state import quoted
from ..planning import told_by
from .checker import CONNECTIVES, Objection, objections, sentences
from .fact import CitableFact, Wording, sentence

MOST_SENTENCES = 6
MOST_TOKENS = 512
"""Of an answer: a sentence that is cut off by it is dropped."""
MOST_DROPPED = 8
LISTED = "sentences"
"""Key of the list in an answer in JSON."""
PROSE = re.compile(r"[A-Za-z ,'/+-]+")


class SentenceChoice(NamedTuple):
    """One sentence as the model chose it."""

    fact: CitableFact
    wording: Wording
    connective: str


def grammar(direct: Sequence[CitableFact], more: Sequence[CitableFact]) -> str:
    """Write in GBNF what may be written: first something that answers, then anything that belongs to it."""
    first = [text for text, one in _listed(direct) if not one.connective]
    rest = list(_listed((*direct, *more)))
    plain = [text for text, one in rest if not one.connective]
    joined = [text.removeprefix(CONNECTIVES[0]) for text, one in rest if one.connective == CONNECTIVES[0]]
    following = ""
    for _ in range(MOST_SENTENCES - 1):
        following = f'(" " next {following})?' if following else '(" " next)?'
    return "\n".join(
        (
            f"root ::= first {following}",
            f"first ::= {_either(first)}",
            f"next ::= plain | join joined\nplain ::= {_either(plain)}",
            f"join ::= {_either(CONNECTIVES)}",
            f"joined ::= {_either(joined)}\n",
        )
    )


def schema(direct: Sequence[CitableFact], more: Sequence[CitableFact]) -> dict[str, Any]:
    """The same as a JSON schema, a list of sentences, for a server that takes no grammar."""
    listed = [text for text, _ in _listed((*direct, *more))]
    array = {"type": "array", "minItems": 1, "maxItems": MOST_SENTENCES, "items": {"enum": listed}}
    return {"type": "object", "properties": {LISTED: array}, "required": [LISTED], "additionalProperties": False}


def read(text: str, facts: Sequence[CitableFact], known: Knowledge) -> tuple[list[SentenceChoice], list[Objection]]:
    """Read what was written, each fact once; whatever is not on the list is dropped, with the reason."""
    listed = dict(_listed(facts))
    chosen: dict[str, SentenceChoice] = {}
    dropped: list[Objection] = []
    for piece in sentences(_flat(text)):
        one = listed.get(piece)
        if one is None:
            dropped.append(Objection(quoted(piece, 160), _why(piece, facts, known)))
        elif one.fact.tag not in chosen:
            chosen[one.fact.tag] = one
    return list(chosen.values())[:MOST_SENTENCES], dropped[:MOST_DROPPED]


def _listed(facts: Sequence[CitableFact]) -> Iterator[tuple[str, SentenceChoice]]:
    """Every sentence that may be written."""
    for fact in facts:
        for wording in fact.wordings:
            if not PROSE.fullmatch(wording.written):
                continue
            for connective in ("", *CONNECTIVES):
                text = sentence(wording.written, (fact.tag,), connective=connective)
                yield text, SentenceChoice(fact, wording, connective)


def _flat(text: str) -> str:
    """Take the list of an answer in JSON apart; anything else is prose."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    listed = value.get(LISTED) if isinstance(value, dict) else None
    return " ".join(map(str, listed)) if isinstance(listed, list) else text


def _why(piece: str, facts: Sequence[CitableFact], known: Knowledge) -> str:
    found = objections(piece, facts, known)
    return found[0].why if found else "it is not one of the sentences to choose from"


def _either(texts: Sequence[str]) -> str:
    return " | ".join(_literal(text) for text in dict.fromkeys(texts))


def _literal(text: str) -> str:
    """Quote for GBNF; only prose and references come here."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


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
        return read(str(answer.get("text", "")), (*direct, *rest), known)


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
    return f"[{fact.tag}] {quoted(fact.shown, words)}"


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
