"""A sweep in words: how it ended, the best cells, every cell in a line."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...tools import document as doc
from ...tools.execution.launcher_time import LauncherAlone
from ...tools.subject import Subject
from ...tools.sweep.cell import response_of
from ...tools.sweep.sweep import Sweep
from .numbers import level_text, number, percent, quantity, statistic_name

MOST_LINES = 200
"""Cells in the report; cells.csv has all."""
Row = Mapping[str, Any]


def document(sweep: Sweep, cells: Sequence[Row], summary: Mapping[str, Any]) -> doc.Document:
    """Give all that a page says of a sweep; `summary` is the object of `--json`."""
    unit = str(summary["unit"])
    more = f"... and {len(cells) - MOST_LINES} more in `cells.csv`." if len(cells) > MOST_LINES else ""
    return doc.Document(
        Path(summary["folder"]).name,
        "sweep",
        (
            doc.Command(" ".join(map(_word, sweep.space.command)), language=""),
            *answer(sweep, summary),
            doc.Figure("sweep", "Cells that were given up are left out."),
            doc.Section("Cells", (_cells(sweep, cells[:MOST_LINES], unit), more)),
            "`runs.csv` holds one row for each run, `cells.csv` one for each cell.",
        ),
    )


def answer(sweep: Sweep, summary: Mapping[str, Any]) -> tuple[doc.Block, ...]:
    """Say how a sweep ended, which cells are best, and what to bear in mind."""
    return (
        doc.Headline("", _sentence(summary, sweep)),
        doc.Listing(best_words(summary["best"], summary["unit"])),
        *map(doc.Note, _notes(summary, sweep)),
    )


def _word(word: str) -> str:
    """Quote a word where a shell would split it; braces of a parameter need no quotes to be read."""
    plain = word.replace("{", "").replace("}", "")
    return word if shlex.quote(plain) == plain else shlex.quote(word)


def sweep_summary(
    sweep: Sweep, cells: Sequence[Row], subject: Subject, folder: Path, launcher: LauncherAlone | None = None
) -> dict[str, Any]:
    """Give the object of `--json`, without the files that were written."""
    given_up = [row for row in cells if row["reason"]]
    return {
        "folder": str(folder),
        "command": list(sweep.space.command),
        "ended": sweep.ended or "cut short",
        "outcome": subject.outcome,
        "unit": subject.unit,
        "lower_is_better": subject.lower_is_better,
        "design": sweep.space.design.kind,
        "seed": sweep.seed,
        "settings": list(sweep.space.parameters),
        "cells": len(cells),
        "enough": sum(row["enough"] for row in cells),
        "impossible": [_named(row) | {"reason": row["reason"]} for row in given_up],
        "runs": sweep.runs,
        "failed": sum(row["failed"] for row in cells),
        "spent_s": sweep.spent_s,
        "dropped": list(sweep.told),
        "response": sweep.space.design.response,
        "best": (found := best(sweep, cells)),
        "headline": next(iter(best_words(found, subject.unit)), "no cell could be run"),
        **(_beside(launcher, sweep, cells) if launcher else {}),
    }


def _beside(launcher: LauncherAlone, sweep: Sweep, cells: Sequence[Row]) -> dict[str, Any]:
    """Hold the launcher against the cell whose runs are the shortest, where it weighs most; nothing where none ran."""
    ran = [row for row in cells if row["mean"] is not None]
    shortest = min(ran, key=lambda row: row["mean"], default=None)
    if shortest is None:
        return {}
    rows = sweep.rows_of(sweep.cell(shortest["cell"]))
    found = launcher.beside(np.array([row["outcome"] for row in rows if row["ok"]]))
    words = found.words_of(f"of {shortest['cell']}, where it weighs most") if found else ""
    return {"launcher": {"cell": shortest["cell"], **found.model_dump(), "words": words}} if found and words else {}


def _named(row: Row) -> dict[str, Any]:
    return {"cell": row["cell"], "values": dict(row["values"])}


def best(sweep: Sweep, cells: Sequence[Row]) -> dict[str, Any]:
    """Find the best cell by each response; those that were given up have none."""
    found: dict[str, Any] = {}
    for response in dict.fromkeys((sweep.space.design.response, "sd", "cv", "mean")):
        scored = [
            (score, row)
            for row in cells
            if not row["reason"] and (score := response_of(row, response, not sweep.space.higher_is_better)) is not None
        ]
        if scored:
            row = min(scored, key=lambda one: one[0])[1]
            found[response] = _named(row) | {"value": row[response], "runs": row["n"]}
    return found


def _sentence(summary: Mapping[str, Any], sweep: Sweep) -> str:
    asked = sweep.space.repetitions
    spent = f"{summary['runs']} runs, {quantity(summary['spent_s'], 's')} of the program"
    known = f"the SD of {summary['enough']} is known within x{asked.within:g}"
    failed = f"{len(summary['impossible'])} could not be run"
    return f"{summary['cells']} cells in {spent}; {known}; {failed}. Ended: {summary['ended']}."


def best_words(found: Mapping[str, Any], unit: str) -> tuple[str, ...]:
    """Say which cell is best by each response, that of the design first."""
    return tuple(
        f"Best {statistic_name(response)} seen: {_one_best(response, one, unit)}." for response, one in found.items()
    )


def _one_best(response: str, one: Mapping[str, Any], unit: str) -> str:
    shown = percent(one["value"]) if response == "cv" else quantity(one["value"], unit)
    levels = ", ".join(f"{name} = {level}" for name, level in one["values"].items())
    return f"{shown} at {levels} ({one['cell']}, {one['runs']} runs)"


def _notes(summary: Mapping[str, Any], sweep: Sweep) -> Iterator[str]:
    yield from (f"{one[0].upper()}{one[1:]}." for one in summary["dropped"])
    if launcher := summary.get("launcher"):
        yield launcher["words"]
    if len(sweep.cells) == 1:
        yield "There is one cell alone, and nothing to compare it with: give a parameter two levels or more."
    elif summary["best"]:
        yield ("The best of many cells looks better than it is: measure it again beside another before you claim it.")
    reasons: dict[str, list[str]] = {}
    for one in summary["impossible"]:
        reasons.setdefault(one["reason"], []).append(one["cell"])
    for reason, cells in reasons.items():
        more = f" and {len(cells) - 5} more" if len(cells) > 5 else ""
        yield f"Not run: {', '.join(cells[:5])}{more}: {reason}."
    if summary["ended"].startswith("the budget") or not sweep.ended:
        yield "The same command goes on, with a larger --budget or --runs where one of them ended it."


def _cells(sweep: Sweep, cells: Sequence[Row], unit: str) -> doc.Table:
    parameters = [doc.TableColumn(name, verbatim=True) for name in sweep.space.parameters]
    mean, p99, cv = doc.TableColumn("mean", unit), doc.TableColumn("p99", unit), doc.TableColumn("CV", doc.SHARE, 3)
    return doc.Table(
        ("cell", *parameters, "runs", mean, "SD [95 %]", cv, p99, "note"), [_line(row, unit) for row in cells]
    )


def _line(row: Row, unit: str) -> tuple[doc.Cell, ...]:
    bounds = "" if row["sd_low"] is None else f" [{quantity(row['sd_low'], unit)}, {quantity(row['sd_high'], unit)}]"
    known = "SD not known" if row["known_within"] is None else f"SD known within x{number(row['known_within'], 3)}"
    note = row["reason"] or ("" if row["enough"] else known)
    sd = f"{quantity(row['sd'], unit)}{bounds}"
    return (
        row["cell"],
        *map(level_text, row["values"].values()),
        row["n"],
        row["mean"],
        sd,
        row["cv"],
        row["p99"],
        note,
    )
