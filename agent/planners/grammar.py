"""A menu as a grammar in GBNF, and the strict reading of what was written under it.

The grammar has no repetition and no free text, so it describes finitely many texts, all of them legal calls:
`{"tool":"compare","args":{"call":"c007"}}`, without white space, arguments in the order of the schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from .base import Choice
from .menu import Menu, Slot


class NotOnMenu(Exception):
    """What was written is no call on the menu."""


def grammar(listed: Menu) -> str:
    """Write the menu in GBNF; the start symbol is `root`."""
    rules = [f"root ::= {' | '.join(_symbol(tool) for tool in listed)}"]
    for tool, slots in listed.items():
        parts = [_literal(f'{{"tool":{_json(tool)},"args":{{')]
        for place, slot in enumerate(slots):
            parts += [_literal(",")] if place else []
            parts.append(f"{_symbol(tool)}-{place}")
            rules.append(f"{parts[-1]} ::= {' | '.join(_literal(text) for text in _texts(slot))}")
        rules.append(f"{_symbol(tool)} ::= {' '.join([*parts, _literal('}}')])}")
    return "\n".join(rules) + "\n"


def longest(listed: Menu) -> int:
    """Count the bytes of the longest text: no tokeniser needs more tokens than that."""
    return max(
        len(_written(tool, [max(_texts(slot), key=lambda text: len(text.encode())) for slot in slots]).encode())
        for tool, slots in listed.items()
    )


def write(tool: str, filled: Sequence[tuple[Slot, tuple[Any, ...]]]) -> str:
    """Write one call as the grammar has it, from slots and what was chosen for each."""
    return _written(tool, [_text(slot, values) for slot, values in filled])


def read(text: str, listed: Menu, why: str) -> Choice:
    """Read a call strictly; raises NotOnMenu for anything that the grammar would not have written."""
    try:
        said = json.loads(text)
        tool, arguments = said["tool"], said["args"]
        slots = listed[tool]
        filled = [(slot, tuple(arguments[name] for name in slot.names)) for slot in slots]
    except (ValueError, KeyError, TypeError) as error:
        raise NotOnMenu(f"not a call: {text[:80]!r}") from error
    if any(values not in slot.choices for slot, values in filled) or write(tool, filled) != text:
        raise NotOnMenu(f"not on the menu: {text[:80]!r}")
    return Choice(tool, arguments, why)


def _written(tool: str, texts: list[str]) -> str:
    return f'{{"tool":{_json(tool)},"args":{{{",".join(texts)}}}}}'


def _texts(slot: Slot) -> Iterator[str]:
    return (_text(slot, values) for values in slot.choices)


def _text(slot: Slot, values: tuple[Any, ...]) -> str:
    return ",".join(f"{_json(name)}:{_json(value)}" for name, value in zip(slot.names, values, strict=True))


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _symbol(tool: str) -> str:
    return tool.replace("_", "-")


def _literal(text: str) -> str:
    """Quote for GBNF; JSON has left printable ASCII only."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
