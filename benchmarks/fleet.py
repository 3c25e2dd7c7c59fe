"""Plan a fleet by simulation: runs on each node that name a slow one, and what the analysis of 1,000 nodes costs.

python benchmarks/fleet.py [--fleets 200] [--write docs/fleet.md]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from vgo_agent.tools.analysis.question import Question
from vgo_agent.tools.nodes.analyse import Nodes, fleet
from vgo_agent.tools.recorded.shapes import Design
from vgo_agent.tools.statistics.fleet.planning import named_share

SLOW, ORDINARY, MARGIN = 0.05, 0.01, 0.02
NODES, RUNS, WITHIN = (10, 100, 1000), (5, 10, 20, 40, 80), (0.03, 0.1)
MOST_IN_A_MINUTE = 60.0
PAGE = """# A fleet, planned

Written by `python benchmarks/fleet.py --fleets {fleets} --write docs/fleet.md`; all of it is simulated.

## Runs on each node that name a node {slow:.0%} off

Share of {fleets} simulated fleets in which the one slow node is named, and in brackets that in which an ordinary one
is (5 % are allowed). Ordinary nodes differ by {ordinary:.0%} (SD); runs of a node by 3 or 10 %; a difference below
{margin:.0%} is not told. The price is nodes times runs times what a run takes.

{power}

More runs do not help where ordinary nodes differ as much as the slow one does: ten nodes tell little about what is
ordinary.

## The analysis

{analysis}
"""


def main() -> int:
    """Print the page, or write it; 1 where the analysis takes more than a minute of CPU."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fleets", type=int, default=200)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    seconds, words = _analysis()
    page = PAGE.format(
        fleets=arguments.fleets,
        slow=SLOW,
        ordinary=ORDINARY,
        margin=MARGIN,
        power=_power(arguments.fleets),
        analysis=words,
    )
    if arguments.write:
        arguments.write.write_text(page)
    print(page)
    return int(seconds > MOST_IN_A_MINUTE)


def _power(fleets: int) -> str:
    head = "| nodes | runs differ by | " + " | ".join(f"{runs} runs" for runs in RUNS) + " |"
    lines = [head, "|---|---|" + "---|" * len(RUNS)]
    for nodes in NODES:
        for within in WITHIN:
            cells = [_cell(nodes, runs, within, fleets) for runs in RUNS]
            lines.append(f"| {nodes:,} | {within:.0%} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(nodes: int, runs: int, within: float, fleets: int) -> str:
    named, wrong = named_share(
        nodes=nodes, runs=runs, slow_by=SLOW, within=within, between=ORDINARY, margin=MARGIN, fleets=fleets
    )
    return f"{named:.0%} ({wrong:.0%})"


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
    design = Design("time_s", "s", True, outcome, names, values, np.arange(codes.size), ordered=True)
    begun = time.process_time()
    found = fleet(design, Nodes(tuple(f"n{node:04d}" for node in range(nodes)), codes), Question())
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
