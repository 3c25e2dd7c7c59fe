"""What is modelled of each cell: its spread, a quantile or its mean."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from ...knowledge.errors import VgoError
from ..statistics.values import BoolArray, FloatArray
from .cells import CellOutcomes

RESPONSES = ("sd", "cv", "variance", "mean", "median")
_QUANTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)")
_FEWEST = {"sd": 2, "cv": 2, "variance": 2}
_FROM = {"variance": ("variance", "sd"), "sd": ("variance", "sd"), "cv": ("cv",), "mean": ("mean",)}
"""What a table with a row a cell can tell, by what its rows hold."""


class Response(NamedTuple):
    """One number a cell."""

    values: FloatArray
    """Shape (cells,); NaN where it cannot be told."""
    known: BoolArray
    notes: tuple[str, ...]


def response_of(cells: CellOutcomes, name: str) -> Response:
    """Compute the response of every cell; raises VgoError for a name that is unknown or cannot be had."""
    _check(cells, name)
    if cells.given != "runs":
        means = np.array([outcome.mean() for outcome in cells.outcomes])
        values = _converted(means, cells.given, name, cells)
        return Response(values, np.ones(len(values), dtype=np.bool_), ())
    fewest = _FEWEST.get(name, 1)
    known = np.array([len(outcome) >= fewest for outcome in cells.outcomes])
    if not known.any():
        raise VgoError(f"No configuration of {cells.source} has two runs or more: repeat the runs, or model the mean.")
    values = np.array([_of(outcome, name) if len(outcome) >= fewest else np.nan for outcome in cells.outcomes])
    lost = int((~known).sum())
    notes = (f"{lost} configurations have one run alone, and no spread: left out.",) if lost else ()
    return Response(values, known & np.isfinite(values), notes)


def _check(cells: CellOutcomes, name: str) -> None:
    if name not in RESPONSES and not _QUANTILE.fullmatch(name):
        raise VgoError(f"{name} is no response: choose {', '.join(RESPONSES)} or a percentile such as p95.")
    if cells.given not in ("runs", "value") and name not in _FROM[cells.given]:
        there = " or ".join(_FROM[cells.given])
        raise VgoError(f"{cells.source} gives the {cells.given} of a cell alone, not its {name}: model {there}.")


def _converted(values: FloatArray, given: str, name: str, cells: CellOutcomes) -> FloatArray:
    if given in ("variance", "sd", "cv") and (values < 0).any():
        raise VgoError(f"{cells.outcome} has values below 0, so it is no {given}: give another --given.")
    if given == "variance" and name == "sd":
        return np.sqrt(values)
    return values**2 if given == "sd" and name == "variance" else values


def _of(outcome: FloatArray, name: str) -> float:
    quantile = _QUANTILE.fullmatch(name)
    if quantile:
        return float(np.quantile(outcome, float(quantile[1]) / 100))
    if name in ("mean", "median"):
        return float(getattr(np, name)(outcome))
    sd = float(outcome.std(ddof=1))
    if name == "cv":
        mean = abs(float(outcome.mean()))
        return sd / mean if mean else np.nan
    return sd if name == "sd" else sd**2
