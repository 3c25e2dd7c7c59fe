"""What `explain` says of one entry, as an object and in blocks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...knowledge.actions import MitigationParameter
from ...knowledge.bm25 import words
from ...knowledge.loader import Knowledge
from ...knowledge.passages import cited, related_notes, told_apart
from ...knowledge.schema import Citation, KnownFactor, Mitigation
from ...knowledge.shape import overlap
from ...knowledge.terms import KnownState, state_words
from ...knowledge.time_states import MEASURED, WAITS, TimeState, measured_as
from ...layers.loader import load_layers
from ...layers.schema import Column, Layer
from ...tools.document import Block, Command, Facts, Listing, Section, Table
from ...tools.layers_here import LayerStatus, here
from ...tools.ledger.split import LEDGER, STACKS
from ...tools.machine import Machine
from .mitigation_arguments import this_machine, tried_here

MOST_NAMED = 3
"""Columns that tell two factors apart, and mitigations of a factor that acts on a state."""
LONGEST_SNIPPET = 220
"""Characters."""


class EntryExplanation(NamedTuple):
    """One entry."""

    values: dict[str, Any]
    """As JSON."""

    @property
    def title(self) -> str:
        """Its name and key."""
        return f"{self.values['name']}  ({self.values['kind']} {self.values['key']})"

    @property
    def blocks(self) -> tuple[Block, ...]:
        """What it says below its name."""
        values = self.values
        own = {"mitigation": _of_a_mitigation, "state": _of_a_state}.get(values["kind"], _of_a_factor)
        column = values.get("column")
        described = (
            f"{column['name']} ({column['unit']}, layer {column['layer']}): {column['description']}" if column else ""
        )
        notes = [Section(one["title"], (one["snippet"], one["source"])) for one in values["notes"]]
        return (
            described,
            values["description"],
            *own(values),
            Section("Sources", (Facts(tuple((f"[{n}]", text) for n, text in enumerate(values["references"], 1))),)),
            Section("Notes on papers", tuple(notes)),
            f"Also meant, perhaps: {', '.join(values['also'])}." if values["also"] else "",
        )


def _of_a_factor(values: Mapping[str, Any]) -> tuple[Block, ...]:
    confused = tuple(f"{one['name']} ({one['key']}): {_apart(values['key'], one)}" for one in values["confused_with"])
    cures = [
        Section(
            f"{number}. {one['name']}  ({one['key']}, {one['scope']})  {one['sources']}".rstrip(),
            (Listing(_facts(one, when="When", hurts="It hurts", here="Here")),),
        )
        for number, one in enumerate(values["mitigations"], 1)
    ]
    return (
        _shows(values),
        f"It brings: {', '.join(values['makes'])}." if values["makes"] else "",
        Section("Easily confused with", (Listing(confused),)),
        Section("What to do, in this order", tuple(cures)),
    )


def _shows(values: Mapping[str, Any]) -> Section:
    signals = [(one["column"], one["layer"] or "-", one["here"]) for one in values["signals"]]
    return Section(
        "How it shows", (Table(("column", "layer", "here"), signals), Facts(tuple(values["not_here"].items())))
    )


def _of_a_state(values: Mapping[str, Any]) -> tuple[Block, ...]:
    acting = [(one["name"], one["key"], ", ".join(one["mitigations"])) for one in values["factors"]]
    return (
        *_facts(values, measured="How it is measured", rung="Who may measure it", next="What to look at next"),
        _shows(values),
        Section("What acts on it", (Table(("factor", "key", "first to try"), acting),)),
    )


def _apart(key: str, other: Mapping[str, Any]) -> str:
    only = ((key, other["only_this"]), (other["key"], other["only_other"]))
    tells = [f"only {name} shows in {', '.join(columns[:MOST_NAMED])}" for name, columns in only if columns]
    return "; ".join(tells) or "no column tells them apart: try the mitigations of both"


def _of_a_mitigation(values: Mapping[str, Any]) -> tuple[Block, ...]:
    """What it is for, what it does, and whether it can be tried."""
    facts = _facts(
        values,
        scope="Scope",
        when="When it helps",
        hurts="When it hurts",
        here="Here",
        against="Against",
        parameters="Parameters",
        moves="It should lower",
        shortens="It can shorten time",
    )
    return (
        *facts,
        Section("What it changes", (Command("\n".join(values["changes"])),)),
        Section("What a person does", (Listing(tuple(values["steps"])),)),
        Section("Next", (Command("\n".join(values["next"])),)),
    )


def _facts(values: Mapping[str, Any], **titles: str) -> tuple[str, ...]:
    return tuple(f"{title}: {values[key]}" for key, title in titles.items() if values[key])


def explained(found: Sequence[str], name: str, known: Knowledge, root: Path) -> EntryExplanation:
    """Explain the first of the identities that the name stands for."""
    kind, _, key = found[0].partition(":")
    machine = this_machine(known, root)
    also = [identity.partition(":")[2] for identity in found[1:]]
    if kind == "mitigation":
        return EntryExplanation(_of_mitigation(known.mitigations[key], known, machine) | {"also": also})
    if kind == "state":
        return EntryExplanation(_of_state(known.states[key], known, root) | {"also": also})
    return EntryExplanation(_of_factor(known.factors[key], name, known, machine, root) | {"also": also})


def _of_factor(factor: KnownFactor, name: str, known: Knowledge, machine: Machine, root: Path) -> dict[str, Any]:
    layers = load_layers()
    signals, why = _shown(factor.signals, layers, root)
    cures = [known.mitigations[key] for key in factor.mitigations]
    sources = _numbered([factor.references, *(cure.references for cure in cures)])
    return {
        "kind": "factor",
        "key": factor.key,
        "name": factor.name,
        "description": f"{factor.description} {_marks(factor.references, sources)}".strip(),
        "aliases": list(factor.aliases),
        "column": _column(name, factor, layers),
        "signals": signals,
        "not_here": why,
        "makes": [known.factors[key].name for key in factor.makes],
        "confused_with": [_other(factor, known.factors[key]) for key in factor.confused_with],
        "mitigations": [_cure(cure, machine, sources) for cure in cures],
        "references": list(sources),
        "notes": _notes((factor.name, *factor.aliases), factor.references),
    }


def _of_mitigation(mitigation: Mitigation, known: Knowledge, machine: Machine) -> dict[str, Any]:
    against = [factor for factor in known.factors.values() if mitigation.key in factor.mitigations]
    sources = _numbered([mitigation.references])
    tried = f"vgo-agent try {mitigation.key} -- COMMAND"
    return {
        "kind": "mitigation",
        "key": mitigation.key,
        "name": mitigation.name,
        "description": f"{mitigation.description} {_marks(mitigation.references, sources)}".strip(),
        "scope": mitigation.scope,
        "when": mitigation.when,
        "hurts": mitigation.hurts,
        "here": _here(mitigation, machine),
        "against": ", ".join(f"{factor.name} ({factor.key})" for factor in against),
        "parameters": "; ".join(map(_parameter, mitigation.parameters)),
        "moves": ", ".join(mitigation.moves),
        "shortens": ", ".join(map(state_words, known.states_of(mitigation.key))),
        "changes": _changes(mitigation, machine),
        "steps": list(mitigation.steps),
        "next": [*([tried] if mitigation.apply else []), f"vgo-agent mitigations {mitigation.key} --keep all"],
        "references": list(sources),
        "notes": _notes((mitigation.name, mitigation.key.replace("_", " ")), mitigation.references),
    }


def _of_state(state: KnownState, known: Knowledge, root: Path) -> dict[str, Any]:
    layers, booked = load_layers(), measured_as(state.key)
    own = [f"{layer}.{one.value}_ms" for layer in (STACKS, LEDGER) for one in TimeState if one in booked]
    signals, why = _shown((*(name for name in own if _listed(name, layers)[0]), *state.signals), layers, root)
    sources = _numbered([state.references])
    acting = sorted(
        (factor for factor in known.factors.values() if state.key in factor.acts_on),
        key=lambda factor: (-factor.actionable, factor.key),
    )
    return {
        "kind": "state",
        "key": state.key.value,
        "name": state.name,
        "description": f"{state.description} {_marks(state.references, sources)}".strip(),
        "measured": state.measured,
        "rung": layers[STACKS if state.key not in MEASURED or state.key in WAITS else LEDGER].cure,
        "next": state.next,
        "signals": signals,
        "not_here": why,
        "factors": [
            {"key": one.key, "name": one.name, "mitigations": list(one.mitigations[:MOST_NAMED])} for one in acting
        ],
        "references": list(sources),
        "notes": _notes((state.name, *state.aliases), state.references),
    }


def _parameter(one: MitigationParameter) -> str:
    default = f"{one.default} {one.unit}".strip()
    return f"{one.name} ({one.description.rstrip('.')}; {default} unless given)"


def _shown(
    signals: Iterable[str], layers: Mapping[str, Layer], root: Path
) -> tuple[list[dict[str, str]], dict[str, str]]:
    """Find each column's layer, and whether this machine shows it; the reasons by layer."""
    looked: dict[str, LayerStatus] = {}
    found, why = [], dict[str, str]()
    for name in signals:
        layer, column = _listed(name, layers)
        if layer is None or column is None:
            found.append({"column": name, "layer": "", "here": "yes"})
            continue
        if layer.key not in looked:
            looked[layer.key] = here(layer, root, None)
        state = looked[layer.key]
        missing = state.why.get(column.name) or state.why.get("")
        shown = "no" if missing or state.state == "no" else "yes"
        found.append({"column": name, "layer": layer.key, "here": shown})
        if missing:
            why.setdefault(layer.key, missing)
    return found, why


def _listed(name: str, layers: Mapping[str, Layer]) -> tuple[Layer | None, Column | None]:
    for layer in layers.values():
        for column in layer.columns:
            if overlap(column.name, name):
                return layer, column
    return None, None


def _column(name: str, factor: KnownFactor, layers: Mapping[str, Layer]) -> dict[str, str] | None:
    """Describe the column that was asked for, when it was one."""
    if factor.place(name) is None:
        return None
    layer, column = _listed(name.partition("=")[0], layers)
    if layer is None or column is None:
        return None
    return {"name": name, "unit": column.unit, "layer": layer.key, "description": column.description}


def _other(factor: KnownFactor, other: KnownFactor) -> dict[str, Any]:
    mine, theirs = told_apart(factor, other)
    return {"key": other.key, "name": other.name, "only_this": list(mine), "only_other": list(theirs)}


def _cure(mitigation: Mitigation, machine: Machine, sources: Mapping[str, int]) -> dict[str, str]:
    return {
        "key": mitigation.key,
        "name": mitigation.name,
        "scope": mitigation.scope,
        "when": mitigation.when,
        "hurts": mitigation.hurts,
        "here": _here(mitigation, machine),
        "sources": _marks(mitigation.references, sources),
    }


def _here(mitigation: Mitigation, machine: Machine) -> str:
    by_tool, unmet, needs = tried_here(mitigation, machine)
    program = f" with a program that {' and '.join(needs)}" if needs else ""
    if unmet:
        return "no: " + "; ".join(reason.rstrip(".") for reason in unmet)
    if not by_tool or mitigation.scope in ("reboot", "code", "hardware"):
        return f"a person does it ({mitigation.scope}){program}"
    return f"can be tried{program}" + (", with your consent" if mitigation.scope == "system" else "")


def _changes(mitigation: Mitigation, machine: Machine) -> list[str]:
    """Give the shell line that does the same, in the words of a person."""
    from ...knowledge.errors import VgoError
    from ...tools.mitigation.by_hand import command_line
    from .mitigation_arguments import nobody

    if mitigation.apply is None:
        return []
    try:
        return [command_line(mitigation, nobody(), machine)]
    except VgoError:  # what this machine lacks is said by `here`
        return []


def _numbered(lists: Iterable[tuple[Citation, ...]]) -> dict[str, int]:
    """Number the sources in the order in which they are used."""
    texts = dict.fromkeys(cited(reference) for references in lists for reference in references)
    return {text: number for number, text in enumerate(texts, start=1)}


def _marks(references: Iterable[Citation], sources: Mapping[str, int]) -> str:
    numbers = sorted({sources[cited(reference)] for reference in references})
    return f"[{', '.join(map(str, numbers))}]" if numbers else ""


def _notes(names: Sequence[str], references: Sequence[Citation]) -> list[dict[str, str]]:
    return [
        {"key": note.key, "title": note.title, "snippet": snippet(note.text, " ".join(names)), "source": note.source}
        for note in related_notes(names, references)
    ]


def snippet(text: str, question: str, length: int = LONGEST_SNIPPET) -> str:
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
