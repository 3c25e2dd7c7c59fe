"""What a language model may write in an answer: sentences from a closed list, in an order of its own.

No free prose is let through, however short and however it is checked afterwards. A sentence without digits, quotation
marks and brackets can still claim (`ninety percent of them`, `it always helps`, `because the kernel is old`), name a
factor in words that no list has, or turn a statement round with one `not`; whether it does cannot be told by rules that
are sure. So the grammar is finite: for each fact that the question asks for, each of its wordings, all of which are
true, with one of a few words that join, each with its reference behind it. A model decides what is said, what comes
first and how it is put. Whatever it writes is read back strictly, and what is shown is made anew from the facts, with
names and numbers: no byte of what was written is copied. What is not on the list (a server may not keep to a grammar)
is dropped, and the answer says so. A fact that answers the question directly and is passed over is added behind.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...knowledge.loader import Knowledge
from ..planners.state import quoted
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
