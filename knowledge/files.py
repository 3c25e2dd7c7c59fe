"""Read one YAML file, or one into its model; what is wrong in it is said with file, line and cure."""

from __future__ import annotations

import contextlib
import json
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from .errors import VgoError
from .schema import Entry

_MAPPING = "is no mapping; write `key: value` lines below it"
_LIST = "is no list; write one, such as [a, b]"
_NUMBER = "is no number; write one"
_WHOLE = "is no whole number; write one"
_TRUTH = "is neither true nor false; write one of them"
_CHOICE = "is none of those that it may be; write {expected}"
PLAIN = {
    "tuple_type": _LIST,
    "list_type": _LIST,
    "model_type": _MAPPING,
    "dict_type": _MAPPING,
    "model_attributes_type": _MAPPING,
    "string_type": "is no text; put it in quotes",
    "bool_type": _TRUTH,
    "bool_parsing": _TRUTH,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_parsing_size": _WHOLE,
    "int_from_float": _WHOLE,
    "finite_number": "is no finite number; write one",
    "greater_than": "has to be above {gt}; mend it",
    "greater_than_equal": "has to be at least {ge}; mend it",
    "less_than": "has to be below {lt}; mend it",
    "less_than_equal": "has to be at most {le}; mend it",
    "too_short": "has too few entries; give at least {min_length}",
    "too_long": "has too many entries; give at most {max_length}",
    "string_too_short": "is too short; give at least {min_length} letters",
    "string_too_long": "is too long; give at most {max_length} letters",
    "string_pattern_mismatch": "has not the form {pattern}; mend it",
    "literal_error": _CHOICE,
    "enum": _CHOICE,
    "union_tag_invalid": "is none of those that it may be; write one of {expected_tags}",
    "union_tag_not_found": "does not say which kind it is; add {discriminator}",
    "extra_forbidden": "is not a known key; mend its spelling or take it out",
    "missing": "is missing; add it",
    "json_invalid": "is no JSON, or a part of one ({error}); restore it",
}
"""Kind of an error to the words that follow the name of the place, with the cure."""


class Problem(NamedTuple):
    """Something to mend."""

    place: tuple[int | str, ...]
    """Keys and indices that lead to it."""
    what: str

    @property
    def where(self) -> str:
        """Name the place."""
        return ".".join(map(str, self.place)) or "the file"

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def first(error: ValidationError) -> Problem:
    """Give the one to mend first: a misspelt key is both unknown and missing."""
    one = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    return Problem(one["loc"], words(one))


def words(one: ErrorDetails) -> str:
    """Say what is wrong and what mends it."""
    if plain := PLAIN.get(one["type"]):
        return plain.format(**one.get("ctx", {}))
    return f"{one['msg'].removeprefix('Value error, ').replace('Input should', 'it should')}; mend it"


TOO_DEEP, DEEPEST = "it is nested too deeply", 500
"""Levels; the YAML reader in C has one of its own calls a level, and no limit but its stack."""


def regular(path: Path) -> Path:
    """Refuse a pipe or a device, which would be waited for, or be empty at the second look; a missing file passes."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return path
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise VgoError(f"{path} is a pipe or a device, and not a file: save what it gives, as in `cat {path} > FILE`.")
    return path


def parsed_json(text: str | bytes) -> Any:
    """Parse JSON; raises ValueError, also where it is nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise json.JSONDecodeError(TOO_DEEP, "", 0) from None


def parsed_yaml(text: str) -> Any:
    """Parse YAML; raises yaml.YAMLError, also where it is nested too deeply, or a date or a number cannot be."""
    if _depth_at_most(text) > DEEPEST and _depth(text) > DEEPEST:
        raise yaml.YAMLError(TOO_DEEP)
    try:
        return yaml.load(text, Loader=yaml.CSafeLoader)
    except RecursionError:
        raise yaml.YAMLError(TOO_DEEP) from None
    except ValueError as error:  # 2026-13-45, or more digits than Python reads
        raise yaml.YAMLError(f"a date or a number in it cannot be read: {error}") from None


def _depth_at_most(text: str) -> int:
    """Bound the levels without parsing: what opens in a line, and what a line is indented by."""
    indented = (len(line) - len(line.lstrip(" -?:")) for line in text.splitlines())
    return text.count("[") + text.count("{") + max(indented, default=0)


def _depth(text: str) -> int:
    """Count the levels, by events; up to the place where it is no YAML."""
    now = deepest = 0
    with contextlib.suppress(yaml.YAMLError):
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            now += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            deepest = max(deepest, now)
    return deepest


DocumentPath = tuple[int | str, ...]
"""Steps from the top of a YAML file to a value in it."""


@dataclass(frozen=True)
class YamlDocument:
    """One YAML file."""

    path: Path
    text: str
    content: Any

    @cached_property
    def node(self) -> yaml.Node | None:
        """The tree with its lines, parsed where it is asked for."""
        return yaml.compose(self.text, Loader=yaml.CSafeLoader)

    def sentence(self, problem: Problem) -> str:
        """Say one problem."""
        return f"{self.path}, line {line_of(self.node, problem.place)}: {problem}."


def read_document(path: Path) -> YamlDocument:
    """Read one file; raise VgoError for what is no YAML."""
    try:
        text = regular(path).read_text(encoding="utf-8")
        return YamlDocument(path, text, parsed_yaml(text))
    except OSError as error:
        raise VgoError(f"{path}: cannot be read ({error.strerror}): name another file, or restore it.") from error
    except UnicodeDecodeError as error:
        raise VgoError(f"{path}: cannot be read as UTF-8 text ({error}): name another file, or restore it.") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        what = getattr(error, "problem", None) or error
        cure = "put the text after the key in quotes" if "mapping values" in str(what) else "mend the YAML there"
        line = f", line {mark.line + 1}" if mark else ""
        raise VgoError(f"{path}{line}: not YAML ({what}): {cure}.") from error


def wrong(error: ValidationError, shape_at: Callable[[DocumentPath], type[BaseModel]]) -> Iterator[Problem]:
    """Name unknown keys first: a misspelt key is both unknown and missing."""
    for one in sorted(error.errors(), key=lambda one: one["type"] != "extra_forbidden"):
        keys = (field.alias or name for name, field in shape_at(one["loc"]).model_fields.items())
        unknown = f"is not a known key; use one of these: {', '.join(keys)}"
        yield Problem(one["loc"], unknown if one["type"] == "extra_forbidden" else words(one))


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


def last_holding(documents: Sequence[YamlDocument], place: DocumentPath) -> YamlDocument:
    """Return the last file that has a value at a place, else the last of all: what comes later replaces."""

    def holds(value: Any) -> bool:
        for step in place:
            if not isinstance(value, Mapping) or step not in value:
                return False
            value = value[step]
        return True

    return next((one for one in reversed(documents) if holds(one.content)), documents[-1])


M = TypeVar("M", bound=BaseModel)
E = TypeVar("E", bound=Entry)


def read_entry(path: Path, model: type[E]) -> E:
    """Read an entry of the knowledge base, whose key is the name of its file."""
    entry = read_model(path, model)
    if entry.key != path.stem:
        line = line_of(read_document(path).node, ["key"])
        raise VgoError(f"{path}, line {line}: its key is {entry.key}. Give file and key the same name.")
    return entry


def read_model(path: Path, model: type[M]) -> M:
    """Parse and validate any YAML file, which JSON is too; raise VgoError naming the line."""
    document = read_document(path)
    try:
        return model.model_validate(document.content)
    except ValidationError as error:
        place, what = first(error)
        known = f" (known at the top are: {', '.join(model.model_fields)})" if "not a known key" in what else ""
        raise VgoError(document.sentence(Problem(place, f"{what}{known}"))) from error


def duplicate_keys(path: Path, within: str = "") -> list[str]:
    """Name keys that stand twice, at the top or in the mapping `within`: YAML would silently keep the last."""
    root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    if within and isinstance(root, yaml.MappingNode):
        root = next((value for key, value in root.value if key.value == within), None)
    if not isinstance(root, yaml.MappingNode):
        return []
    keys = [key.value for key, _ in root.value]
    return sorted({key for key in keys if keys.count(key) > 1})


def line_of(node: yaml.Node | None, place: Sequence[int | str]) -> int:
    """Give the line, from 1, of a key or an entry of a list, or of the nearest thing around it that the file has.

    Of a key that stands twice the last counts.
    """
    line = node.start_mark.line + 1 if node else 1
    for part in place:
        if isinstance(node, yaml.MappingNode):
            found = next((pair for pair in reversed(node.value) if pair[0].value == part), None)
            if found is None:
                break
            line, node = found[0].start_mark.line + 1, found[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
        else:
            break
    return line
