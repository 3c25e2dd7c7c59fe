"""How much of its budget a diagnosis uses: `python benchmarks/budget.py [--budgets 30 60 120] [--only NAME ...]`.

Diagnoses every built-in workload that can show its cause here through the installed command, once with each budget, and
divides the seconds from the start of the command to its exit by those that were given. `--write FILE` keeps the page.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

from vgo_agent.evals.workloads.registry import find, missing, workloads
from vgo_agent.tools.verdict import from_json, left_for_time, title

BUDGETS = (30.0, 60.0, 120.0)
LIMIT = 1.03
"""No diagnosis may use more of its budget."""
COMMAND = Path(sys.executable).with_name("vgo-agent")


class Used(NamedTuple):
    """One diagnosis."""

    workload: str
    budget_s: float
    used_s: float
    verdict: str
    left: int
    """How many mitigations or steps the verdict names as not tried for want of time."""

    @property
    def share(self) -> float:
        """Of the budget."""
        return self.used_s / self.budget_s


def main() -> int:
    """Diagnose, and print or write the distribution; 1 where a budget was not kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", type=float, nargs="+", default=list(BUDGETS), metavar="S")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these workloads")
    parser.add_argument("--write", type=Path, metavar="FILE", help="keep the page, such as docs/results/budget.md")
    asked = parser.parse_args()
    names = [find(name).name for name in asked.only] or [one.name for one in workloads() if missing(one) is None]
    load = os.getloadavg()[0]
    every = []
    for budget_s in asked.budgets:
        for name in names:
            every.append(used(name, budget_s))
            print(line(every[-1]), file=sys.stderr, flush=True)
    text = page(every, load)
    print(text)
    if asked.write:
        asked.write.write_text(text)
    return 0 if all(one.share <= LIMIT for one in every) else 1


def used(name: str, budget_s: float) -> Used:
    """Diagnose one workload in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        words = [str(COMMAND), "demo", name, "--budget", f"{budget_s:g}", "--allow", "system", "--json", "--quiet"]
        environment = os.environ | {"XDG_CONFIG_HOME": folder}
        begun = time.monotonic()
        done = subprocess.run(
            words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        seconds = time.monotonic() - begun
    try:
        said = json.loads(done.stdout)
    except ValueError:
        said = {"error": done.stderr.strip().rpartition("\n")[2]}
    if "error" in said:
        return Used(name, budget_s, seconds, f"error: {said['error']}", 0)
    verdict = from_json(said["verdict"])
    return Used(name, budget_s, seconds, title(verdict), len(left_for_time(verdict)))


def line(one: Used) -> str:
    """One row of the table."""
    return f"| {one.workload} | {one.budget_s:g} | {one.used_s:.1f} | {one.share:.3f} | {one.verdict} | {one.left} |"


def page(every: Sequence[Used], load: float) -> str:
    """Write the distribution by budget, then every diagnosis."""
    head = "| budget, s | diagnoses | least | median | most | above 1.03 |\n|---|---|---|---|---|---|"
    rows = []
    for budget_s in dict.fromkeys(one.budget_s for one in every):
        shares = [one.share for one in every if one.budget_s == budget_s]
        above = sum(share > LIMIT for share in shares)
        middle = statistics.median(shares)
        rows.append(
            f"| {budget_s:g} | {len(shares)} | {min(shares):.3f} | {middle:.3f} | {max(shares):.3f} | {above} |"
        )
    table = "| workload | budget, s | used, s | used / given | verdict | not tried |\n|---|---|---|---|---|---|"
    return "\n".join(
        [
            "# The budget is kept",
            "",
            "Seconds from the start of `vgo-agent demo NAME --allow system --budget S` to its exit, over S. Made by "
            f"`python benchmarks/budget.py` on {os.cpu_count()} CPUs on {date.today()}, load {load:.1f} before.",
            "",
            head,
            *rows,
            "",
            table,
            *map(line, every),
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
