"""What the words of a report mean: `terms.yaml`, one definition a term, with the source of a formula."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, RootModel, StringConstraints, TypeAdapter, ValidationError

from .errors import VgoError
from .files import read_model
from .schema import Citation
from .shape import Frozen, Key

FILE = "terms.yaml"


class Term(Frozen):
    """One word of the tool."""

    key: Key
    names: tuple[str, ...]
    """As people write it; the first is what it is called."""
    text: str
    """What it means here, in whole sentences."""
    formula: str = ""
    references: tuple[Citation, ...] = ()


class Terms(RootModel[tuple[Term, ...]]):
    """All of them, as they stand in the file."""


@lru_cache(maxsize=2)
def read_terms(folder: Path) -> tuple[Term, ...]:
    """Give all terms; none where there is no file. VgoError when it is broken."""
    path = folder / FILE
    return read_model(path, Terms).root if path.exists() else ()


def term_problems(folder: Path, taken: Collection[str] = ()) -> list[str]:
    """List what is wrong with the file, one sentence each; `taken` are the names of factors and mitigations."""
    read_terms.cache_clear()
    try:
        terms = read_terms(folder)
    except VgoError as error:
        return [str(error)]
    return [f"{folder / FILE}: {text}" for text in (*_each(terms), *_names(terms, taken))]


def spelt(name: str) -> str:
    """Give the words of a name in lower case, a blank between two, signs left out."""
    return " ".join(re.findall(r"[a-z0-9_]+", name.lower()))


def _each(terms: tuple[Term, ...]) -> Iterator[str]:
    for term in terms:
        if not any(map(spelt, term.names)):
            yield f"{term.key} has no name. Give names, the first as an answer calls it."
        if not term.text.endswith("."):
            yield f"{term.key}: its text does not end with a full stop. Write whole sentences."
        if term.formula and not term.references:
            yield f"{term.key} has a formula and no source. Add it to references."


def _names(terms: tuple[Term, ...], taken: Collection[str]) -> Iterator[str]:
    others = {spelt(name) for name in taken}
    owners: dict[str, str] = {}
    keys: set[str] = set()
    for term in terms:
        if term.key in keys:
            yield f"{term.key} stands twice. Keep one."
        keys.add(term.key)
        for name in sorted({spelt(name) for name in term.names}):
            if name in others:
                yield f"{term.key}: {name} is the name of a factor or mitigation. Leave it out here."
            if owners.setdefault(name, term.key) != term.key:
                yield f"{term.key}: {name} is a name of {owners[name]} already. Keep one."


Thought = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, min_length=1)]
SHAPE = TypeAdapter(dict[str, Annotated[list[Thought], Field(min_length=1)]])
WORDING_FILE = "wording.yaml"


def read_wording(folder: Path, identities: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Give the thoughts by the identity of the entry; none where there is no file. VgoError when it is broken."""
    path = folder / WORDING_FILE
    if not path.exists():
        return {}
    said, _ = _read(path)
    entries = {identity.partition(":")[2]: identity for identity in sorted(identities, reverse=True)}
    for problem in wording_problems(folder, entries):
        raise VgoError(problem)
    return {entries[key]: tuple(thoughts) for key, thoughts in said.items()}


def wording_problems(folder: Path, keys: Collection[str]) -> list[str]:
    """List what is wrong with the file, one sentence each; `keys` are those of all factors and mitigations."""
    path = folder / WORDING_FILE
    if not path.exists():
        return []
    try:
        said, lines = _read(path)
    except VgoError as error:
        return [str(error)]
    unknown = [
        f"{path}, line {line}: {key} is neither a factor nor a mitigation. Correct the key or remove it."
        for line, key in lines
        if key not in keys
    ]
    first = {key: line for line, key in reversed(lines)}
    twice = [
        f"{path}, line {line}: {key} stands in line {first[key]} already. Keep one."
        for line, key in lines
        if line > first[key]
    ]
    again = [
        f"{path}, line {first[key]}: {key} says twice: {thought}. Keep one."
        for key, thoughts in said.items()
        for thought in sorted({thought for thought in thoughts if thoughts.count(thought) > 1})
    ]
    return [*unknown, *twice, *again]


def _read(path: Path) -> tuple[dict[str, list[str]], list[tuple[int, str]]]:
    """Give the thoughts by key, and each key with its line, from 1."""
    try:
        text = path.read_text(encoding="utf-8")
        said = SHAPE.validate_python(yaml.load(text, Loader=yaml.CSafeLoader))
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise VgoError(f"{path}: cannot be read ({' '.join(str(error).split())}). Restore the file.") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise VgoError(f"{path}: {where}: {first['msg']}. Write `key:` and below it a list of texts.") from error
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    return said, [(key.start_mark.line + 1, key.value) for key, _ in pairs]
