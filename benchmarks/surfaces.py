"""How well each model predicts a spread, and what it costs: `python benchmarks/surfaces.py [--part P] [--write]`.

published: leave-one-out errors on the 432 configurations of ../shared/data/moana-half (about twenty minutes).
costs: seconds to fit 810 points in 4 dimensions and 10,000 in 8.
With --write the numbers are kept in docs/results/surfaces.json, row by row, and surfaces.md beside it is written from
them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from vgo_agent.tools.statistics.surface.catalogue import HYBRID, MODELS
from vgo_agent.tools.statistics.surface.model import errors, groups, unseen
from vgo_agent.tools.statistics.values import FloatArray
from vgo_agent.tools.surface.axes import SurfaceAxis, axis_of, encode

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "docs/results/surfaces.json"
PAGE = ROOT / "docs/results/surfaces.md"
MOANA = ROOT.parent / "shared" / "data" / "moana-half" / "sample_input4d.csv"
SETTINGS = ("file_size_kb", "record_size_kb", "threads", "freq_khz")
TURBO = 3_001_000
Row = dict[str, Any]
WAYS = {"scaled": "inputs scaled to 0 to 1, and nothing else", "axes": "axes as `vgo-agent surface` chooses them"}


def main() -> None:
    """Measure one part or all, print, and perhaps write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all", help="default all")
    parser.add_argument("--models", default=",".join(MODELS), help="which models (default all)")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)} and its numbers")
    asked = parser.parse_args()
    with threadpool_limits(limits=1):  # as the product fits them
        for part in PARTS if asked.part == "all" else (asked.part,):
            for row in PARTS[part](asked.models.split(",")):
                print(json.dumps(row), flush=True)
                if asked.write:
                    keep(part, row)


def keep(part: str, row: Row) -> None:
    """Put a row in the place of the one that it measures anew, so that a benchmark may be cut off."""
    known: dict[str, Any] = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    there = known.get(part, {"rows": []})["rows"]
    others = [one for one in there if any(one[key] != row[key] for key in KEYS[part])]
    known[part] = {"day": str(date.today()), "on": machine(), "rows": [*others, row]}
    MEASURED.write_text(json.dumps(known, indent=1) + "\n")
    PAGE.write_text(page(known), encoding="utf-8")


def machine() -> str:
    """Say what it ran on."""
    return f"{platform.release()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, numpy {np.__version__}"


def published(models: list[str]) -> Iterator[Row]:
    """Leave one out: with inputs scaled alone, and with the axes of the product; Shepard also without turbo."""
    if not MOANA.exists():
        raise SystemExit(f"{MOANA} is not there: the published data lie beside the project, not in it.")
    whole = pl.read_csv(MOANA)
    for way in reversed(WAYS):
        for name in models:
            yield {"cells": whole.height, "way": way, "model": name, **left_out(whole, way, name)}
        if "shepard" in models:
            calm = whole.filter(pl.col("freq_khz") != TURBO)
            yield {"cells": calm.height, "way": way, "model": "shepard", **left_out(calm, way, "shepard")}


def left_out(table: pl.DataFrame, way: str, name: str) -> Row:
    """Give the errors of one model."""
    points, sd = inputs(table, way), np.sqrt(table["throughput_variance"].to_numpy())
    told = unseen(MODELS[name], points, np.log(sd), groups(len(sd), 1), True)
    return errors(sd, held(told, sd)).model_dump()


def inputs(table: pl.DataFrame, way: str) -> FloatArray:
    """Scale the settings."""
    axes = [axis_of(name, table[name].cast(pl.Float64).to_list()) for name in SETTINGS]
    if way == "scaled":
        axes = [SurfaceAxis(name=axis.name, scale="straight", levels=axis.levels) for axis in axes]
    return encode(axes, {name: table[name].cast(pl.Float64).to_list() for name in SETTINGS})


def held(told: FloatArray, sd: FloatArray) -> FloatArray:
    """Hold predictions of the log SD near the measured range, as the product does."""
    room = 0.25 * float(np.ptp(np.log(sd)))
    near: FloatArray = np.exp(np.clip(told, np.log(sd.min()) - room, np.log(sd.max()) + room))
    return near


def costs(models: list[str]) -> Iterator[Row]:
    """Time one fit from nothing, tuning included, and 1,000 predictions."""
    for size, dimensions in ((810, 4), (10_000, 8)):
        rng = np.random.default_rng(1)
        x = rng.random((size, dimensions))
        y = np.sin(6 * x[:, 0]) + x[:, 1] * x[:, 2] + np.maximum(x[:, 3] - 0.5, 0) + rng.normal(0, 0.1, size)
        for name in models:
            started, busy = time.perf_counter(), time.process_time()
            model = MODELS[name].fit(x, y)
            fitted, cpu = time.perf_counter(), time.process_time() - busy
            model.predict(rng.random((1000, dimensions)))
            told = time.perf_counter()
            row = {"points": size, "dimensions": dimensions, "model": name, "fit_s": fitted - started, "cpu_s": cpu}
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
            yield {**row, "predict_s": told - fitted, "peak_mib": peak, "load": os.getloadavg()[0]}


PARTS: dict[str, Callable[[list[str]], Iterator[Row]]] = {"published": published, "costs": costs}
KEYS = {"published": ("cells", "way", "model"), "costs": ("points", "model")}
"""What tells the rows of a part apart."""


def page(known: dict[str, Any]) -> str:
    """Write what was measured."""
    parts = [
        "# Surfaces of variability\n",
        "Written by `python benchmarks/surfaces.py --write` from [its rows](surfaces.json).\n",
    ]
    if "published" in known:
        parts.append(published_words(known["published"]))
    if "costs" in known:
        parts.append(costs_words(known["costs"]))
    return "\n".join(parts)


def published_words(part: dict[str, Any]) -> str:
    """Lay out the errors: a row a model, a column a way."""
    found = {(row["cells"], row["way"], row["model"]): row for row in part["rows"]}
    most = max(cells for cells, _, _ in found)
    names = [name for name in MODELS if (most, "scaled", name) in found]
    names.sort(key=lambda name: float(found.get((most, "axes", name), {}).get("relative", np.inf)))
    lines = ["| model | inputs scaled | axes chosen | typical factor (axes) |", "| --- | --- | --- | --- |"]
    for name in names:
        rows = [found.get((most, way, name)) for way in WAYS]
        shown = " | ".join("not run" if row is None else f"{row['relative']:.4f}" for row in rows)
        factor = "not run" if rows[1] is None else f"x{rows[1]['median_ratio']:.3f}"
        lines.append(f"| {name} | {shown} | {factor} |")
    return f"""## Published data: I/O throughput of the MOANA study

`benchmarks/surfaces.py --part published`, {part["day"]}; leave-one-out on the {most} configurations of
`moana-half`. The response is the SD, fitted as its logarithm; the error is sqrt(mse) / mean, on the SD itself; the
typical factor is the median of the larger of predicted / measured and its inverse. Inputs scaled: to 0 to 1, and
nothing else. Axes chosen: as `vgo-agent surface` does it, by the logarithm where a setting spans a decade, with evenly
spaced levels where two lie very close together. Length scales, smoothing and the weights of the hybrid are chosen ten
times, each time without the tenth of the points that is then left out one by one, so that no point has a say in its own
prediction.

{chr(10).join(lines)}

{gains(found, names, most)}

{shepard_words(found, most)}
"""


def gains(found: dict[tuple[int, str, str], Row], names: list[str], most: int) -> str:
    """Say by how much the hybrid beats the best single model, in each column and across."""
    if any((most, way, HYBRID) not in found for way in WAYS):
        return ""
    single = {
        way: min((float(found[(most, way, name)]["relative"]), name) for name in names if name != HYBRID)
        for way in WAYS
    }
    hybrid = {way: float(found[(most, way, HYBRID)]["relative"]) for way in WAYS}
    below = {way: f"{100 * (1 - hybrid[way] / single[way][0]):.1f} % below {single[way][1]}" for way in WAYS}
    whole = 100 * (1 - hybrid["axes"] / single["scaled"][0])
    return (
        f"The error of the hybrid is {below['scaled']}, the best single model, where inputs are scaled alone, and "
        f"{below['axes']} with the axes chosen. Hybrid and axes together are {whole:.1f} % below the best single model "
        "on scaled inputs."
    )


def shepard_words(found: dict[tuple[int, str, str], Row], most: int) -> str:
    """Say what one pair of frequencies does to linear Shepard."""
    calm = {way: row["relative"] for (cells, way, name), row in found.items() if cells < most and name == "shepard"}
    if set(calm) != set(WAYS):
        return ""
    return (
        "Linear Shepard depends on the scale: the frequency 3,001,000 kHz lies 1 MHz beside 3,000,000 kHz, so that the "
        "slope between the two is noise divided by next to nothing, and its planes explode. Without that frequency its "
        f"error is {calm['scaled']:.3f} on scaled inputs; with evenly spaced levels it needs no such care "
        f"({found[(most, 'axes', 'shepard')]['relative']:.3f} with it, {calm['axes']:.3f} without)."
    )


def costs_words(part: dict[str, Any]) -> str:
    """Lay out the seconds."""
    lines = ["| points | dimensions | model | fit | CPU time | 1,000 predictions |", "|" + " --- |" * 6]
    for row in part["rows"]:
        seconds = f"{row['fit_s']:.2f} s | {row['cpu_s']:.2f} s | {row['predict_s']:.2f} s"
        lines.append(f"| {row['points']:,} | {row['dimensions']} | {row['model']} | {seconds} |")
    peak, load = (max(row[key] for row in part["rows"]) for key in ("peak_mib", "load"))
    return f"""## Costs

`benchmarks/surfaces.py --part costs`, {part["day"]}, {part["on"]}, load {load:.1f} at most; from nothing, all tuning
included, one thread of linear algebra. The whole process had {peak:,} MiB at its peak.

{chr(10).join(lines)}

Of many points not all are used: of more than 600 a Gaussian process chooses length scales and noise on a random 300,
and rests on 1,500 at most; the hybrid chooses its weights on 1,000; radial functions are tuned on 1,000 and rest on 60
neighbours; a tree of the boosting sees 1,000. Of more than 2,000 points the errors are those of a random tenth.
"""


if __name__ == "__main__":
    main()
