"""From a run table with columns `mpi.RANK.*` to one row a run and rank, and back to text that any program reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ...knowledge.errors import VgoError
from ..statistics.values import FloatArray, IntArray

RANKS = "ranks.csv"
COUNTS = ("migrations", "voluntary", "preemptions", "calls")
NUMBERS = ("own_s", "time_s", "cpu_s", *COUNTS, "local")
"""Of a rank in a run; own_s: outside MPI, time_s: inside."""
TEXTS = ("host", "cpus", "cpu")
_COLUMN = re.compile(r"mpi\.(\d+)\.(\w+)")
CURE = "measure with --layer mpi, for example: vgo-agent measure --launcher mpirun:ranks=2 --layer mpi --save runs.csv"


class RankPlacement(NamedTuple):
    """Where a rank ran, texts of shape (runs, ranks); empty where it is not told."""

    host: np.ndarray[Any, np.dtype[np.str_]]
    cpus: np.ndarray[Any, np.dtype[np.str_]]
    cpu: np.ndarray[Any, np.dtype[np.str_]]


@dataclass(frozen=True)
class RankRows:
    """Runs in which every rank told of itself; arrays of shape (runs, ranks)."""

    ranks: tuple[int, ...]
    runs: IntArray
    """Shape (runs,): the row of the table that each came from."""
    numbers: dict[str, FloatArray]
    """By name in NUMBERS; NaN where a rank does not tell."""
    place: RankPlacement
    incomplete: int = 0
    """Runs left out, since some ranks did not tell (the layer was off, or a rank died)."""

    @property
    def own_s(self) -> FloatArray:
        """Seconds outside MPI."""
        return self.numbers["own_s"]

    @property
    def share(self) -> FloatArray:
        """Share of a rank's time that it spent inside MPI; 0 where it took no time."""
        total = self.own_s + self.numbers["time_s"]
        shares: FloatArray = np.divide(self.numbers["time_s"], total, out=np.zeros_like(total), where=total > 0)
        return shares


def rank_rows(names: Iterable[str], column: Callable[[str], Sequence[Any]]) -> RankRows:
    """Take the ranks out of a run table; `column` gives the cells of one column, missing ones None or NaN.

    Raises VgoError where the table has no rank.
    """
    there = {name: match for name in names if (match := _COLUMN.fullmatch(name))}
    ranks = tuple(sorted({int(match[1]) for match in there.values()}))
    if not ranks or not all(f"mpi.{rank}.{name}" in there for rank in ranks for name in NUMBERS[:2]):
        raise VgoError(f"The table says nothing of MPI ranks (no columns mpi.0.own_s, mpi.0.time_s): {CURE}.")
    height = len(column(f"mpi.{ranks[0]}.own_s"))
    numbers = {name: _stack(_numbers, name, ranks, there, column, height) for name in NUMBERS}
    texts = [_stack(_texts, name, ranks, there, column, height) for name in TEXTS]
    told = np.isfinite(numbers["own_s"]).all(axis=1) & np.isfinite(numbers["time_s"]).all(axis=1)
    kept = np.flatnonzero(told)
    return RankRows(
        ranks,
        kept,
        {name: values[kept] for name, values in numbers.items()},
        RankPlacement(*(text[kept] for text in texts)),
        height - kept.size,
    )


def _stack(
    read: Callable[[Sequence[Any]], Any],
    name: str,
    ranks: Sequence[int],
    there: Iterable[str],
    column: Callable[[str], Sequence[Any]],
    height: int,
) -> Any:
    empty = [None] * height
    wanted = (f"mpi.{rank}.{name}" for rank in ranks)
    return np.column_stack([read(column(one) if one in there else empty) for one in wanted])


def _numbers(cells: Sequence[Any]) -> FloatArray:
    return np.array([np.nan if cell is None else float(cell) for cell in cells], dtype=np.float64)


def _texts(cells: Sequence[Any]) -> Any:
    return np.array(["" if cell is None or cell != cell else str(cell) for cell in cells], dtype=np.str_)


def ranks_table(rows: RankRows) -> pl.DataFrame:
    """Give one row a run and rank; a cell that is not known is null."""
    runs, ranks = rows.own_s.shape
    cells = {
        "run": np.repeat(rows.runs, ranks),
        "rank": np.tile(rows.ranks, runs),
        "host": rows.place.host,
        "local_rank": rows.numbers["local"],
        "cpus": rows.place.cpus,
        "cpu": rows.place.cpu,
        "total_s": rows.own_s + rows.numbers["time_s"],
        "own_s": rows.own_s,
        "waiting_s": rows.numbers["time_s"],
        "waiting_share": rows.share,
        **{name: rows.numbers[name] for name in ("cpu_s", *COUNTS)},
    }
    table = pl.DataFrame({name: values.ravel() for name, values in cells.items()}).fill_nan(None)
    return table.with_columns(pl.col("local_rank", *COUNTS).cast(pl.Int64), pl.col(*TEXTS).replace("", None))
