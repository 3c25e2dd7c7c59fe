"""What each layer can show on this machine, why not more, and what it costs for each run."""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..knowledge.errors import VgoError
from ..layers.loader import open_probe
from ..layers.probes.base import Command, Probe
from ..layers.schema import Layer, Value
from ..layers.wrapper import missing
from .execution.launch import Launch
from .execution.spawn import Spawner

State = Literal["yes", "partly", "no", "untrusted", "broken"]
ROUNDS = 7
"""Runs of which the median counts."""
LIMIT_S = 30.0
"""Of one run of a program that does nothing."""
NOTHING = "true"


class Here(NamedTuple):
    """One layer on this machine."""

    state: State
    why: Mapping[str, str]
    """Columns that cannot be had, each with the reason and the cure; the key is empty where that holds for all."""
    cost_ms: float | None = None
    """Added to each run, all in all: a median; None where it was not measured."""


def here(layer: Layer, root: Path, spawner: Spawner | None) -> Here:
    """Open a layer and see; with a spawner, run a program that does nothing under it and measure what that costs."""
    if layer.kind == "launcher":
        return launcher_here(layer)
    try:
        probe = open_probe(layer, root)
    except VgoError as error:
        return Here("no", {"": str(error).rstrip(".")})
    try:
        absent = dict(probe.absent())
        names = {column.name for column in layer.columns}
        state: State = "yes" if not names & absent.keys() else "partly" if names - absent.keys() else "no"
        cost = None if spawner is None or state == "no" else cost_ms(probe, spawner, layer.heavy)
    except VgoError as error:
        return Here("no", {"": str(error).rstrip(".")})
    finally:
        probe.close()
    return Here(state, absent, cost)


def launcher_here(layer: Layer) -> Here:
    """See whether a launcher is installed; where it goes is not tried."""
    if why := missing(layer):
        return Here("no", {"": why})
    return Here("yes", {})


def cost_ms(probe: Probe, spawner: Spawner, slows: bool) -> float:
    """Return what a probe adds to a run of a program that does nothing: its own time, and by what the run takes longer.

    The second only with a wrapper, or where the layer `slows` programs: for others it would be noise.
    """
    timed = Timed(probe)
    bare = Command((str(shutil.which(NOTHING)),), dict(os.environ))
    wrapped = probe.wrap(bare)
    without, within = [], []
    for _ in range(ROUNDS):
        if slows or wrapped != bare:
            without.append(spawner.run(Launch(bare.argv, environment=bare.environment)).wall_ns)
        timed.spent_ns = 0
        run = spawner.run(Launch(wrapped.argv, environment=wrapped.environment), [timed], timeout_s=LIMIT_S)
        if run.timed_out:
            raise VgoError(f"its command did not end within {LIMIT_S:g} s around `true`: correct its `run`")
        within.append((run.wall_ns, timed.spent_ns))
    added = statistics.median(wall for wall, _ in within) - statistics.median(without) if without else 0.0
    return (max(0.0, added) + statistics.median(spent for _, spent in within)) / 1e6


class Timed(Probe):
    """Another probe, with the time that its calls take."""

    def __init__(self, probe: Probe) -> None:
        """Stand in for the probe."""
        self._probe = probe
        self.reads_output = probe.reads_output
        self.spent_ns = 0

    def rest(self) -> None:
        """Leave its time out: nothing runs in it, and nothing waits for it but the next run."""
        self._probe.rest()

    def before(self) -> None:
        """Time it."""
        self._timed(self._probe.before)

    def started(self, pid: int) -> None:
        """Time it."""
        self._timed(self._probe.started, pid)

    def at_exit(self, pid: int) -> None:
        """Time it."""
        self._timed(self._probe.at_exit, pid)

    def after(self) -> None:
        """Time it."""
        self._timed(self._probe.after)

    def said(self, output: bytes, error: bytes) -> None:
        """Time it."""
        self._timed(self._probe.said, output, error)

    def values(self) -> Mapping[str, Value]:
        """Time it."""
        values: Mapping[str, Value] = self._timed(self._probe.values)
        return values

    def _timed(self, call: Callable[..., Any], *given: Any) -> Any:
        started = time.perf_counter_ns()
        result = call(*given)
        self.spent_ns += time.perf_counter_ns() - started
        return result


def by_reason(why: Mapping[str, str]) -> dict[str, list[str]]:
    """Gather the columns that are missing for the same reason, the reason for most of them first."""
    reasons: dict[str, list[str]] = {}
    for column, reason in why.items():
        reasons.setdefault(reason, []).append(column)
    return dict(sorted(reasons.items(), key=lambda item: -len(item[1])))
