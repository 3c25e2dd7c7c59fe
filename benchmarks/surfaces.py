"""How well each model predicts a spread, and what it costs: `python benchmarks/surfaces.py [--part P] [--write]`.

published: leave-one-out errors on the 432 configurations of ../shared/data/moana-half (about ten minutes).
costs: seconds to fit 810 points in 4 dimensions and 10,000 in 8.
Each part keeps its numbers in docs/surfaces.json, from which docs/surfaces.md is written.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from vgo_agent.tools.statistics.surface.catalogue import HYBRID, MODELS
from vgo_agent.tools.statistics.surface.errors import errors, groups, unseen
from vgo_agent.tools.statistics.values import FloatArray
from vgo_agent.tools.surface.axes import Axis, axis_of, encode

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "docs" / "surfaces.json"
PAGE = ROOT / "docs" / "surfaces.md"
MOANA = ROOT.parent / "shared" / "data" / "moana-half" / "sample_input4d.csv"
SETTINGS = ("file_size_kb", "record_size_kb", "threads", "freq_khz")
TURBO = 3_001_000
WAYS = {"scaled": "inputs scaled to 0 to 1, and nothing else", "axes": "axes as `vgo-agent surface` chooses them"}


def main() -> None:
    """Measure one part or all, print, and perhaps write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all", help="default all")
    parser.add_argument("--models", default=",".join(MODELS), help="which models (default all)")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)} and its numbers")
    asked = parser.parse_args()
    known: dict[str, Any] = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    for part in PARTS if asked.part == "all" else (asked.part,):
        known[part] = {"day": str(date.today()), "on": machine(), "rows": PARTS[part](asked.models.split(","))}
        print(json.dumps(known[part], indent=1), flush=True)
        if asked.write:
            MEASURED.write_text(json.dumps(known, indent=1) + "\n")
            PAGE.write_text(page(known), encoding="utf-8")


def machine() -> str:
    """Say what it ran on."""
    return f"{platform.release()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, numpy {np.__version__}"


def published(models: list[str]) -> list[dict[str, Any]]:
    """Leave one out: with inputs scaled alone, with the axes of the product, and both without the turbo frequency."""
    if not MOANA.exists():
        raise SystemExit(f"{MOANA} is not there: the published data lie beside the project, not in it.")
    whole = pl.read_csv(MOANA)
    rows = []
    for turbo in (True, False):
        table = whole if turbo else whole.filter(pl.col("freq_khz") != TURBO)
        sd = np.sqrt(table["throughput_variance"].to_numpy())
        for way in WAYS:
            points = inputs(table, way)
            for name in models:
                started = time.perf_counter()
                told = held(unseen(MODELS[name], points, np.log(sd), groups(len(sd), 1), True), sd)
                found = errors(sd, told)
                seconds = time.perf_counter() - started
                rows.append({"turbo": turbo, "way": way, "model": name, "seconds": seconds, **found.model_dump()})
                print(f"turbo {turbo}, {way}, {name}: {found.relative:.4f} in {seconds:.0f} s", flush=True)
    return rows


def inputs(table: pl.DataFrame, way: str) -> FloatArray:
    """Scale the settings."""
    axes = [axis_of(name, table[name].cast(pl.Float64).to_list()) for name in SETTINGS]
    if way == "scaled":
        axes = [Axis(name=axis.name, scale="straight", levels=axis.levels) for axis in axes]
    return encode(axes, {name: table[name].cast(pl.Float64).to_list() for name in SETTINGS})


def held(told: FloatArray, sd: FloatArray) -> FloatArray:
    """Hold predictions of the log SD near the measured range, as the product does."""
    room = 0.25 * float(np.ptp(np.log(sd)))
    near: FloatArray = np.exp(np.clip(told, np.log(sd.min()) - room, np.log(sd.max()) + room))
    return near


def costs(models: list[str]) -> list[dict[str, Any]]:
    """Time one fit from nothing, tuning included, and 1,000 predictions."""
    rows = []
    for size, dimensions in ((810, 4), (10_000, 8)):
        rng = np.random.default_rng(1)
        x = rng.random((size, dimensions))
        y = np.sin(6 * x[:, 0]) + x[:, 1] * x[:, 2] + np.maximum(x[:, 3] - 0.5, 0) + rng.normal(0, 0.1, size)
        for name in models:
            started = time.perf_counter()
            model = MODELS[name].fit(x, y)
            fitted = time.perf_counter()
            model.predict(rng.random((1000, dimensions)))
            told = time.perf_counter()
            row = {"points": size, "dimensions": dimensions, "model": name, "fit_s": fitted - started}
            rows.append({**row, "predict_s": told - fitted})
            print(f"{size} x {dimensions} {name}: {fitted - started:.2f} s", flush=True)
    return rows


PARTS: dict[str, Callable[[list[str]], list[dict[str, Any]]]] = {"published": published, "costs": costs}


def page(known: dict[str, Any]) -> str:
    """Write what was measured."""
    parts = ["# Surfaces of variability\n\nWritten by `python benchmarks/surfaces.py --write`.\n"]
    if "published" in known:
        parts.append(published_words(known["published"]))
    if "costs" in known:
        parts.append(costs_words(known["costs"]))
    return "\n".join(parts)


def published_words(part: dict[str, Any]) -> str:
    """Lay out the errors: a row a model, a column a way."""
    rows = part["rows"]
    ways = [(turbo, way) for turbo in (True, False) for way in WAYS]
    found = {(row["turbo"], row["way"], row["model"]): row for row in rows}
    names = sorted({row["model"] for row in rows}, key=lambda name: found[(True, "axes", name)]["relative"])
    head = ["model", "432, scaled", "432, axes", "403, scaled", "403, axes", "typical factor (432, axes)"]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for name in names:
        shown = [f"{found[(turbo, way, name)]['relative']:.4f}" for turbo, way in ways]
        lines.append(f"| {name} | {' | '.join(shown)} | {found[(True, 'axes', name)]['median_ratio']:.4f} |")
    return f"""## Published data: I/O throughput of the MOANA study

`benchmarks/surfaces.py --part published`, {part["day"]}; leave-one-out on the 432 configurations of
`moana-half` (403 without the turbo frequency, 3,001,000 kHz). The response is the SD, fitted as its logarithm; the
error is sqrt(mse) / mean, on the SD itself. scaled: {WAYS["scaled"]}; axes: {WAYS["axes"]}
(logarithms where a setting spans a decade, evenly spaced levels where two lie very close together). Length scales,
smoothing and the weights of the hybrid are chosen ten times, each time without the tenth of the points that is then
left out one by one.

{chr(10).join(lines)}

{gains(found, names, ways)}
"""


def gains(found: dict[tuple[bool, str, str], dict[str, Any]], names: list[str], ways: list[tuple[bool, str]]) -> str:
    """Say by how much the hybrid beats the best single model, in each column."""
    words = []
    for turbo, way in ways:
        single = min((found[(turbo, way, name)]["relative"], name) for name in names if name != HYBRID)
        gain = 1 - found[(turbo, way, HYBRID)]["relative"] / single[0]
        words.append(f"{432 if turbo else 403}, {way}: {100 * gain:.1f} % below {single[1]}")
    plain = min(found[(True, "scaled", name)]["relative"] for name in names if name != HYBRID)
    whole = 1 - found[(True, "axes", HYBRID)]["relative"] / plain
    return (
        f"The error of the hybrid is, with the same inputs, {'; '.join(words)}. The hybrid with its axes is "
        f"{100 * whole:.1f} % below the best single model on inputs that are scaled alone."
    )


def costs_words(part: dict[str, Any]) -> str:
    """Lay out the seconds."""
    lines = ["| points | dimensions | model | fit | 1,000 predictions |", "| --- | --- | --- | --- | --- |"]
    for row in part["rows"]:
        seconds = f"{row['fit_s']:.2f} s | {row['predict_s']:.2f} s"
        lines.append(f"| {row['points']:,} | {row['dimensions']} | {row['model']} | {seconds} |")
    return f"""## Costs

`benchmarks/surfaces.py --part costs`, {part["day"]}, {part["on"]}; from nothing, all tuning included.

{chr(10).join(lines)}
"""


if __name__ == "__main__":
    main()
