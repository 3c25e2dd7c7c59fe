"""Read one layer file; what is wrong in it is said with file, line and cure."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from pydantic import BaseModel, ValidationError

from ..knowledge.errors import VgoError
from ..knowledge.wrong import Problem
from .document import Document, DocumentPath, line_of, read_document, twice, wrong
from .schema import Column, Extract, Layer
from .sharp import is_sharp, read_sharp
from .soundness import unsound
from .trust import shipped


def read_layer(path: Path, backend: str = "") -> Layer:
    """Read one file, of SHARP's files the backend of that name; its first problem raises VgoError.

    What ships is read once a process: a diagnosis asks for all of it at each call of a tool.
    """
    found = _read_once(path, backend) if shipped(path) else read_all(path, backend)
    if isinstance(found, Layer):
        return found
    raise VgoError(found[0])


def read_all(path: Path, backend: str = "") -> Layer | list[str]:
    """Read one file, or say everything that is wrong with it, one sentence each."""
    try:
        document = read_document(path)
        if is_sharp(document.content):
            return _placed(read_sharp(document, backend), document)
    except VgoError as error:
        return [str(error)]
    return _ours(document)


_read_once = cache(read_all)


def _ours(document: Document) -> Layer | list[str]:
    found: list[Problem]
    try:
        layer = Layer.model_validate(document.content)
        found = [*twice(document.node), *unsound(layer, document.path.stem)]
    except ValidationError as error:
        found = list(wrong(error, shape_at))
    return [document.sentence(problem) for problem in found] or _placed(layer, document)


def _placed(layer: Layer, document: Document) -> Layer:
    """Tell a layer where its columns stand, and a user's own where its command does, for what goes wrong in a run."""
    metrics = document.content.get("metrics", {}) if is_sharp(document.content) else {}
    named: dict[str, DocumentPath] = {
        f"{document.path.name} metrics.{name}": ("metrics", name) for name in metrics or {}
    }
    places = [named.get(column.source, ("columns", index)) for index, column in enumerate(layer.columns)]
    file = document.path.name if shipped(document.path) else document.path
    lines = tuple(f"{file}, line {line_of(document.node, place)}" for place in places)
    place: DocumentPath = ("run",) if layer.run else ()
    return layer.at("" if shipped(document.path) else f"{file}, line {line_of(document.node, place)}", lines)


def shape_at(place: DocumentPath) -> type[BaseModel]:
    """Name the model whose keys may stand at a place."""
    return Extract if "extract" in place[:-1] else Column if "columns" in place[:-1] else Layer
