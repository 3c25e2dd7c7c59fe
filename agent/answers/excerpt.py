"""Whole sentences of a passage, from the one that answers best: nothing is cut inside a sentence."""

from __future__ import annotations

import re

from ...knowledge.bm25 import words

LENGTH = 260
"""Characters in all; one sentence alone may be longer."""
ENDS = ".?!"


def excerpt(text: str, question: str, length: int = LENGTH) -> str:
    """Give the sentences that begin with the one that shares most words with the question, as many as fit.

    What does not end as a sentence does, a heading or a piece of a list, is left out.
    """
    found = sentences(text)
    if not found:
        return ""
    asked = set(words(question))
    best = max(range(len(found)), key=lambda place: (len(asked & set(words(found[place]))), -place))
    kept = found[best]
    for sentence in found[best + 1 :]:
        if len(kept) + 1 + len(sentence) > length:
            break
        kept = f"{kept} {sentence}"
    return kept


def sentences(text: str) -> list[str]:
    """Split a text into its sentences; points of a list and paragraphs begin new ones."""
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text.strip())
    plain = (" ".join(re.sub(r"^\s*(?:[-*]|\d+\.) +", "", block).split()) for block in blocks)
    split = (one.strip() for block in plain for one in re.split(r"(?<=[.?!])[\"')]* (?=[A-Z\"'(`0-9])", block))
    return [one for one in split if one and one.rstrip("\"')`")[-1:] in tuple(ENDS)]
