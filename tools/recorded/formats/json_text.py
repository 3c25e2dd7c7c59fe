"""What the JSON formats share: telling them apart, checking them, flattening what describes the system."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ....knowledge.errors import VgoError
from ....knowledge.user_files import parsed_json
from ....knowledge.wrong import first
from ..source import TableSource

Shape = TypeVar("Shape", bound=BaseModel)
_START = re.compile(rb'\s*(\{\s*["}]|\[\s*[\[{"\d\]])')


def is_json(source: TableSource) -> bool:
    """Tell JSON by how it starts; a table may start with a bracket too, hence the second mark."""
    return bool(_START.match(source.head))


def looks_like(source: TableSource, *keys: str) -> bool:
    """Tell whether a file is a JSON object with one of these keys near its start."""
    return is_json(source) and any(f'"{key}"'.encode() in source.head for key in keys)


def load(source: TableSource, shape: type[Shape], tool: str) -> Shape:
    """Read a JSON file of a known tool; what is wrong with it is named by place."""
    try:
        return shape.model_validate(parsed_json(source.text()))
    except json.JSONDecodeError as error:
        raise _broken(source, error) from error
    except ValidationError as error:
        raise VgoError(f"{source.given} is no file of {tool}: {first(error)}, or export it again.") from error


def refuse_broken(source: TableSource) -> None:
    """Refuse JSON that does not parse; several values in one file, as in JSON lines, are whole."""
    try:
        parsed_json(source.text())
    except json.JSONDecodeError as error:
        if not error.msg.startswith("Extra data"):
            raise _broken(source, error) from error


def _broken(source: TableSource, error: json.JSONDecodeError) -> VgoError:
    return VgoError(
        f"{source.given}, line {error.lineno}: {error.msg}: the JSON is cut short or damaged; export it again."
    )


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Flatten nested objects into dotted keys and texts; lists of plain values become one text."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}.")
        elif isinstance(value, list):
            yield f"{prefix}{key}", " ".join(map(str, value))
        else:
            yield f"{prefix}{key}", str(value)
