"""explain: what is known of a factor, a mitigation, a column, a state of the ledger or a question, with its sources."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...knowledge.errors import VgoError
from .options import Answering, option, place

if TYPE_CHECKING:
    from ...knowledge.loader import Knowledge
    from ...knowledge.passages import KnowledgePassage
    from ...tools.document import Section

LONGEST = 200
"""Characters of a name: more is a question, or no text at all."""
WORDS_OF_A_NAME = 4
"""At most, of one that is misspelt."""
MOST, MOST_PASSAGES = 100, 5
"""Passages that a search gives, and does unless more are asked for."""


@dataclass(frozen=True, kw_only=True)
class ExplainCommand(Answering):
    """Say what is known of a name, or look for a question."""

    EPILOG = """\
examples:
  vgo-agent explain "page faults"
  vgo-agent explain perf.migrations
  vgo-agent explain pin_to_cpu --json
  vgo-agent explain queue_others
  vgo-agent explain why do my runs take longer over time
  vgo-agent explain "perf shows clear_page_erms at the top" --top 10
  vgo-agent explain --embedding nomic-embed-text.Q8_0.gguf "noisy neighbour"

Takes the key, the name or an alias of a factor or of a state of the time ledger, the key or name of a mitigation, or a
column of a layer. The answer comes from what vgo-agent ships with; numbers in brackets are its sources. Anything else
is looked for, by its words, by parts of words, and by names, among factors, mitigations, states and notes on papers.
With --embedding (or VGO_AGENT_EMBEDDING) a model of yours compares meanings; it needs the extra llm, and reads all that
is known once. The first search after an installation builds an index in the user's cache.
"""
    USAGE = "[OPTIONS] WORDS"

    words: tuple[str, ...] = place("WORDS", "a factor, a mitigation, a column, or a question in words of your own")
    root: Path = option("where /proc and /sys lie (default /)", Path("/"), metavar="DIR")
    top: int | None = option(
        f"search, and give so many passages, 1 to {MOST} (default 5)",
        metavar="N",
        allowed=lambda top: 1 <= top <= MOST,
        refused=f"is not a number of answers: give 1 to {MOST}",
    )
    embedding: Path | None = option("search with this embedding model, a GGUF file", metavar="FILE")

    def run(self) -> int:
        """Explain, or search; 1 where neither gives anything."""
        from ...knowledge.loader import load
        from ...knowledge.passages import meant

        known = load()
        name = " ".join(" ".join(self.words).split())
        if not name:
            raise VgoError('Nothing is asked for: try, for example, vgo-agent explain "why is the first run slow".')
        searches = len(name) > LONGEST or self.top or self.embedding
        found = [] if searches else meant(name, known)
        if not found:
            return self._searched(name, known)
        from .entry_explanation import explained

        one = explained(found, name, known, self.root)
        return self.answer(one.values, (one.title, *one.blocks))

    def _searched(self, question: str, known: Knowledge) -> int:
        """Give the passages that a search finds, below the names that are near in spelling."""
        from ...knowledge.index import MOST as READ
        from ...knowledge.index import search
        from ...knowledge.passages import nearest

        given = self.embedding or os.environ.get("VGO_AGENT_EMBEDDING") or None
        near = [] if len(question.split()) > WORDS_OF_A_NAME else nearest(question, known)
        found = search(question, self.top or MOST_PASSAGES, embedding=Path(given).expanduser() if given else None)
        spelt = f" Near in spelling: {', '.join(near)}." if near else ""
        parts = [f"{question!r} is not known by that name.{spelt}"] if near or len(question.split()) == 1 else []
        parts.append(listing(found, question) if found else _nothing(question))
        if found and len(question) > READ:
            parts.append(f"Only the first {READ} characters of the question were read.")
        self.answer({"question": question, "nearest": near, "found": rows(found, question)}, "\n\n".join(parts))
        return 0 if found else 1


def listing(found: Sequence[KnowledgePassage], question: str = "") -> str:
    """Lay passages out, each with its source and the next command to type."""
    from ..render.text import blocks_text

    return blocks_text([_passage(number, row) for number, row in enumerate(rows(found, question), start=1)])


def rows(found: Sequence[KnowledgePassage], question: str = "") -> list[dict[str, Any]]:
    """Give passages as JSON."""
    from .entry_explanation import snippet

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


def _passage(number: int, row: dict[str, Any]) -> Section:
    from ...tools.document import Command, Section

    name = f"{row['kind']} {row['key']}" if row["kind"] != "note" else f"note {row['key'].partition('#')[0]}"
    source = f"Source: {row['source']}" if row["source"] else ""
    blocks = (row["snippet"], source, Command(row["next"]))
    return Section(f"{number}. {row['title']}  ({name})", blocks)


def _nothing(question: str) -> str:
    hint = "" if question.isascii() else " What is known is written in English."
    return f"Nothing that is known shares a word with the question.{hint} Ask by a symptom, or name a column."
