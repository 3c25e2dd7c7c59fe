"""What each layer can show on this machine, why not more, and what it costs for each run."""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from pydantic import TypeAdapter

from ..knowledge.errors import VgoError
from ..knowledge.shape import overlap
from ..layers.loader import find_layer, load_layers, open_probe
from ..layers.probes.base import Probe, SpawnCommand
from ..layers.schema import Layer
from ..layers.wrapper import missing, refusal
from . import durable
from .execution.environment import as_given
from .execution.launch import Launch
from .execution.spawn import Spawner

State = Literal["yes", "partly", "no", "untrusted", "broken"]
ROUNDS = 7
"""Runs of which the median counts."""
PAIRS = 101
"""Runs with a wrapper, each beside one without, at most: what the runs take differs by more than most wrappers cost."""
PAIRS_S = 1.5
"""For all pairs, once there are FEWEST_PAIRS."""
FEWEST_PAIRS = 3
LIMIT_S = 30.0
"""Of one run of a program that does nothing."""
NOTHING = "true"
ALL, AUTO, DEFAULT = "all", "auto", "default"
"""Every layer that is available here; the light ones of them first, and the heavy ones if those show nothing; of a few
the same."""
WORDS = (ALL, AUTO, DEFAULT)
DEFAULT_LAYERS = ("process", "ledger", "stacks")
"""What each run used, and where its milliseconds went."""
FEW_RUNS = 30
"""Of a heavy one of these, which shows what it can in so many."""


class LayerStatus(NamedTuple):
    """One layer on this machine."""

    state: State
    why: Mapping[str, str]
    """Columns that cannot be had, each with the reason and the cure; the key is empty where that holds for all."""
    cost_ms: float | None = None
    """Added to each run, all in all, but for `idle_ms`: a median; None where it was not measured."""
    idle_ms: float | None = None
    """Before each run, in which nothing runs since the probe looks at the machine while it is left alone: a median."""


def here(layer: Layer, root: Path, spawner: Spawner | None) -> LayerStatus:
    """Open a layer and see; with a spawner, run a program that does nothing under it and measure what that costs."""
    if layer.kind == "launcher":
        return launcher_here(layer)
    try:
        probe = open_probe(layer, root)
    except VgoError as error:
        return LayerStatus("no", {"": str(error).rstrip(".")})
    try:
        absent = dict(probe.absent())
        names = {column.name for column in layer.columns}
        state: State = "yes" if not names & absent.keys() else "partly" if names - absent.keys() else "no"
        cost = (None, None) if spawner is None or state == "no" else costs_ms(probe, spawner, layer.heavy)
    except VgoError as error:
        return LayerStatus("no", {"": str(error).rstrip(".") + layer.place})
    finally:
        probe.close()
    return LayerStatus(state, absent, *cost)


def launcher_here(layer: Layer) -> LayerStatus:
    """See whether a launcher is installed and what it needs here answers; where it goes is not tried."""
    if why := missing(layer) or refusal(layer):
        return LayerStatus("no", {"": why})
    return LayerStatus("yes", {})


def costs_ms(probe: Probe, spawner: Spawner, slows: bool) -> tuple[float, float]:
    """Return what a probe adds to a run of a program that does nothing, and how long it lets the machine rest before.

    It adds its own time, and with a wrapper, or where the layer `slows` programs, that by which the run takes longer:
    the median difference of pairs of runs, which take turns in who is first. For others that would be noise.
    """
    timed = Timed(probe)
    bare = SpawnCommand((str(shutil.which(NOTHING)),), as_given())
    wrapped = probe.wrap(bare)
    paired = slows or wrapped != bare
    until = time.monotonic() + PAIRS_S
    added: list[int] = []
    spent: list[int] = []
    rested: list[int] = []
    while len(spent) < (PAIRS if paired else ROUNDS) and (len(spent) < FEWEST_PAIRS or time.monotonic() < until):
        first = paired and len(spent) % 2 == 0
        without_ns = wall_ns(spawner, bare) if first else 0
        timed.spent_ns = timed.rested_ns = 0
        within_ns = wall_ns(spawner, wrapped, timed)
        if paired:
            added.append(within_ns - (without_ns if first else wall_ns(spawner, bare)))
        spent.append(timed.spent_ns)
        rested.append(timed.rested_ns)
    longer = max(0.0, statistics.median(added)) if added else 0.0
    return (longer + statistics.median(spent)) / 1e6, statistics.median(rested) / 1e6


def wall_ns(spawner: Spawner, command: SpawnCommand, *probes: Probe) -> int:
    """Run the program that does nothing."""
    run = spawner.run(Launch(command.argv, environment=command.environment), probes, timeout_s=LIMIT_S)
    if run.timed_out:
        raise VgoError(f"its command did not end within {LIMIT_S:g} s around `true`: correct its `run`")
    return run.wall_ns


class Timed(Probe):
    """Another probe, with the time that its calls take."""

    def __init__(self, probe: Probe) -> None:
        self.reads_output = probe.reads_output
        self.spent_ns = self.rested_ns = 0
        clocks = dict.fromkeys(("before", "started", "at_exit", "after", "said", "values"), "spent_ns")
        # Resting is apart: nothing runs in it, and nothing waits for it but the next run.
        for name, clock in (clocks | {"rest": "rested_ns"}).items():
            setattr(self, name, partial(self._timed, clock, getattr(probe, name)))

    def _timed(self, clock: str, call: Callable[..., Any], *given: Any) -> Any:
        started = time.perf_counter_ns()
        result = call(*given)
        setattr(self, clock, getattr(self, clock) + time.perf_counter_ns() - started)
        return result


def by_reason(why: Mapping[str, str]) -> dict[str, list[str]]:
    """Gather the columns that are missing for the same reason, the reason for most of them first."""
    reasons: dict[str, list[str]] = {}
    for column, reason in why.items():
        reasons.setdefault(reason, []).append(column)
    return dict(sorted(reasons.items(), key=lambda item: -len(item[1])))


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
    most_runs: Mapping[str, int] = field(default_factory=dict)
    """Spec to the runs that it is on in at most."""


_CHOICE = TypeAdapter(LayerChoice)


def named(asked: Sequence[str], read: Callable[[str], Layer] = find_layer) -> dict[str, Layer]:
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
    """Open what was asked for: refuse a named layer that shows nothing here, leave it out of what a word stands for."""
    layers = named(asked, bench.layer)
    for spec in layers:
        if why := unavailable(spec, bench):
            raise VgoError(f"The layer {spec} can show nothing here: {why}")
    if not set(WORDS) & set(asked):
        return LayerChoice(tuple(layers))
    keys = {layer.key for layer in layers.values()}
    meant = DEFAULT_LAYERS if set(WORDS) & set(asked) == {DEFAULT} else load_layers()
    beside = {key: bench.layer(key) for key in meant if key not in keys}
    rest = [key for key, one in beside.items() if not any(_shared(one, layer) for layer in layers.values())]
    reasons = {key: why for key in rest if (why := unavailable(key, bench))}
    here = [key for key in rest if key not in reasons]
    later = tuple(key for key in here if AUTO in asked and ALL not in asked and bench.layer(key).heavy)
    few = {key: FEW_RUNS for key in here if meant is DEFAULT_LAYERS and bench.layer(key).heavy}
    return LayerChoice((*layers, *(key for key in here if key not in later)), later, reasons, few)


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
