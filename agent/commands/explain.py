"""explain: what is known of a factor, a mitigation, a column or a question, with its sources; no model, no network."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...knowledge.errors import VgoError
from ..terminal import WIDTH, folded, table
from .options import Answering, option, place

if TYPE_CHECKING:
    from ...knowledge.loader import Knowledge
    from ...knowledge.passages import KnowledgePassage
    from .entry_explanation import EntryExplanation

MOST_NAMED = 3
"""Columns that tell two factors apart."""
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
  vgo-agent explain why do my runs take longer over time
  vgo-agent explain "perf shows clear_page_erms at the top" --top 10
  vgo-agent explain --embedding nomic-embed-text.Q8_0.gguf "noisy neighbour"

Takes the key, the name or an alias of a factor, the key or name of a mitigation, or a column of a layer. The answer
comes from what vgo-agent ships with; numbers in brackets are its sources. Anything else is looked for, by its words, by
parts of words, and by names, among factors, mitigations and notes on papers. With --embedding (or VGO_AGENT_EMBEDDING)
a model of yours compares meanings; it needs the extra llm, and reads all that is known once. The first search after an
installation builds an index in the user's cache.
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
        from ...knowledge.named import meant

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
        return self.answer(one.values, words_of(one))

    def _searched(self, question: str, known: Knowledge) -> int:
        """Give the passages that a search finds, below the names that are near in spelling."""
        from ...knowledge.index import MOST as READ
        from ...knowledge.index import search
        from ...knowledge.named import nearest

        given = self.embedding or os.environ.get("VGO_AGENT_EMBEDDING") or None
        near = [] if len(question.split()) > WORDS_OF_A_NAME else nearest(question, known)
        found = search(question, self.top or MOST_PASSAGES, embedding=Path(given).expanduser() if given else None)
        parts = [f"{question!r} is not known by that name. Near in spelling: {', '.join(near)}."] if near else []
        parts.append(listing(found, question) if found else _nothing(question))
        if found and len(question) > READ:
            parts.append(f"Only the first {READ} characters of the question were read.")
        self.answer({"question": question, "nearest": near, "found": rows(found, question)}, "\n\n".join(parts))
        return 0 if found else 1


def listing(found: Sequence[KnowledgePassage], question: str = "") -> str:
    """Lay passages out, each with its source and the next command to type."""
    return "\n\n".join(_passage(number, row) for number, row in enumerate(rows(found, question), start=1))


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


def _passage(number: int, row: dict[str, Any]) -> str:
    name = f"{row['kind']} {row['key']}" if row["kind"] != "note" else f"note {row['key'].partition('#')[0]}"
    lines = [f"{number}. {row['title']}  ({name})"]
    for text in (row["snippet"], f"Source: {row['source']}" if row["source"] else ""):
        lines += textwrap.wrap(
            text, WIDTH, initial_indent="   ", subsequent_indent="   ", break_long_words=False, break_on_hyphens=False
        )
    return "\n".join([*lines, *([f"   {row['next']}"] if row["next"] else [])])


def _nothing(question: str) -> str:
    hint = "" if question.isascii() else " What is known is written in English."
    return f"Nothing that is known shares a word with the question.{hint} Ask by a symptom, or name a column."


def words_of(one: EntryExplanation) -> str:
    """Lay out one entry."""
    parts = [_head(one), _folded_item(one.values["description"], 0, 0)]
    parts += [_signals(one)] if one.signals else []
    parts += [folded(f"It brings: {', '.join(one.values['makes'])}.")] if one.values.get("makes") else []
    parts += [_confused(one)] if one.values.get("confused_with") else []
    parts += list(_practice(one))
    parts += [_cures(one)] if one.values.get("mitigations") else []
    parts += [_section("Sources", [f"  [{n}] {text}" for n, text in enumerate(one.values["references"], start=1)])]
    parts += [_notes(one)] if one.values["notes"] else []
    parts += [folded(f"Also meant, perhaps: {', '.join(one.values['also'])}.")] if one.values["also"] else []
    return "\n\n".join(part for part in parts if part)


def _head(one: EntryExplanation) -> str:
    values = one.values
    lines = [f"{values['name']}  ({values['kind']} {values['key']})"]
    if column := values.get("column"):
        lines += [folded(f"{column['name']} ({column['unit']}, layer {column['layer']}): {column['description']}")]
    return "\n".join(lines)


def _section(title: str, lines: Sequence[str]) -> str:
    return "\n".join((f"{title}:", *lines)) if lines else ""


def _signals(one: EntryExplanation) -> str:
    header = ("  COLUMN", "LAYER", "HERE", "")
    rows = [(f"  {signal.column}", signal.layer or "-", signal.here, "") for signal in one.signals]
    shown = table(header, rows)
    reasons = [f"  {layer}: {why}" for layer, why in one.values["not_here"].items()]
    return "How it shows:\n" + "\n".join((shown, *(_folded_item(reason) for reason in reasons)))


def _folded_item(text: str, indent: int = 2, further: int = 6) -> str:
    return textwrap.fill(
        text.strip(),
        WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * further,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _confused(one: EntryExplanation) -> str:
    lines = []
    for other in one.values["confused_with"]:
        tells = []
        if other["only_this"]:
            tells.append(f"only {one.values['key']} shows in {', '.join(other['only_this'][:MOST_NAMED])}")
        if other["only_other"]:
            tells.append(f"only {other['key']} in {', '.join(other['only_other'][:MOST_NAMED])}")
        how = "; ".join(tells) or "no column tells them apart: try the mitigations of both"
        lines.append(_folded_item(f"{other['name']} ({other['key']}): {how}"))
    return _section("Easily confused with", lines)


def _practice(one: EntryExplanation) -> Iterator[str]:
    """What a mitigation is for, what it does, and whether it can be tried."""
    values = one.values
    if values["kind"] != "mitigation":
        return
    yield "\n".join(_folded_item(f"{title}: {values[key]}") for title, key in _FACTS if values[key])
    yield _section("What it changes", [_folded_item(line) for line in values["changes"]])
    yield _section("What a person does", [_folded_item(f"- {step}") for step in values["steps"]])
    yield _section("Next", [f"  {line}" for line in values["next"]])


_FACTS = (
    ("Scope", "scope"),
    ("When it helps", "when"),
    ("When it hurts", "hurts"),
    ("Here", "here"),
    ("Against", "against"),
    ("Parameters", "parameters"),
    ("It should lower", "moves"),
)


def _cures(one: EntryExplanation) -> str:
    lines = []
    for number, cure in enumerate(one.values["mitigations"], start=1):
        sources = f"  {cure['sources']}" if cure["sources"] else ""
        lines.append(f"  {number}. {cure['name']}  ({cure['key']}, {cure['scope']}){sources}")
        lines += [_folded_item(f"{title}: {cure[key]}", 5, 9) for title, key in _OF_A_CURE]
    return _section("What to do, in this order", lines)


_OF_A_CURE = (("When", "when"), ("It hurts", "hurts"), ("Here", "here"))


def _notes(one: EntryExplanation) -> str:
    lines = []
    for note in one.values["notes"]:
        lines += [_folded_item(note["title"]), _folded_item(note["snippet"], 6, 6), _folded_item(note["source"], 6, 6)]
    return _section("Notes on papers", lines)
