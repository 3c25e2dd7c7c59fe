"""A menu as a grammar in GBNF, and the strict reading of what was written under it.

The grammar has no repetition and no free text, so it describes finitely many texts, all of them legal calls. It comes
in two notations. Any model writes JSON, without white space, arguments in the order of the schema:
`{"tool":"compare","args":{"call":"c007"}}`. A model that was trained for it writes *places*: the tool, and the place
of each choice on the menu, as `compare 0`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...tools.case import Slot
from .base import Choice, Menu


class NotOnMenu(Exception):
    """What was written is no call on the menu."""


class Notation(NamedTuple):
    """How a call is written."""

    head: Callable[[str], str]
    """Begins a call of a tool."""
    filled: Callable[[int, Slot, int], str]
    """Fills the n-th slot with the choice at a place."""
    tail: str


def _named(nth: int, slot: Slot, place: int) -> str:
    named = zip(slot.names, slot.choices[place], strict=True)
    return ("," if nth else "") + ",".join(f"{_json(name)}:{_json(value)}" for name, value in named)


JSON = Notation(lambda tool: f'{{"tool":{_json(tool)},"args":{{', _named, "}}")
"""For any model."""
PLACES = Notation(str, lambda nth, slot, place: f" {place}", "")
"""For a model trained for it; it names nothing, so that what is known may change."""


def grammar(listed: Menu, notation: Notation = JSON) -> str:
    """Write the menu in GBNF; the start symbol is `root`."""
    rules = [f"root ::= {' | '.join(_symbol(tool) for tool in listed)}"]
    for tool, slots in listed.items():
        named = [f"{_symbol(tool)}-{nth}" for nth in range(len(slots))]
        for name, ways in zip(named, _ways(slots, notation), strict=True):
            rules.append(f"{name} ::= {' | '.join(map(_literal, ways))}")
        closed = [_literal(notation.tail)] if notation.tail else []
        rules.append(f"{_symbol(tool)} ::= {' '.join([_literal(notation.head(tool)), *named, *closed])}")
    return "\n".join(rules) + "\n"


def longest(listed: Menu, notation: Notation = JSON) -> int:
    """Count the bytes of the longest text: no tokeniser needs more tokens than that."""
    return max(
        len((notation.head(tool) + "".join(max(ways, key=len) for ways in _ways(slots, notation))).encode())
        + len(notation.tail)
        for tool, slots in listed.items()
    )


def write(tool: str, slots: Sequence[Slot], places: Sequence[int], notation: Notation = JSON) -> str:
    """Write one call as the grammar has it, from the places of its choices."""
    filled = (notation.filled(nth, slot, place) for nth, (slot, place) in enumerate(zip(slots, places, strict=True)))
    return "".join((notation.head(tool), *filled, notation.tail))


def read(text: str, listed: Menu, why: str, notation: Notation = JSON) -> Choice:
    """Read a call strictly; raises NotOnMenu for anything that the grammar would not have written."""
    for tool, slots in listed.items():
        if (rest := text.removeprefix(notation.head(tool))) == text:
            continue
        arguments: dict[str, Any] = {}
        for slot, ways in zip(slots, _ways(slots, notation), strict=True):
            fitting = [place for place, way in enumerate(ways) if rest.startswith(way)]
            if not fitting:
                break
            place = max(fitting, key=lambda place: len(ways[place]))
            rest = rest[len(ways[place]) :]
            arguments |= zip(slot.names, slot.choices[place], strict=True)
        else:
            if rest == notation.tail:
                return Choice(tool, arguments, why)
    raise NotOnMenu("what it wrote is not on the menu")


def schema(listed: Menu) -> dict[str, Any]:
    """Write the menu as a JSON schema, for servers that know no GBNF."""
    return {"anyOf": [_schema_of(tool, slots) for tool, slots in listed.items()]}


def _schema_of(tool: str, slots: Sequence[Slot]) -> dict[str, Any]:
    """A slot of several names allows more here than on the menu: what is read decides."""
    named = {
        name: {"enum": list({_json(values[nth]): values[nth] for values in slot.choices}.values())}
        for slot in slots
        for nth, name in enumerate(slot.names)
    }
    closed = {"type": "object", "additionalProperties": False}
    arguments = {**closed, "properties": named, "required": list(named)}
    return {**closed, "properties": {"tool": {"const": tool}, "args": arguments}, "required": ["tool", "args"]}


def _ways(slots: Sequence[Slot], notation: Notation) -> list[list[str]]:
    return [[notation.filled(nth, slot, place) for place in range(len(slot.choices))] for nth, slot in enumerate(slots)]


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _symbol(tool: str) -> str:
    return tool.replace("_", "-")


def _literal(text: str) -> str:
    """Quote for GBNF; JSON has left printable ASCII only."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
