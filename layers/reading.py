"""Read one layer file; what is wrong in it is said with file, line and cure.

Which files may run commands: those that ship, and those that the user trusted, as they then were.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from platformdirs import user_state_path
from pydantic import ValidationError

from ..knowledge.errors import VgoError
from ..knowledge.files import DocumentPath, Problem, YamlDocument, line_of, read_document, twice, wrong
from .schema import Column, Extract, Layer
from .sharp import is_sharp, read_sharp
from .wrapper import LAUNCHING, NAMES, WHOLE, own_names

SHIPPED = Path(__file__).resolve().parent


def refuse_untrusted(layer: Layer, files: Sequence[Path]) -> None:
    """Raise VgoError, showing each command, unless its files (the layer and what it includes) ship or are trusted."""
    if shipped(files[0]) or not commands(layer) or is_trusted(files):
        return
    shown = "; ".join(commands(layer))
    raise VgoError(
        f"The layer {files[0]} is not trusted to run commands on this machine, and it would run: {shown} - "
        f"read the file, then allow it with `vgo-agent layers --trust {files[0]}`."
    )


def shipped(path: Path) -> bool:
    """Tell whether a file came with vgo-agent."""
    return path.resolve().is_relative_to(SHIPPED)


def commands(layer: Layer) -> list[str]:
    """List what a layer runs or loads: its wrapper, its shell filters, its variables (LD_PRELOAD loads code too).

    A built-in probe may load what its parameters and columns tell it to: a library, a program for the kernel.
    """
    found = [f"{name}: {words}" for name, words in (("run", layer.run), ("hosts", layer.hosts)) if words]
    found += [f"asks: {words}" for words in layer.asks]
    told = [f"{name}={value}" for name, value in layer.parameters.items()]
    told += [column.read for column in layer.columns if column.read]
    found += [f"probe: {layer.probe} with {', '.join(told)}"] if layer.probe and told else []
    found += [f"{name}={value}" for name, value in layer.environment.items()]
    filters = [column.extract.shell for column in layer.columns if column.extract and column.extract.shell]
    return found + [f"shell: {filter_}" for filter_ in dict.fromkeys(filters)]


def is_trusted(files: Sequence[Path]) -> bool:
    """Tell whether the files are, byte for byte, those that the user trusted."""
    return _trusted().get(str(files[0].resolve())) == digest(files)


def trust(files: Sequence[Path]) -> Path:
    """Trust the files as they are now; return where that is kept."""
    known = _trusted() | {str(files[0].resolve()): digest(files)}
    path = store()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
            json.dump(known, file, indent=2)
        os.replace(file.name, path)
    except OSError as error:
        raise VgoError(
            f"{path} cannot be written ({error.strerror}): make it writable or set XDG_STATE_HOME."
        ) from error
    return path


def store() -> Path:
    """Where the SHA-256 of each trusted file is kept."""
    return user_state_path("vgo-agent") / "trusted-layers.json"


def digest(files: Sequence[Path]) -> str:
    """Hash the content of all files, in order."""
    total = hashlib.sha256()
    for path in files:
        content = path.read_bytes()
        total.update(len(content).to_bytes(8, "big") + content)  # lengths keep neighbouring files apart
    return total.hexdigest()


def _trusted() -> dict[str, str]:
    try:
        known = json.loads(store().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise VgoError(f"{store()} cannot be read ({error}): delete it and trust your layers again.") from error
    return {str(path): str(hash_) for path, hash_ in known.items()} if isinstance(known, dict) else {}


RESERVED = ("order", "condition", "pair", "ok", "exit_code", "survivors", "outcome", "wall_s", "layers", "run_index")
"""Columns that every run table has."""
ADDING = ("sum", "mean", "min", "max")


def unsound(layer: Layer, stem: str) -> Iterator[Problem]:
    """Find every problem that a layer has by itself; `stem` is the name of its file."""
    if layer.key != stem:
        yield Problem(("key",), f"its key is {layer.key}; rename the file or the key")
    yield from _unsound_run(layer)
    yield from _unsound_names(layer)
    yield from _unsound_columns(layer)
    if not (layer.columns or layer.run or layer.probe or layer.environment):
        yield Problem((), "it collects nothing and changes nothing; give it `columns`, `run` or `environment`")


def _unsound_run(layer: Layer) -> Iterator[Problem]:
    if not layer.run:
        return
    try:
        words = [layer.run] if layer.shell else shlex.split(layer.run)
    except ValueError as error:
        yield Problem(("run",), f"cannot be split into words ({error}); close the quotes")
        return
    if not any(match[1] in WHOLE for word in words for match in NAMES.finditer(word)):
        yield Problem(("run",), "does not start the program; put $CMD $ARGS where it goes")


def _unsound_names(layer: Layer) -> Iterator[Problem]:
    """Find names in the command and in the environment that nobody fills in; a shell has variables of its own."""
    for name in layer.parameters:
        if own_names(name):
            yield Problem(("parameters", name), f"${name.upper()} has a meaning of its own; choose another name")
    known = {name.upper() for name in layer.parameters} | set(LAUNCHING if layer.kind == "launcher" else ())
    texts = {("environment", key): (text, {key}) for key, text in layer.environment.items()}
    if not layer.shell:
        texts["run", ""] = (layer.run, set())
    for (top, key), (text, also) in texts.items():
        for match in NAMES.finditer(text):
            if match[1] not in known | also and not own_names(match[1]):
                cure = f"declare `{match[1].lower()}` in `parameters`, or write $${match[1]} for a plain dollar"
                yield Problem((top, key) if key else (top,), f"${match[1]} is not declared; {cure}")


def _unsound_columns(layer: Layer) -> Iterator[Problem]:
    seen = Counter[str]()
    for index, column in enumerate(layer.columns):
        place = ("columns", index)
        seen[column.name] += 1
        if seen[column.name] == 2:
            yield Problem((*place, "name"), f"the column {column.name} is declared twice; keep one")
        if column.name.count("*") > 1:
            yield Problem((*place, "name"), f"{column.name} has more than one `*`; keep the one that is filled in")
        if column.name in RESERVED:
            yield Problem((*place, "name"), f"every run table has a column {column.name}; choose another name")
        if column.extract is None:
            if not layer.probe:
                yield Problem(place, f"nothing gives the column {column.name}; add `extract`, or name a `probe` above")
        else:
            for what in _unsound_extract(layer, column, column.extract):
                yield Problem((*place, "extract"), what)


def _unsound_extract(layer: Layer, column: Column, extract: Extract) -> Iterator[str]:
    if extract.regex is not None:
        yield from _unsound_regex(extract.regex, "*" in column.name)
    if extract.json_path is not None:
        yield from _unsound_path(extract.json_path)
    if "*" in column.name and (extract.json_path or extract.csv) and not extract.key:
        yield "nothing fills in the `*` of the name; say which field does with `key`"
    texts = "\n".join((layer.run, *layer.environment.values()))
    if extract.text == "file" and not any(name in texts for name in ("$FILE", "$FOLDER")):
        yield "it reads a file that nobody writes; use $FILE in `run` or `environment`"
    if column.type == "text" and extract.take in ADDING:
        yield f"text has no {extract.take}; take the first or the last, or make it a number"


def _unsound_regex(regex: str, filled_in: bool) -> Iterator[str]:
    try:
        groups = re.compile(regex, re.MULTILINE).groups
    except re.error as error:
        yield f"the regex {regex} does not compile ({error}); mend it"
        return
    if filled_in and groups != 2:
        yield f"the regex {regex} has {groups} groups; give it two, the name for `*` and the value"


def _unsound_path(path: str) -> Iterator[str]:
    import jsonpath  # Takes a tenth of a second, and few layers need it.

    try:
        jsonpath.compile(path)
    except jsonpath.JSONPathError as error:
        yield f"the JSONPath {path} does not parse ({str(error).splitlines()[0]}); mend it"


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


def _ours(document: YamlDocument) -> Layer | list[str]:
    found: list[Problem]
    try:
        layer = Layer.model_validate(document.content)
        found = [*twice(document.node), *unsound(layer, document.path.stem)]
    except ValidationError as error:
        found = list(
            wrong(error, lambda at: Extract if "extract" in at[:-1] else Column if "columns" in at[:-1] else Layer)
        )
    return [document.sentence(problem) for problem in found] or _placed(layer, document)


def _placed(layer: Layer, document: YamlDocument) -> Layer:
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
