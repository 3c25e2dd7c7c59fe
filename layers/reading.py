"""Read one layer file; what is wrong in it is said with file, line and cure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..knowledge.errors import VgoError
from .schema import Column, Extract, Layer
from .sharp import is_sharp, read_sharp
from .soundness import Problem, unsound

Place = tuple[int | str, ...]
"""Steps from the top of a YAML file to a value in it."""


def read_layer(path: Path, backend: str = "") -> Layer:
    """Read one file, of SHARP's files the backend of that name; its first problem raises VgoError."""
    found = read_all(path, backend)
    if isinstance(found, Layer):
        return found
    raise VgoError(found[0])


def read_all(path: Path, backend: str = "") -> Layer | list[str]:
    """Read one file, or say everything that is wrong with it, one sentence each."""
    try:
        text = path.read_text(encoding="utf-8")
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
        content = yaml.load(text, Loader=yaml.CSafeLoader)
    except (OSError, UnicodeDecodeError) as error:
        return [f"{path} cannot be read as UTF-8 text ({error}): name another file."]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or "it is not YAML"
        return [f"{path}, line {mark.line + 1 if mark else 1}: {what}: mend the YAML there."]
    try:
        if is_sharp(content):
            return read_sharp(path, content, backend)
        layer = Layer.model_validate(content)
    except ValidationError as error:
        return [sentence(path, node, problem) for problem in _wrong(error)]
    except VgoError as error:
        return [str(error)]
    found = [*_twice(node), *unsound(layer, path.stem)]
    return [sentence(path, node, problem) for problem in found] or layer


def sentence(path: Path, node: yaml.Node | None, problem: Problem) -> str:
    """Say one problem."""
    where = ".".join(map(str, problem.place)) or "the file"
    return f"{path}, line {line_of(node, problem.place)}: {where}: {problem.what}."


def _wrong(error: ValidationError) -> Iterator[Problem]:
    """Name unknown keys first: a misspelt key is both unknown and missing."""
    for one in sorted(error.errors(), key=lambda one: one["type"] != "extra_forbidden"):
        yield Problem(one["loc"], _words(one))


def _words(one: ErrorDetails) -> str:
    if one["type"] == "extra_forbidden":
        shape = shape_at(one["loc"])
        known = ", ".join(field.alias or name for name, field in shape.model_fields.items())
        return f"is not a known key; use one of these: {known}"
    if one["type"] == "missing":
        return f"{one['msg']}; add it"
    return f"{one['msg'].removeprefix('Value error, ')}; mend it"


def shape_at(place: Place) -> type[BaseModel]:
    """Name the model whose keys may stand at a place."""
    return Extract if "extract" in place[:-1] else Column if "columns" in place[:-1] else Layer


def _twice(node: yaml.Node | None, place: Place = ()) -> Iterator[Problem]:
    """Find keys that stand twice: YAML silently keeps the last."""
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            if key.value in seen:
                yield Problem((*place, key.value), "the key stands twice; keep one")
            seen.add(key.value)
            yield from _twice(value, (*place, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _twice(value, (*place, index))


def line_of(node: yaml.Node | None, place: Place) -> int:
    """Return the line of a value, or of the nearest thing around it that the file has."""
    line = 1
    for step in (*place, None):
        if node is None:
            break
        line = node.start_mark.line + 1
        node = _child(node, step)
    return line


def _child(node: yaml.Node, step: int | str | None) -> yaml.Node | None:
    """Go one step down the tree of a YAML file."""
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        found: yaml.Node = node.value[step]
        return found
    return None
