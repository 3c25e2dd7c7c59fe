"""CPU and memory of `analyze` and `compare` beyond start-up, how they grow, and a peer on the same table.

python benchmarks/analysis.py [--largest ROWS] [--plot docs/results/analysis-speed.png]

The peer is one Mann-Whitney test a column (scipy), without permutation, clusters, trees or intervals: the least that
anyone does with such a table. Tables are Parquet; start-up is the same command on twenty runs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

SCRIPT = str(Path(sys.executable).with_name("vgo-agent"))
SIZES = ((1000, 50), (10_000, 50), (100_000, 50), (1000, 200), (100_000, 100), (1_000_000, 200))
TARGETS = {(1000, 50): "cpu_s <= 2", (100_000, 100): "wall_s <= 30", (1_000_000, 200): "wall_s <= 300, peak_gb <= 12"}
ARM = 10_000
PEER = """
import sys, polars as pl, numpy as np
from scipy.stats import mannwhitneyu
frame = pl.read_parquet(sys.argv[1]).to_numpy()
slow = frame[:, 0] > np.median(frame[:, 0])
mannwhitneyu(frame[slow], frame[~slow], axis=0)
"""


class Cost(NamedTuple):
    """What a child process cost."""

    cpu_s: float
    wall_s: float
    peak_gb: float


def table(rows: int, columns: int, folder: Path) -> Path:
    """Write a table with one cause, a third collinear, a third proportional to time, a third unrelated."""
    rng = np.random.default_rng(1)
    cause = rng.random(rows) < 0.2
    outcome = rng.normal(1, 0.05, rows) + 0.3 * cause
    third = columns // 3
    shared = rng.lognormal(0, 0.4, rows)
    data = {"outcome": outcome, "cause": rng.poisson(np.where(cause, 50, 10)).astype(float)}
    for place in range(columns - 1):
        noise = rng.normal(1, 0.05, rows)
        base = shared if place < third else outcome if place < 2 * third else rng.lognormal(0, 0.4, rows)
        data[f"c{place}"] = base * noise
    path = folder / f"{rows}x{columns}.parquet"
    pl.DataFrame(data).write_parquet(path)
    return path


def cost(argv: list[str]) -> Cost:
    """Run a child to its end."""
    started = time.perf_counter()
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - started
    if status:
        raise SystemExit(f"{argv} ended with status {status}.")
    return Cost(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 2**20)


def main() -> None:
    """Time every size, print ratios, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=1_000_000, help="rows of the largest table")
    parser.add_argument("--plot", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        base = analysed(table(20, 5, folder))
        found = [measured(rows, columns, folder, base) for rows, columns in SIZES if rows <= asked.largest]
        pair = compared(folder)
    print(json.dumps({"start_up": base._asdict(), "analyze": found, "compare": pair}, indent=2))
    if asked.plot:
        draw(found, asked.plot)


def analysed(path: Path) -> Cost:
    """Run the command as a user does."""
    return cost([SCRIPT, "analyze", str(path), "--outcome", "outcome", "--lower-is-better", "--json", "--quiet"])


def measured(rows: int, columns: int, folder: Path, base: Cost) -> dict[str, object]:
    """Time one size."""
    path = table(rows, columns, folder)
    whole, peer = analysed(path), cost([sys.executable, "-c", PEER, str(path)])
    path.unlink()
    return {
        "rows": rows,
        "columns": columns,
        "cpu_s": round(whole.cpu_s - base.cpu_s, 2),
        "wall_s": round(whole.wall_s - base.wall_s, 2),
        "peak_gb": round(whole.peak_gb, 2),
        "of_peer": round(whole.cpu_s / peer.cpu_s, 1),
        "target": TARGETS.get((rows, columns), ""),
    }


def compared(folder: Path) -> dict[str, object]:
    """Time two arms, beyond two of twenty runs."""
    base, found = arms(folder, 20), arms(folder, ARM)
    beyond = {"cpu_s": round(found.cpu_s - base.cpu_s, 2), "wall_s": round(found.wall_s - base.wall_s, 2)}
    return {"runs_an_arm": ARM, **beyond, "target": "cpu_s <= 3"}


def arms(folder: Path, runs: int) -> Cost:
    """Compare two arms as a user does."""
    rng = np.random.default_rng(2)
    for name, scale in (("a", 1.0), ("b", 0.8)):
        pl.DataFrame({"outcome": 1 + scale * rng.lognormal(0, 0.5, runs)}).write_parquet(folder / f"{name}.parquet")
    files = [str(folder / f"{name}.parquet") for name in "ab"]
    return cost([SCRIPT, "compare", *files, "--metric", "outcome", "--json"])


def draw(found: list[dict[str, object]], path: Path) -> None:
    """Draw growth on logarithmic axes, with a line of linear growth through the smallest."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.add_subplot()
    cells = np.array([float(str(one["rows"])) * float(str(one["columns"])) for one in found])
    seconds = np.array([float(str(one["cpu_s"])) for one in found])
    axes.loglog(cells, seconds, "o", color="#0072b2", label="vgo-agent analyze, beyond start-up")
    for place, (one, x, y) in enumerate(zip(found, cells, seconds, strict=True)):
        side = ("top", "left") if place % 2 else ("bottom", "right")
        axes.annotate(f" {one['rows']:,} x {one['columns']} ", (x, y), fontsize=7, va=side[0], ha=side[1])
    ends = np.array([cells.min(), cells.max()])
    axes.loglog(ends, seconds.max() * ends / cells.max(), ":", color="#8a8f98", label="linear growth")
    axes.set(xlabel="rows x columns", ylabel="CPU seconds", title="Growth of the whole analysis")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
