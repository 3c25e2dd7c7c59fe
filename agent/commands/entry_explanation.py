"""What `explain` says of one entry, before it is laid out."""

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
from ...layers.loader import load_layers
from ...layers.schema import Column, Layer
from ...tools.layers_here import LayerStatus, here
from ...tools.machine import Machine
from .alone import this_machine, tried_here

LONGEST_SNIPPET = 220
"""Characters."""


class Signal(NamedTuple):
    """A column that shows a factor."""

    column: str
    layer: str
    """Empty: a run says it without a layer."""
    here: str


class EntryExplanation(NamedTuple):
    """One entry."""

    values: dict[str, Any]
    """As JSON."""
    signals: Sequence[Signal]


def explained(found: Sequence[str], name: str, known: Knowledge, root: Path) -> EntryExplanation:
    """Explain the first of the identities that the name stands for."""
    kind, _, key = found[0].partition(":")
    machine = this_machine(known, root)
    also = [identity.partition(":")[2] for identity in found[1:]]
    if kind == "mitigation":
        return EntryExplanation(_of_mitigation(known.mitigations[key], known, machine) | {"also": also}, ())
    return _of_factor(known.factors[key], name, known, machine, root, also)


def _of_factor(
    factor: KnownFactor, name: str, known: Knowledge, machine: Machine, root: Path, also: list[str]
) -> EntryExplanation:
    layers = load_layers()
    signals, why = _shown(factor.signals, layers, root)
    cures = [known.mitigations[key] for key in factor.mitigations]
    sources = _numbered([factor.references, *(cure.references for cure in cures)])
    values: dict[str, Any] = {
        "kind": "factor",
        "key": factor.key,
        "name": factor.name,
        "description": f"{factor.description} {_marks(factor.references, sources)}".strip(),
        "aliases": list(factor.aliases),
        "column": _column(name, factor, layers),
        "signals": [signal._asdict() for signal in signals],
        "not_here": why,
        "makes": [known.factors[key].name for key in factor.makes],
        "confused_with": [_other(factor, known.factors[key]) for key in factor.confused_with],
        "mitigations": [_cure(cure, machine, sources) for cure in cures],
        "references": list(sources),
        "notes": _notes((factor.name, *factor.aliases), factor.references),
        "also": also,
    }
    return EntryExplanation(values, signals)


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
        "changes": _changes(mitigation, machine),
        "steps": list(mitigation.steps),
        "next": [*([tried] if mitigation.apply else []), f"vgo-agent mitigations {mitigation.key} --keep all"],
        "references": list(sources),
        "notes": _notes((mitigation.name, mitigation.key.replace("_", " ")), mitigation.references),
    }


def _parameter(one: MitigationParameter) -> str:
    default = f"{one.default} {one.unit}".strip()
    return f"{one.name} ({one.description.rstrip('.')}; {default} unless given)"


def _shown(signals: Iterable[str], layers: Mapping[str, Layer], root: Path) -> tuple[list[Signal], dict[str, str]]:
    """Find each column's layer, and whether this machine shows it; the reasons by layer."""
    looked: dict[str, LayerStatus] = {}
    found, why = [], dict[str, str]()
    for name in signals:
        layer, column = _listed(name, layers)
        if layer is None or column is None:
            found.append(Signal(name, "", "yes"))
            continue
        state = looked.setdefault(layer.key, here(layer, root, None))
        missing = state.why.get(column.name) or state.why.get("")
        found.append(Signal(name, layer.key, "no" if missing or state.state == "no" else "yes"))
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
    """Say whether it can be tried on this machine."""
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
    from .alone import nobody

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
