"""explain: what is known of a factor, a mitigation or a column, with its sources; no model, no network."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from ..terminal import answer, folded, table
from .options import add_manners

if TYPE_CHECKING:
    from ...knowledge.loader import Knowledge
    from .entry_explanation import EntryExplanation

EPILOG = """\
examples:
  vgo-agent explain "page faults"
  vgo-agent explain perf.migrations
  vgo-agent explain pin_to_cpu --json

Takes the key, the name or an alias of a factor, the key or name of a mitigation, or a column of a layer. The answer
comes from what vgo-agent ships with; numbers in brackets are its sources. `vgo-agent search` takes whole questions.
"""
MOST_NAMED = 3
"""Columns that tell two factors apart."""
LONGEST = 200
"""Characters of a name: more is a question, or no text at all."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = f"{parser.prog} [OPTIONS] NAME"
    parser.add_argument("words", metavar="NAME", nargs="+", help="a factor, a mitigation, or a column")
    parser.add_argument("--root", metavar="DIR", default="/", help="where /proc and /sys lie (default /)")
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Explain, or say what is near."""
    from ...knowledge.loader import load
    from ...knowledge.named import meant
    from .entry_explanation import explained

    known = load()
    name = " ".join(" ".join(arguments.words).split())
    if not name:
        raise VgoError("Nothing is asked for: name a factor, a mitigation or a column.")
    found = meant(name, known) if len(name) <= LONGEST else []
    if not found:
        return _unknown(name, known, arguments.json)
    one = explained(found, name, known, Path(arguments.root))
    answer(one.values, words_of(one), arguments.json)
    return 0


def _unknown(name: str, known: Knowledge, as_json: bool) -> int:
    """Name what is near in spelling, then what a search gives."""
    from ...knowledge.index import search
    from ...knowledge.named import nearest
    from .search import listing, rows

    near, found = nearest(name, known), search(name)
    short = name if len(name) <= 60 else f"{name[:60]} ..."
    parts = [f"{short!r} is not known by that name."]
    if near:
        parts.append("Near in spelling: " + ", ".join(near) + ".")
    if found:
        parts.append("A search for the words gives:\n\n" + listing(found))
    else:
        parts.append("A search for the words gives nothing. `vgo-agent mitigations` lists what can be done.")
    answer({"asked": name, "nearest": near, "found": rows(found)}, "\n\n".join(parts), as_json)
    return 1


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
    import textwrap

    return textwrap.fill(
        text.strip(),
        96,
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
    for place, cure in enumerate(one.values["mitigations"], start=1):
        sources = f"  {cure['sources']}" if cure["sources"] else ""
        lines.append(f"  {place}. {cure['name']}  ({cure['key']}, {cure['scope']}){sources}")
        lines += [_folded_item(f"{title}: {cure[key]}", 5, 9) for title, key in _OF_A_CURE]
    return _section("What to do, in this order", lines)


_OF_A_CURE = (("When", "when"), ("It hurts", "hurts"), ("Here", "here"))


def _notes(one: EntryExplanation) -> str:
    lines = []
    for note in one.values["notes"]:
        lines += [_folded_item(note["title"]), _folded_item(note["snippet"], 6, 6), _folded_item(note["source"], 6, 6)]
    return _section("Notes on papers", lines)
