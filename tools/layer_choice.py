"""From the layers that were asked for to those that are there: `all` and `auto` are words for many of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Protocol

from pydantic import TypeAdapter

from ..knowledge.errors import VgoError
from ..knowledge.patterns import overlap
from ..layers.loader import load_layer, load_layers
from ..layers.schema import Layer
from . import durable

ALL, AUTO = "all", "auto"
"""Every layer that is available here; the light ones of them first, and the heavy ones if those show nothing."""
WORDS = (ALL, AUTO)


class LayerSource(Protocol):
    """What says whether a layer is there: the bench."""

    def layer(self, spec: str) -> Layer:
        """Read a layer."""

    def absent(self, spec: str) -> dict[str, str]:
        """Columns that cannot be had, with the reason; raises VgoError for a layer that cannot be opened."""


@dataclass(frozen=True)
class LayerChoice:
    """Which layers are on, by spec."""

    layers: tuple[str, ...]
    """For now, the outermost first."""
    later: tuple[str, ...] = ()
    """Heavy ones that wait until the light ones have shown nothing."""
    unavailable: Mapping[str, str] = field(default_factory=dict)
    """Spec to the reason and the cure."""


_CHOICE = TypeAdapter(LayerChoice)


def named(asked: Sequence[str], read: Callable[[str], Layer] = load_layer) -> dict[str, Layer]:
    """Read the layers that are named one by one, by spec; refuse what is not there and what overlaps.

    Nothing is opened, so that it can be told before the first run.
    """
    layers = {spec: read(spec) for spec in asked if spec not in WORDS}
    for spec, layer in layers.items():
        if layer.kind == "launcher":
            raise VgoError(f"{spec} is a launcher: give it with --launcher.")
    twice = next((spec for spec in layers if asked.count(spec) > 1), None)
    if twice:
        raise VgoError(f"The layer {twice} is named twice: name it once.")
    for one, other in combinations(layers, 2):
        if shared := _shared(layers[one], layers[other]):
            raise VgoError(f"The layers {one} and {other} both give the column {shared}: name one of them.")
    return layers


def choose(asked: Sequence[str], bench: LayerSource) -> LayerChoice:
    """Open what was asked for: refuse a named layer that shows nothing here, leave it out of `all` and `auto`."""
    layers = named(asked, bench.layer)
    for spec in layers:
        if why := unavailable(spec, bench):
            raise VgoError(f"The layer {spec} can show nothing here: {why}")
    if not set(WORDS) & set(asked):
        return LayerChoice(tuple(layers))
    keys = {layer.key for layer in layers.values()}
    beside = {key: bench.layer(key) for key in load_layers() if key not in keys}
    rest = [key for key, one in beside.items() if not any(_shared(one, layer) for layer in layers.values())]
    reasons = {key: why for key in rest if (why := unavailable(key, bench))}
    here = [key for key in rest if key not in reasons]
    later = tuple(key for key in here if ALL not in asked and bench.layer(key).heavy)
    return LayerChoice((*layers, *(key for key in here if key not in later)), later, reasons)


def choose_once(asked: Sequence[str], bench: LayerSource, kept: Path) -> LayerChoice:
    """Choose, or take the choice that this call began with; it is kept in a file until the call has ended.

    After some runs a layer can turn out to show nothing here, and a new choice would no longer fit the rows.
    """
    if kept.exists():
        return _CHOICE.validate_json(kept.read_bytes())
    choice = choose(asked, bench)
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        durable.write(kept, _CHOICE.dump_json(choice))
    except OSError as error:
        raise VgoError(f"Cannot write {kept} ({error.strerror}); free space there, then run it again.") from error
    return choice


def unavailable(spec: str, bench: LayerSource) -> str:
    """Say why a layer can show nothing here, with the cure; empty when it shows something."""
    try:
        absent = bench.absent(spec)
    except VgoError as error:
        return str(error)
    columns = bench.layer(spec).columns
    reasons = [absent[column.name] for column in columns if column.name in absent]
    if not columns or len(reasons) < len(columns):
        return ""
    cure = bench.layer(spec).cure
    return reasons[0] if not cure or cure in reasons[0] else f"{reasons[0].rstrip('.')}; {cure}"


def _shared(one: Layer, other: Layer) -> str:
    """Name a column that both give; empty when there is none."""
    names = (column.name for column in one.columns for their in other.columns if overlap(column.name, their.name))
    return next(names, "")
