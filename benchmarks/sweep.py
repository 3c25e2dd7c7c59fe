"""The ready example of fio, from the sweep to the steadiest setting: `python benchmarks/sweep.py [--save]` (5 minutes).

It runs the commands that a user would: sweep, surface fit, predict, best and show; --save writes docs/results/sweep.md
with its pictures. --small gives each cell two runs, to see that it works.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

COMMAND = Path(sys.executable).with_name("vgo-agent")
DOCS = Path(__file__).parents[1] / "docs/results"
RUNS, KEPT = "vgo-runs/sweep-fio", "spread"
ENOUGH = "mean>=0.8*best"
BETWEEN, BEYOND = "file=32768 record=128 threads=2", "file=16384 record=64 threads=8"
FROM_FIT = {"shares": "Shares", "front": "Pareto front", "map": "Heat map", "fit": "Predicted against measured"}
DRAWN = {"best": "The steadiest setting that is fast enough", "record": "Slice along the size of a write"}


def main() -> None:
    """Measure, print, and with --save write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true", help="write docs/results/sweep.md and its pictures")
    parser.add_argument("--small", action="store_true", help="two runs a cell, and one model")
    parser.add_argument("--at", type=Path, default=None, metavar="DIR", help="a directory on the disk to be measured")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.at) as folder:
        text = page(Path(folder), arguments.small)
        print(text)
        if arguments.save:
            (DOCS / "sweep.md").write_text(text, encoding="utf-8")
            for name in FROM_FIT:
                shutil.copy(Path(folder) / KEPT / f"{name}.svg", DOCS / f"sweep-{name}.svg")
            for name in DRAWN:
                shutil.copy(Path(folder) / f"{name}.svg", DOCS / f"sweep-{name}.svg")


def page(folder: Path, small: bool) -> str:
    """Run every command, and lay out what it says."""
    few = " --min-runs 2 --max-runs 2" if small else ""
    fast = " --models gaussian" if small else ""
    swept = said(folder, f"sweep fio -q{few}")
    facts = json.loads((folder / RUNS / "answer.json").read_text())
    fitted = said(folder, f"surface fit {RUNS} --save {KEPT}{fast}")
    load = os.getloadavg()[0]
    parts = [
        "# A sweep of fio, and the surface of its spread\n",
        f"Written by `python benchmarks/sweep.py --save{' --small' * small}` on {date.today()}: Linux "
        f"{platform.release()}, {os.cpu_count()} CPUs, {facts['cells']} cells in {facts['runs']} runs, load {load:.1f} "
        "after the sweep. The runs are random writes into the page cache, as MOANA's; a larger mean is better.\n",
        swept,
        "## Which model, and what explains the spread\n",
        fitted,
        *(f"![{title}](sweep-{name}.svg)\n" for name, title in FROM_FIT.items()),
        "## A setting between those that were measured, and one beyond\n",
        said(folder, f"surface predict {KEPT} {BETWEEN}"),
        said(folder, f"surface predict {KEPT} {BEYOND}"),
        "## The steadiest setting that is fast enough\n",
        said(folder, f"surface best {KEPT} --minimise sd --subject-to '{ENOUGH}' --picture best.svg"),
        f"![{DRAWN['best']}](sweep-best.svg)\n",
        "## A slice\n",
        said(folder, f"surface show {KEPT} --axes record --at threads=2 --picture record.svg"),
        f"![{DRAWN['record']}](sweep-record.svg)",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def said(folder: Path, words: str) -> str:
    """Run a command there, and show it with its answer."""
    ended = subprocess.run(
        [COMMAND, *shlex.split(words)], cwd=folder, stdout=subprocess.PIPE, text=True, check=True, env=environment()
    )
    return f"```\n$ vgo-agent {words}\n{ended.stdout.replace(str(folder), '.').rstrip()}\n```\n"


def environment() -> dict[str, str]:
    """Give the width of a page."""
    return {**os.environ, "COLUMNS": "120"}


if __name__ == "__main__":
    main()
