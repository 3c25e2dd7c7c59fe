"""search: ask what is known in words of your own; ranked passages with their sources, no model, no network."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...knowledge.bm25 import words
from ...knowledge.errors import VgoError
from ..terminal import answer
from .options import add_manners

if TYPE_CHECKING:
    from ...knowledge.passages import KnowledgePassage


EPILOG = """\
examples:
  vgo-agent search why do my runs take longer over time
  vgo-agent search "perf shows clear_page_erms at the top" --top 10
  vgo-agent search --embedding nomic-embed-text.Q8_0.gguf "noisy neighbour"

Finds factors, mitigations and notes on papers by the words of the question, by parts of words, and by names. With
--embedding (or VGO_AGENT_EMBEDDING) a model of yours compares meanings; it needs the extra llm, and reads all that is
known once. The first search after an installation builds an index in the user's cache.
"""
WIDTH = 96
MOST = 100


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = f"{parser.prog} [OPTIONS] QUESTION"
    parser.add_argument("words", metavar="QUESTION", nargs="*", help="in words of your own")
    parser.add_argument("--top", metavar="N", type=int, default=5, help=f"so many answers, 1 to {MOST} (default 5)")
    parser.add_argument("--embedding", metavar="FILE", help="a GGUF file of an embedding model")
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search."""
    question = " ".join(" ".join(arguments.words).split())
    if not 1 <= arguments.top <= MOST:
        raise VgoError(f"--top {arguments.top} is not a number of answers: give 1 to {MOST}.")
    if not question:
        raise VgoError('There is no question: ask, for example, vgo-agent search "why is the first run slow".')
    given = arguments.embedding or os.environ.get("VGO_AGENT_EMBEDDING") or None
    from ...knowledge.index import MOST as READ
    from ...knowledge.index import search

    found = search(question, arguments.top, embedding=Path(given).expanduser() if given else None)
    words = listing(found, question) if found else _nothing(question)
    if found and len(question) > READ:
        words += f"\n\nOnly the first {READ} characters of the question were read."
    answer({"question": question, "found": rows(found, question)}, words, arguments.json)
    return 0 if found else 1


def listing(found: Sequence[KnowledgePassage], question: str = "") -> str:
    """Lay passages out, each with its source and the next command to type."""
    return "\n\n".join(_shown(place, row) for place, row in enumerate(rows(found, question), start=1))


def rows(found: Sequence[KnowledgePassage], question: str = "") -> list[dict[str, Any]]:
    """Give passages as JSON."""

    return [
        {
            "kind": one.kind,
            "key": one.key,
            "title": one.title,
            "snippet": snippet(one.text, question),
            "source": one.source,
            "next": f"vgo-agent explain {one.key}" if one.kind != "note" else "",
            "score": round(one.score, 4),
        }
        for one in found
    ]


def _shown(place: int, row: dict[str, Any]) -> str:
    import textwrap

    name = f"{row['kind']} {row['key']}" if row["kind"] != "note" else f"note {row['key'].partition('#')[0]}"
    lines = [f"{place}. {row['title']}  ({name})"]
    for text in (row["snippet"], f"Source: {row['source']}" if row["source"] else ""):
        lines += textwrap.wrap(
            text, WIDTH, initial_indent="   ", subsequent_indent="   ", break_long_words=False, break_on_hyphens=False
        )
    return "\n".join([*lines, *([f"   {row['next']}"] if row["next"] else [])])


def _nothing(question: str) -> str:
    hint = "" if question.isascii() else " What is known is written in English."
    return f"Nothing that is known shares a word with the question.{hint} Ask by a symptom, or name a column."


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
