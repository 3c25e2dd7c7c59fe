"""What the harness itself costs for each run, beside a bare loop and hyperfine: `python benchmarks/harness.py`."""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack

from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner

PROGRAM = "/bin/true"
BLOCK = 50
"""Runs of one arm in a row; the arms take turns, so that a slow moment of the machine falls on all of them."""

Arm = Callable[[int], float]
"""Do so many runs and return the seconds that they took."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="runs of each arm")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args()
    with ExitStack() as opened:
        seconds = measure(arms(opened), rounds=max(2, asked.runs // BLOCK))
    result = summary(seconds)
    print(json.dumps(result, indent=2) if asked.json else table(result))


def arms(opened: ExitStack) -> dict[str, Arm]:
    """Return what is compared, by name."""
    spawner = opened.enter_context(Spawner())
    launch = Launch((PROGRAM,))
    layer = find_layer("process")

    def spawned(runs: int, timeout_s: float | None = None) -> float:
        started = time.perf_counter()
        for _ in range(runs):
            spawner.run(launch, timeout_s=timeout_s)
        return time.perf_counter() - started

    def layered(runs: int) -> float:
        # Opened for the block alone: while perf events are open, every child of this thread inherits them.
        probes = [open_probe(layer)]
        started = time.perf_counter()
        for _ in range(runs):
            spawner.run(launch, probes)
        spent = time.perf_counter() - started
        probes[0].close()
        return spent

    found: dict[str, Arm] = {
        "bare loop": bare,
        "spawner": spawned,
        "spawner, time limit": lambda runs: spawned(runs, timeout_s=60.0),
        "spawner, layer process": layered,
    }
    if shutil.which("hyperfine"):
        # Its start-up (options, terminal, JSON) is measured in the same round, with a single run, and subtracted.
        found["hyperfine -N"] = lambda runs: hyperfine(runs + 1) - hyperfine(1)
    return found


def bare(runs: int) -> float:
    """Do the least that starts and reaps a program from Python."""
    started = time.perf_counter()
    for _ in range(runs):
        os.wait4(os.posix_spawn(PROGRAM, (PROGRAM,), os.environ), 0)
    return time.perf_counter() - started


def hyperfine(runs: int) -> float:
    """Return the wall time of one whole call of hyperfine."""
    command = ["hyperfine", "-N", "--style", "none", "--warmup", "0", "--runs", str(runs), PROGRAM]
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def measure(compared: dict[str, Arm], rounds: int) -> dict[str, list[float]]:
    """Let the arms take turns, in an order that rotates; return seconds for each run, one value a block."""
    names = list(compared)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for arm in compared.values():
        arm(5)
    gc.disable()
    for turn in range(rounds):
        for place in range(len(names)):
            name = names[(turn + place) % len(names)]
            seconds[name].append(compared[name](BLOCK) / BLOCK)
        gc.collect()
    gc.enable()
    return seconds


def summary(seconds: dict[str, list[float]]) -> dict[str, object]:
    """Return the cost of a run by arm, in milliseconds, and the ratios of the medians."""
    medians = {name: statistics.median(blocks) * 1e3 for name, blocks in seconds.items()}
    return {
        "machine": f"{platform.release()}, {os.cpu_count()} CPUs, Python {platform.python_version()}",
        "runs": len(seconds["bare loop"]) * BLOCK,
        "median_ms": medians,
        "mean_ms": {name: statistics.mean(blocks) * 1e3 for name, blocks in seconds.items()},
        "to_bare_loop": {name: ratio(seconds[name], seconds["bare loop"]) for name in medians},
        "to_hyperfine": {
            name: ratio(seconds[name], seconds["hyperfine -N"]) for name in medians if "hyperfine -N" in medians
        },
        "layer_ms": medians["spawner, layer process"] - medians["spawner"],
    }


def ratio(these: list[float], those: list[float]) -> float:
    """Return the median over rounds of the ratio within a round."""
    return statistics.median(this / that for this, that in zip(these, those, strict=True))


def table(result: dict[str, object]) -> str:
    """Lay the result out for a terminal."""
    median, mean, to_bare, to_hyperfine = (
        dict[str, float](result[key])  # type: ignore[call-overload]
        for key in ("median_ms", "mean_ms", "to_bare_loop", "to_hyperfine")
    )
    lines = [f"{result['machine']}, {PROGRAM}, {result['runs']} runs an arm in blocks of {BLOCK}"]
    lines.append(f"{'':24}{'median':>10}{'mean':>10}{'/ bare':>8}{'/ hyperfine':>12}")
    for name in median:
        other = f"{to_hyperfine[name]:12.2f}" if name in to_hyperfine else f"{'-':>12}"
        lines.append(f"{name:24}{median[name]:7.3f} ms{mean[name]:7.3f} ms{to_bare[name]:8.2f}{other}")
    lines.append(f"the layer costs {result['layer_ms']:.3f} ms a run")
    if not to_hyperfine:
        lines.append("hyperfine is not installed: apt-get install hyperfine to compare with it")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
