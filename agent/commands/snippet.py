"""The part of a text that answers a question best."""

from __future__ import annotations

import re

from ...knowledge.bm25 import words

LENGTH = 220


def snippet(text: str, question: str, length: int = LENGTH) -> str:
    """Give the sentences that begin with the one that shares most words with the question; whole text if it fits."""
    plain = " ".join(re.sub(r"(?m)^\s*[-*]\s+", "", text).split())
    if len(plain) <= length:
        return plain
    sentences = re.split(r"(?<=[.;:?!]) ", plain)
    asked = set(words(question))
    best = max(range(len(sentences)), key=lambda place: (len(asked & set(words(sentences[place]))), -place))
    rest = " ".join(sentences[best:])
    cut = rest if len(rest) <= length else rest[: length - 4].rsplit(" ", 1)[0] + " ..."
    return f"... {cut}" if best else cut
