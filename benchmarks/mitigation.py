"""What a mitigation of the process or its group adds to each run: apply, look at the process, put back.

`python benchmarks/mitigation.py`. The program does nothing, so the bare spawn is all that there is to compare with.
What the program itself takes longer, to load a preloaded library for one, is in the number. Preparations that are made
once for all runs of a batch (the copy on tmpfs, the control group) are not.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from vgo_agent.knowledge.loader import load
from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.engine import Applied, applied
from vgo_agent.tools.mitigation.preconditions import beyond_reach, unmet
from vgo_agent.tools.mitigation.verification import Watcher, promised
from vgo_agent.tools.subject import Subject
from vgo_agent.tools.survey import survey

PROGRAM = "/bin/true"
BARE = "bare spawn"
TARGET_MS = 5.0
"""Beyond the bare spawn, per run."""

Arm = Callable[[], None]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="runs of each arm")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args()
    with ExitStack() as opened:
        arms, left_out = prepared(opened)
        seconds = measure(arms, rounds=max(2, asked.runs))
    result = {"load_1min": os.getloadavg()[0], "ms": summary(seconds), "left_out": left_out}
    print(json.dumps(result, indent=2) if asked.json else table(result))


def prepared(opened: ExitStack) -> tuple[dict[str, Arm], dict[str, str]]:
    """Make every arm that this machine allows, and say why not for the others."""
    folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
    (folder / "input").write_bytes(os.urandom(1 << 20))
    command = (PROGRAM, "input")
    subject = Subject(command=command, argv=command, directory=str(folder), inputs=(str(folder / "input"),))
    known = [one for one in load().mitigations.values() if one.apply and one.scope in ("process", "cgroup")]
    machine = survey(subject, [one.applies for one in known])
    spawner = opened.enter_context(Spawner())
    base = Launch(argv=command, directory=folder)

    def bare() -> None:
        spawner.run(base)

    arms: dict[str, Arm] = {BARE: bare}
    left_out: dict[str, str] = {}
    for one in known:
        if reasons := why_not(one, machine, subject):
            left_out[one.key] = reasons[0]
            continue
        arms[one.key] = arm(opened.enter_context(applied(one, base, subject, machine)), spawner)
    return arms, left_out


def why_not(one: Mitigation, machine: Machine, subject: Subject) -> tuple[str, ...]:
    """Say why an arm cannot be had; what kind of program it is for does not matter to the cost."""
    cost_only = {"single_threaded": False, "multi_threaded": False, "openmp": False, "python": False, "gpu": False}
    condition = one.applies.model_copy(update=cost_only)
    settings = ("it writes settings of the group",) if one.apply and one.apply.write else ()
    return (*settings, *unmet(condition, machine, subject, None), *beyond_reach(one, machine, subject))


def arm(change: Applied, spawner: Spawner) -> Arm:
    """One run as the data sees it, and one look at the process."""

    def once() -> None:
        change.on()
        watcher = Watcher(promised(change.mitigation, change.launch))
        spawner.run(change.launch, on_started=watcher.start)
        watcher.stop()
        change.off()

    return once


def measure(arms: dict[str, Arm], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Give the seconds of each run and of a bare one right before or after it; each round begins with another arm."""
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in arms}
    names = list(arms)
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            if number % 2:
                other, own = timed(arms[BARE]), timed(arms[name])
            else:
                own, other = timed(arms[name]), timed(arms[BARE])
            seconds[name].append((own, other))
    return seconds


def timed(arm: Arm) -> float:
    """Run once."""
    started = time.perf_counter()
    arm()
    return time.perf_counter() - started


def summary(seconds: dict[str, list[tuple[float, float]]]) -> dict[str, dict[str, float]]:
    """Compare each run with the bare one beside it; medians."""
    return {
        name: {
            "run": 1e3 * statistics.median(own for own, _ in pairs),
            "beyond": 1e3 * statistics.median(own - bare for own, bare in pairs),
            "ratio": statistics.median(own / bare for own, bare in pairs),
        }
        for name, pairs in seconds.items()
    }


def table(result: dict[str, object]) -> str:
    """Lay it out, the most expensive first."""
    ms = result["ms"]
    left_out = result["left_out"]
    assert isinstance(ms, dict) and isinstance(left_out, dict)
    rows = sorted(ms.items(), key=lambda row: -row[1]["beyond"])
    lines = [f"{'mitigation':<30} {'ms/run':>8} {'beyond':>8} {'ratio':>6}   load {result['load_1min']:.1f}"]
    lines += [
        f"{name:<30} {row['run']:8.2f} {row['beyond']:8.2f} {row['ratio']:6.2f}"
        + (f"   above {TARGET_MS:.0f} ms" if row["beyond"] > TARGET_MS else "")
        for name, row in rows
    ]
    return "\n".join([*lines, *(f"left out: {name}: {why}" for name, why in left_out.items())])


if __name__ == "__main__":
    main()
