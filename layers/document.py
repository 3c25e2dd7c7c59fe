"""One YAML file with its lines, and what is wrong in it in plain words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import BaseModel, ValidationError

from ..knowledge.errors import VgoError
from ..knowledge.files import Problem, parsed_yaml, regular, words

DocumentPath = tuple[int | str, ...]
"""Steps from the top of a YAML file to a value in it."""


class YamlDocument(NamedTuple):
    """One YAML file."""

    path: Path
    node: yaml.Node | None
    content: Any

    def sentence(self, problem: Problem) -> str:
        """Say one problem."""
        return f"{self.path}, line {line_of(self.node, problem.place)}: {problem}."


def read_document(path: Path) -> YamlDocument:
    """Read one file; raise VgoError for what is no YAML."""
    try:
        text = regular(path).read_text(encoding="utf-8")
        content = parsed_yaml(text)
        return YamlDocument(path, yaml.compose(text, Loader=yaml.CSafeLoader), content)
    except (OSError, UnicodeDecodeError) as error:
        raise VgoError(f"{path} cannot be read as UTF-8 text ({error}): name another file.") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or "it is not YAML"
        cure = "put the text after the key in quotes" if "mapping values" in what else "mend the YAML there"
        raise VgoError(f"{path}, line {mark.line + 1 if mark else 1}: {what}: {cure}.") from error


def wrong(error: ValidationError, shape_at: Callable[[DocumentPath], type[BaseModel]]) -> Iterator[Problem]:
    """Name unknown keys first: a misspelt key is both unknown and missing."""
    for one in sorted(error.errors(), key=lambda one: one["type"] != "extra_forbidden"):
        what = unknown(shape_at(one["loc"])) if one["type"] == "extra_forbidden" else words(one)
        yield Problem(one["loc"], what)


def unknown(shape: type[BaseModel]) -> str:
    """Say which keys there are."""
    known = ", ".join(field.alias or name for name, field in shape.model_fields.items())
    return f"is not a known key; use one of these: {known}"


def twice(node: yaml.Node | None, place: DocumentPath = ()) -> Iterator[Problem]:
    """Find keys that stand twice: YAML silently keeps the last."""
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            if key.value in seen:
                yield Problem((*place, key.value), "the key stands twice; keep one")
            seen.add(key.value)
            yield from twice(value, (*place, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from twice(value, (*place, index))


def line_of(node: yaml.Node | None, place: DocumentPath) -> int:
    """Return the line of a value, or of the nearest thing around it that the file has."""
    line = 1
    for step in (*place, None):
        if node is None:
            break
        line = node.start_mark.line + 1
        node = _child(node, step)
    return line


def holds(node: yaml.Node | None, place: DocumentPath) -> bool:
    """Tell whether a file has a value at a place."""
    for step in place:
        node = node and _child(node, step)
    return node is not None


def last_holding(documents: Sequence[YamlDocument], place: DocumentPath) -> YamlDocument:
    """Return the last file that has a value at a place, else the last of all: what comes later replaces."""
    return next((one for one in reversed(documents) if holds(one.node, place)), documents[-1])


def _child(node: yaml.Node, step: int | str | None) -> yaml.Node | None:
    """Go one step down the tree of a YAML file; of a key that stands twice the last counts."""
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in reversed(node.value) if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        found: yaml.Node = node.value[step]
        return found
    return None
