"""What each layer costs for a run, beside a bare spawn and `perf stat -j`: `python benchmarks/layers.py [--save]`.

Tracepoints need tracefs (mount -t tracefs nodev /sys/kernel/tracing) and root.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.layers.loader import find_layer, load_layers, open_probe
from vgo_agent.layers.probes.base import Probe, SpawnCommand
from vgo_agent.layers.probes.perf_events import PerfEvents
from vgo_agent.layers.schema import Column, Layer
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.layers_here import Timed

PROGRAM = ("/bin/true",)
BLOCK = 25
"""Runs of one arm in a row, after as many of the bare spawn, with which they are compared."""
DEAR_BLOCK = 3
"""Of an arm whose runs take long."""
DEAR_S = 0.02
SLEEP = ("/bin/sleep", "3")
"""The run during which sampling is watched."""
TABLE = Path(__file__).parents[1] / "docs/results/layers.md"
TRACEPOINTS = 12
TARGETS = {"software events and 12 tracepoints": 0.3, "process": 0.5}
"""Arm: most ms for a run."""
MOST_SAMPLING = 1.0
"""Per cent of one core."""


@dataclass
class Arm:
    """One way to run the program, and what it was seen to cost."""

    open: Callable[[], Sequence[Probe]]
    launch: Launch = Launch(PROGRAM)
    sampled: bool = False
    columns: int = 0
    heavy: bool = False
    cost_ms: list[float] = field(default_factory=list)
    """Median run, idle window left out, minus the median run of the bare spawn just before, one a block."""
    idle_ms: list[float] = field(default_factory=list)
    """Median time before a run in which a probe only watches the machine, one a block."""
    open_ms: list[float] = field(default_factory=list)
    close_ms: list[float] = field(default_factory=list)
    core_percent: float | None = None
    """CPU time of the other threads of this process over wall time, while a program sleeps."""


def main() -> None:
    """Measure, print and perhaps save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="blocks of each arm")
    parser.add_argument("--layer", action="append", help="only this layer, and what it is compared with; repeatable")
    parser.add_argument("--save", action="store_true", help=f"write {TABLE.relative_to(TABLE.parents[1])}")
    asked = parser.parse_args()
    layers = load_layers()
    chosen = {key: layer for key, layer in layers.items() if not asked.layer or key in asked.layer}
    priority = raised()
    with Spawner() as spawner:
        compared, absent = arms(spawner, chosen)
        measure(spawner, compared, asked.rounds)
    text = page(compared, absent, asked.rounds, priority)
    print(text)
    if asked.save:
        TABLE.write_text(text, encoding="utf-8")


def raised() -> str:
    """Keep other programs from the CPU of the runs, where this user may, and name the scheduling policy."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return "normal priority"
    return "SCHED_FIFO"


def arms(spawner: Spawner, layers: Mapping[str, Layer]) -> tuple[dict[str, Arm], dict[str, str]]:
    """Return what is compared, by name, and the layers that are absent here with a reason."""
    found: dict[str, Arm] = {}
    absent: dict[str, str] = {}
    for key, layer in layers.items():
        if reason := missing(layer):
            absent[key] = reason
            continue
        try:
            columns, reason = given(spawner, layer)
        except VgoError as error:
            columns, reason = 0, str(error)
        if columns:
            found[key] = Arm(lambda layer=layer: [open_probe(layer)], sampled=True, columns=columns, heavy=layer.heavy)  # type: ignore[misc]
        else:
            absent[key] = reason or "it gives no column for this program"
    return found | perf_arms(), absent


def missing(layer: Layer) -> str:
    """Name a program that a layer needs and that is not here."""
    needed = [*layer.needs, *layer.run.split()[:1]]
    return next(
        (f"{name} is not installed" for name in needed if not name.startswith("$") and not shutil.which(name)), ""
    )


def given(spawner: Spawner, layer: Layer) -> tuple[int, str]:
    """Run once with a layer: how many columns it gives, and a reason where it lacks some."""
    probe = open_probe(layer)
    try:
        run = spawner.run(wrapped(Launch(PROGRAM), [probe]), [probe])
        row = {**run.counters, **probe.split(run.wall_ns)}
        return sum(layer.column(name) is not None for name in row), next(iter(probe.absent().values()), "")
    finally:
        probe.close()


def perf_arms() -> dict[str, Arm]:
    """Return our own counting and that of perf stat, of the same events."""
    software = [column for column in find_layer("process").columns if column.name.startswith("perf.")]
    points = [column for column in find_layer("tracepoints").columns if column.scope == "run"][:TRACEPOINTS]
    if absent := missing_events(software + points):
        print(f"no comparison with perf stat: {absent}")
        return {}
    found = {
        "software events": own(software),
        "software events and 12 tracepoints": own(software + points),
    }
    if shutil.which("perf"):
        found["perf stat -j, software events"] = perf_stat(software)
        found["perf stat -j, software events and 12 tracepoints"] = perf_stat(software + points)
    return found


def missing_events(columns: Sequence[Column]) -> str:
    """Say why one of the events cannot be counted here."""
    probe = PerfEvents(columns, Path("/"))
    absent = next(iter(probe.absent().values()), "")
    probe.close()
    return absent


def own(columns: Sequence[Column]) -> Arm:
    """Count events ourselves."""
    return Arm(lambda: [PerfEvents(columns, Path("/"))], columns=len(columns))


def perf_stat(columns: Sequence[Column]) -> Arm:
    """Let perf count the same events, as SHARP does, around the program."""
    events = [word for column in columns for word in ("-e", column.read.partition(" if ")[0])]
    perf = shutil.which("perf") or "perf"
    return Arm(
        lambda: [], Launch((perf, "stat", "-j", "-o", "/dev/null", *events, "--", *PROGRAM)), columns=len(columns)
    )


def wrapped(launch: Launch, probes: Sequence[Probe]) -> Launch:
    """Let the probes wrap the program."""
    command = SpawnCommand(launch.argv, launch.environment)
    for probe in probes:
        command = probe.wrap(command)
    program = shutil.which(command.argv[0]) or command.argv[0]
    return Launch((program, *command.argv[1:]), command.environment)


def measure(spawner: Spawner, compared: Mapping[str, Arm], rounds: int) -> None:
    """Let the arms take turns, each beside a block of bare spawns; then watch those that may sample."""
    names = list(compared)
    bare = Launch(PROGRAM)
    gc.disable()
    for turn in range(rounds):
        for place in range(len(names)):
            arm = compared[names[(turn + place) % len(names)]]
            runs = DEAR_BLOCK if arm.cost_ms and statistics.median(arm.cost_ms) > DEAR_S * 1e3 else BLOCK
            # Opened for the block alone: while perf events are open, every child of this thread inherits them.
            without, _ = medians_ms(spawner, bare, [], runs)
            with opened(arm) as probes:
                within, idle = medians_ms(spawner, wrapped(arm.launch, probes), probes, runs)
                arm.cost_ms.append(within - without)
                arm.idle_ms.append(idle)
        gc.collect()
    gc.enable()
    for arm in compared.values():
        if arm.sampled:
            arm.core_percent = sampling(spawner, arm)


@contextmanager
def opened(arm: Arm) -> Iterator[Sequence[Probe]]:
    """Open the probes of an arm and close them, and note how long both take."""
    started = time.perf_counter()
    probes = arm.open()
    arm.open_ms.append((time.perf_counter() - started) * 1e3)
    try:
        yield probes
    finally:
        started = time.perf_counter()
        for probe in probes:
            probe.close()
        arm.close_ms.append((time.perf_counter() - started) * 1e3)


def medians_ms(spawner: Spawner, launch: Launch, probes: Sequence[Probe], runs: int) -> tuple[float, float]:
    """Return the median times of a whole run with all that happens around it, and of the idle window, which is apart.

    The first run is not counted.
    """
    resting = [Timed(probe) for probe in probes if type(probe).rest is not Probe.rest]
    timed = [*(probe for probe in probes if type(probe).rest is Probe.rest), *resting]
    times, idle = [], []
    for _ in range(runs + 1):
        rested_ns = sum(probe.rested_ns for probe in resting)
        started = time.perf_counter_ns()
        spawner.run(launch, timed)
        spent_ns = time.perf_counter_ns() - started
        idle.append((sum(probe.rested_ns for probe in resting) - rested_ns) / 1e6)
        times.append(spent_ns / 1e6 - idle[-1])
    return statistics.median(times[1:]), statistics.median(idle[1:])


def sampling(spawner: Spawner, arm: Arm) -> float:
    """Return the CPU time of the other threads of this process, in per cent of a sleeping program's wall time."""
    with opened(arm) as probes:
        before = others_s()
        started = time.perf_counter()
        spawner.run(wrapped(Launch(SLEEP), probes), probes)
        return max(0.0, 100 * (others_s() - before) / (time.perf_counter() - started))


def others_s() -> float:
    """Return the CPU time so far of all threads of this process but the calling one."""
    return time.process_time() - time.thread_time()


def page(compared: Mapping[str, Arm], absent: Mapping[str, str], rounds: int, priority: str) -> str:
    """Lay the result out as a page of the docs."""
    lines = [
        "# What the layers cost",
        "",
        f"Written by `python benchmarks/layers.py --save` on {date.today().isoformat()}: Linux {platform.release()},"
        f" {os.cpu_count()} CPUs, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f},"
        f" {priority}.",
        "",
        f"{rounds} blocks of {BLOCK} runs of `{PROGRAM[0]}` each ({DEAR_BLOCK} where a run costs more than"
        f" {DEAR_S * 1e3:.0f} ms), after as many bare spawns. Cost of a run: the median of a block minus that of the"
        " bare block before it, here the median and the quartiles over blocks. Idle: before"
        " each run, for so long a layer watches the machine while nothing runs; it is not in the cost."
        " Opening and closing happen once a session. Sampling: CPU time of the other threads of vgo-agent during a"
        " sleep, in per cent of one core.",
        "",
        "| | columns | ms a run | quartiles | idle ms | open ms | close ms | sampling % |",
        "|---|---:|---:|---|---:|---:|---:|---:|",
        *(row(name, arm) for name, arm in compared.items()),
        "",
        *verdicts(compared),
    ]
    if absent:
        lines += ["", "Not measured here:", "", *(f"- `{name}`: {reason}" for name, reason in absent.items())]
    return "\n".join(lines) + "\n"


def row(name: str, arm: Arm) -> str:
    """Lay one arm out."""
    low, middle, high = statistics.quantiles(arm.cost_ms, n=4)
    sampled = "" if arm.core_percent is None else f"{arm.core_percent:.2f}"
    shown = f"`{name}`{' (heavy)' if arm.heavy else ''}" if arm.sampled else name
    once = " | ".join(f"{statistics.median(times):.1f}" for times in (arm.idle_ms, arm.open_ms, arm.close_ms))
    return f"| {shown} | {arm.columns} | {middle:.3f} | {low:.3f} .. {high:.3f} | {once} | {sampled} |"


def verdicts(compared: Mapping[str, Arm]) -> list[str]:
    """Say whether each target is met."""
    lines = []
    for name, most in TARGETS.items():
        if name in compared:
            cost = statistics.median(compared[name].cost_ms)
            lines.append(f"- {name}: {cost:.3f} ms of at most {most:g} ms: {'met' if cost <= most else 'MISSED'}.")
    watched = {name: arm.core_percent for name, arm in compared.items() if arm.core_percent is not None}
    if watched:
        worst = max(watched, key=lambda name: watched[name])
        met = "met" if watched[worst] <= MOST_SAMPLING else "MISSED"
        lines.append(
            f"- sampling: at most {watched[worst]:.2f} % of one core ({worst}), of at most {MOST_SAMPLING:g} %: {met}."
        )
    return lines


if __name__ == "__main__":
    main()
