"""What can be run and measured on this host, asked before anything counts."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ...knowledge.errors import VgoError
from ..execution.bench import Bench
from ..execution.expected import FIRST_RUNS
from ..execution.judge import judge
from ..execution.spawn import Spawner
from ..layers_here import unavailable
from ..machine import Machine
from .host import Order, Sight

STEADY = {"load_1min": 0.0, "quiet_cpu": 0}
"""Of a survey, what is another at each look: left out, so that a host has one description."""


def sight(order: Order, bench: Bench, machine: Machine) -> Sight:
    """Look at the program and the layers, and run the program once where that is asked for."""
    files = {path: digest(path) for path in dict.fromkeys((bench.launch.argv[0], *order.subject.inputs))}
    lost = next((path for path, content in files.items() if not content), "")
    program = f"There is no file {lost}: copy it to the same place on every host." if lost else ""
    wall_s = 0.0
    if order.trial and not program:
        program, wall_s = tried(bench, bench.spawner)
        program = "" if order.lenient else program
    layers = {spec: absent(spec, bench) for spec in order.layers}
    return Sight(machine=machine.model_copy(update=STEADY), program=program, files=files, wall_s=wall_s, layers=layers)


def tried(bench: Bench, spawner: Spawner) -> tuple[str, float]:
    """Run outside the data, again where a run fails; say what is wrong where all do, and how long it took in seconds.

    Who fails now and then is no broken program: that is what is to be explained.
    """
    subject, way = bench.subject, bench.way(bench.launch)
    for _ in range(FIRST_RUNS):
        run = spawner.run(way.launch, timeout_s=subject.timeout_s, capture=subject.metric is not None)
        failure = judge(run, subject, way.through).failure
        if not failure or subject.on_failure == "stop":
            break
    wrong = f"A trial run failed: {failure}; run it there by hand first." if failure else ""
    return wrong, run.wall_ns / 1e9


def absent(spec: str, bench: Bench) -> dict[str, str]:
    """Say what a layer cannot show here; the key is empty where it can show nothing."""
    if why := unavailable(spec, bench):
        return {"": why}
    try:
        return bench.absent(spec)
    except VgoError as error:
        return {"": str(error)}


def digest(path: str) -> str:
    """SHA-256 of a file; empty where there is none."""
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
