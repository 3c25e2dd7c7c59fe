"""Read the metric layers, check them, open their probes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import yaml
from pydantic import ValidationError

from ..knowledge.errors import VgoError
from .probes.base import Probe
from .probes.process import ProcessProbe
from .schema import Layer

FOLDER = Path(__file__).parent
PROBES: dict[str, Callable[[Layer], Probe]] = {
    "process": ProcessProbe,
}
"""The probes that a layer may name."""


def load_layer(name: str, folder: Path = FOLDER) -> Layer:
    """Read one layer by its key."""
    path = folder / f"{name}.yaml"
    if not path.is_file():
        there = ", ".join(sorted(file.stem for file in folder.glob("*.yaml"))) or "none"
        raise VgoError(f"There is no metric layer {name}: name one of these: {there}.")
    return read_layer(path)


def load_layers(folder: Path = FOLDER) -> dict[str, Layer]:
    """Read all layers, by key."""
    return {path.stem: read_layer(path) for path in sorted(folder.glob("*.yaml"))}


def open_probe(layer: Layer) -> Probe:
    """Open the probe of a layer on this thread, the one that will spawn the runs."""
    if layer.probe not in PROBES:
        raise VgoError(
            f"The layer {layer.key} names no built-in probe ({layer.probe}): name one of {', '.join(PROBES)}."
        )
    return PROBES[layer.probe](layer)


def check(folder: Path = FOLDER) -> list[str]:
    """Return every problem of the layer files, as sentences."""
    problems = []
    seen: Counter[str] = Counter()
    for path in sorted(folder.glob("*.yaml")):
        try:
            layer = read_layer(path)
        except VgoError as error:
            problems.append(str(error))
            continue
        if layer.probe not in PROBES:
            problems.append(f"{path.name} names no built-in probe ({layer.probe}): name one of {', '.join(PROBES)}.")
        seen.update(column.name for column in layer.columns)
    twice = [name for name, count in seen.items() if count > 1]
    return problems + [f"The column {name} is declared {seen[name]} times: keep one." for name in twice]


def read_layer(path: Path) -> Layer:
    """Read one file; what is wrong is named by file and line."""
    text = path.read_text(encoding="utf-8")
    try:
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
        layer = Layer.model_validate(yaml.load(text, Loader=yaml.CSafeLoader))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise VgoError(f"{path}, line {line}: {error.problem}: mend the YAML there.") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise VgoError(f"{path}, line {line_of(node, first['loc'])}: {where}: {first['msg']}: mend it.") from error
    if layer.key != path.stem:
        raise VgoError(f"{path}, line 1: its key is {layer.key}: rename the file or the key.")
    return layer


def line_of(node: yaml.Node | None, steps: tuple[int | str, ...]) -> int:
    """Return the line of a value, or of the nearest thing around it that the file has."""
    line = 1
    for step in (*steps, None):
        if node is None:
            break
        line = node.start_mark.line + 1
        node = child(node, step)
    return line


def child(node: yaml.Node, step: int | str | None) -> yaml.Node | None:
    """Go one step down the tree of a YAML file."""
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        found: yaml.Node = node.value[step]
        return found
    return None
