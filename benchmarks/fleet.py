"""Plan a fleet by simulation: runs on each node that name a slow one, and what scheduling and analysis of 1,000 cost.

python benchmarks/fleet.py [--fleets 200] [--write docs/results/fleet.md]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from datetime import date
from pathlib import Path

import dask
import numpy as np
from cluster import QUIET, TRUE, simulated, subject
from distributed import get_worker

from vgo_agent.tools.analysis.analysis import AnalysisOptions
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.experiment.conditions import AppliedConditions
from vgo_agent.tools.experiment.experiment import Experiment, carry_out
from vgo_agent.tools.experiment.schedules import Complete
from vgo_agent.tools.fleet.bench import FleetBench
from vgo_agent.tools.fleet.host import HostAnswer, Order
from vgo_agent.tools.nodes.analyse import Nodes, fleet
from vgo_agent.tools.recorded.recorded import Observations
from vgo_agent.tools.statistics.fleet.levels import odd

SLOW, ORDINARY, MARGIN = 0.05, 0.01, 0.02
NODES, RUNS, WITHIN = (10, 100, 1000), (5, 10, 20, 40, 80), (0.03, 0.1)
MOST_IN_A_MINUTE = 60.0
PAGE = """# A fleet, planned

Written by `python benchmarks/fleet.py --fleets {fleets} --write docs/results/fleet.md` on {today};
all times of programs are simulated.

## 1,000 nodes through the real scheduler

A real Dask scheduler and the executor of `--on` with {hosts:,} workers in one process, each a host of its own that
answers at once with a time that is drawn: ordinary nodes differ by {ordinary:.0%} (SD), runs by 2 %, {known} nodes are
10 % slow, and a third of the others has a neighbour that comes and goes, which costs 2 %.

{scheduled}

## Runs on each node that name a node {slow:.0%} off

Share of {fleets} simulated fleets in which the one slow node is named, and in brackets that in which an ordinary one
is (5 % are allowed). Ordinary nodes differ by {ordinary:.0%} (SD); runs of a node by 3 or 10 %; a difference below
{margin:.0%} is not told. The price is nodes times runs times what a run takes.

{power}

More runs do not help where ordinary nodes differ as much as the slow one does: ten nodes tell little about what is
ordinary.

## The analysis

With 50 columns to explain by: {analysis}
"""
HOSTS, KNOWN, EACH, NEIGHBOUR = 1000, 10, 30, 0.02
SPELL = 10
"""Runs of a node for which its neighbour is there, or is not."""


def main() -> int:
    """Print the page, or write it; 1 where the analysis takes more than a minute of CPU."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fleets", type=int, default=200)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    seconds, words = _analysis()
    page = PAGE.format(
        fleets=arguments.fleets,
        today=date.today(),
        slow=SLOW,
        ordinary=ORDINARY,
        margin=MARGIN,
        hosts=HOSTS,
        known=KNOWN,
        scheduled=_scheduled(),
        power=_power(arguments.fleets),
        analysis=words,
    )
    if arguments.write:
        arguments.write.write_text(page)
    print(page)
    return int(seconds > MOST_IN_A_MINUTE)


def deliver(order: str, limit_s: float) -> str:
    """Give a row for each turn, as the host would that is asked; drawn by numbers alone, for messages bring copies."""
    number, rows = int(get_worker().name), []
    level = np.random.default_rng([1, number]).normal(0, ORDINARY) + np.log1p(2 * SLOW) * (number < KNOWN)
    for block in Order.model_validate_json(order).blocks:
        beside = number % 3 == 0 and number >= KNOWN and block.number // (HOSTS * SPELL) % 2
        noise = np.random.default_rng([2, block.number]).normal(0, 0.02)
        wall_s = float(np.exp(level + np.log1p(NEIGHBOUR * beside) + noise))
        row = {"ok": 1, "exit_code": 0, "survivors": 0, "outcome": wall_s, "wall_s": wall_s, "layers": ""}
        rows.append({**row, "condition": block.order[0], "pair": block.number, "began_s": time.time()})
    return HostAnswer(rows=tuple(rows)).model_dump_json()


def _scheduled() -> str:
    """Run the whole fleet through a real scheduler, and analyse what came back."""
    quiet = dask.config.set(QUIET)
    with quiet, tempfile.TemporaryDirectory() as folder, simulated(HOSTS, deliver) as there:
        bench = FleetBench(subject(), there, Path(folder), Launch(argv=(TRUE,)))
        with bench.series("c001") as series:
            began = time.perf_counter()
            conditions, schedule = AppliedConditions(bench), Complete(("baseline",), HOSTS * EACH, "")
            carry_out(Experiment(conditions, schedule), series)
            seconds = time.perf_counter() - began
        rows = series.rows
    counts = Counter(str(row["host"]) for row in rows)
    names = tuple(sorted(counts))
    place = {name: code for code, name in enumerate(names)}
    codes = np.array([place[str(row["host"])] for row in rows])
    outcome = np.array([float(row["outcome"]) for row in rows])
    order = np.arange(codes.size)
    design = Observations("time_s", "s", True, outcome, (), np.empty((codes.size, 0)), order, ordered=True)
    found = fleet(design, Nodes(names, codes), AnalysisOptions())
    odd, slow = {node.name for node in found.nodes if node.odd}, {f"s{number}" for number in range(KNOWN)}
    return (
        f"{len(rows):,} runs, {min(counts.values())} to {max(counts.values())} a node, in {seconds:.0f} s: "
        f"{1e3 * seconds / len(rows):.1f} ms a run, {60 * len(rows) / seconds:,.0f} runs a minute, all of it "
        f"scheduling, messages and bookkeeping.\nOf the {KNOWN} slow nodes {len(odd & slow)} were named, and "
        f"{len(odd - slow)} of the {HOSTS - KNOWN} others; {found.shares.between:.0%} of variance is between them.\n"
        f"Were a run a minute long, all of it would take {EACH} minutes and {HOSTS * EACH / 60:,.0f} node hours."
    )


def _power(fleets: int) -> str:
    head = "| nodes | runs differ by | " + " | ".join(f"{runs} runs" for runs in RUNS) + " |"
    lines = [head, "|---|---|" + "---|" * len(RUNS)]
    for nodes in NODES:
        for within in WITHIN:
            cells = [_cell(nodes, runs, within, fleets) for runs in RUNS]
            lines.append(f"| {nodes:,} | {within:.0%} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(nodes: int, runs: int, within: float, fleets: int) -> str:
    named, wrong = _named_share(nodes, runs, within, fleets)
    return f"{named:.0%} ({wrong:.0%})"


def _named_share(nodes: int, runs: int, within: float, fleets: int) -> tuple[float, float]:
    """Simulate fleets with one slow node: share in which it is named, and in which another one is.

    `within`: SD of the runs of a node, as a share.
    """
    rng = np.random.default_rng(1)
    named = wrong = 0
    sizes = np.full(nodes, runs)
    for _ in range(fleets):
        level = rng.normal(0, np.log1p(ORDINARY), nodes)
        level[0] += np.log1p(SLOW)
        error = np.log1p(within) * np.sqrt(rng.chisquare(runs - 1, nodes) / (runs - 1) / runs)
        seen = level + rng.normal(0, np.log1p(within) / np.sqrt(runs), nodes)
        found = odd(seen, error, sizes, margin=np.log1p(MARGIN)).odd
        named += bool(found[0])
        wrong += bool(found[1:].any())
    return named / fleets, wrong / fleets


def _analysis() -> tuple[float, str]:
    """Analyse 1,000 nodes with 30 runs each of 50 columns: ten slow nodes, half of all drifting."""
    rng = np.random.default_rng(1)
    nodes, runs, columns = 1000, 30, 50
    codes = np.tile(np.arange(nodes), runs)
    level = rng.normal(0, ORDINARY, nodes)
    level[:10] += np.log1p(2 * SLOW)
    drift = np.where(codes % 2 == 0, np.linspace(0, 0.01, codes.size), 0)
    values = np.asfortranarray(rng.normal(size=(codes.size, columns)))
    outcome = np.exp(level[codes] + drift + 0.02 * values[:, 0] + rng.normal(0, 0.02, codes.size))
    names = tuple(f"column_{place}" for place in range(columns))
    design = Observations("time_s", "s", True, outcome, names, values, np.arange(codes.size), ordered=True)
    begun = time.process_time()
    found = fleet(design, Nodes(tuple(f"n{node:04d}" for node in range(nodes)), codes), AnalysisOptions())
    seconds = time.process_time() - begun
    odd = {node.name for node in found.nodes if node.odd}
    slow = {f"n{node:04d}" for node in range(10)}
    words = (
        f"1,000 nodes with 30 runs each and 50 columns: {seconds:.1f} s of CPU. Of ten nodes that were 10 % slow "
        f"{len(odd & slow)} were named, and {len(odd - slow)} of the 990 others; {found.shares.between:.0%} of the "
        f"variance lies between nodes; within nodes: {found.within.reason.rstrip('.')}."
    )
    return seconds, words


if __name__ == "__main__":
    raise SystemExit(main())
