"""Read one YAML file into its model; what is wrong in it is said with file, line and cure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from .errors import VgoError
from .schema import Entry
from .user_files import parsed_yaml, regular
from .wrong import first

M = TypeVar("M", bound=BaseModel)
E = TypeVar("E", bound=Entry)


def read_entry(path: Path, model: type[E]) -> E:
    """Read an entry of the knowledge base, whose key is the name of its file."""
    entry = read_model(path, model)
    if entry.key != path.stem:
        line = _line(path.read_text(encoding="utf-8"), ["key"])
        raise VgoError(f"{path}, line {line}: its key is {entry.key}. Give file and key the same name.")
    return entry


def read_model(path: Path, model: type[M]) -> M:
    """Parse and validate any YAML file, which JSON is too; raise VgoError naming the line."""
    try:
        text = regular(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise VgoError(f"{path}: cannot be read as UTF-8 text ({error}). Restore the file.") from error
    try:
        return model.model_validate(parsed_yaml(text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise VgoError(f"{path}, line {line}: not YAML ({error.problem}). Correct that line.") from error
    except yaml.YAMLError as error:
        raise VgoError(f"{path}: not YAML ({error}). Mend what it names.") from error
    except ValidationError as error:
        raise VgoError(_explain(path, text, error, model)) from error


def duplicate_keys(path: Path, within: str = "") -> list[str]:
    """Name keys that stand twice, at the top or in the mapping `within`: YAML would silently keep the last."""
    root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    if within and isinstance(root, yaml.MappingNode):
        root = next((value for key, value in root.value if key.value == within), None)
    if not isinstance(root, yaml.MappingNode):
        return []
    keys = [key.value for key, _ in root.value]
    return sorted({key for key in keys if keys.count(key) > 1})


def _explain(path: Path, text: str, error: ValidationError, model: type[BaseModel]) -> str:
    wrong = first(error)
    known = f" (known at the top are: {', '.join(model.model_fields)})" if "not a known key" in wrong.what else ""
    return f"{path}, line {_line(text, wrong.place)}: {wrong}{known}."


def _line(text: str, place: Sequence[int | str]) -> int:
    """Follow a validation error's path down the YAML nodes as far as it goes; lines count from 1."""
    node = yaml.compose(text, Loader=yaml.CSafeLoader)
    line = 1
    for part in place:
        if isinstance(node, yaml.MappingNode):
            found = [(key, value) for key, value in node.value if key.value == part]
            if not found:
                break
            line, node = found[0][0].start_mark.line + 1, found[0][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
        else:
            break
    return line
