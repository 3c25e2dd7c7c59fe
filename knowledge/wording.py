"""What people say of an entry who do not know its name: `wording.yaml`, searched beside the entry itself."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, StringConstraints, TypeAdapter, ValidationError

from .errors import VgoError

Thought = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, min_length=1)]
SHAPE = TypeAdapter(dict[str, Annotated[list[Thought], Field(min_length=1)]])
FILE = "wording.yaml"


def read_wording(folder: Path, identities: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Give the thoughts by the identity of the entry; none where there is no file. VgoError when it is broken."""
    path = folder / FILE
    if not path.exists():
        return {}
    said, _ = _read(path)
    entries = {identity.partition(":")[2]: identity for identity in sorted(identities, reverse=True)}
    for problem in wording_problems(folder, entries):
        raise VgoError(problem)
    return {entries[key]: tuple(thoughts) for key, thoughts in said.items()}


def wording_problems(folder: Path, keys: Collection[str]) -> list[str]:
    """List what is wrong with the file, one sentence each; `keys` are those of all factors and mitigations."""
    path = folder / FILE
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
