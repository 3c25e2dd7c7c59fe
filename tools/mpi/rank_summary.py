"""Ranks in a run table, one row a run and rank: which of them the others wait for, and is it why runs are slow?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from ...knowledge.errors import VgoError
from ..analysis.analysis import TableVerdict
from ..statistics.values import ColumnCorrelation, FiniteResult, FloatArray, IntArray, IntervalEstimate

RANKS = "ranks.csv"
COUNTS = ("migrations", "voluntary", "preemptions", "calls")
NUMBERS = ("own_s", "time_s", "cpu_s", *COUNTS, "local")
"""Of a rank in a run; own_s: outside MPI, time_s: inside."""
TEXTS = ("host", "cpus", "cpu")
_COLUMN = re.compile(r"mpi\.(\d+)\.(\w+)")
CURE = "measure with --layer mpi, for example: vgo-agent measure --launcher mpirun:ranks=2 --layer mpi --save runs.csv"
RanksVerdict = Literal["one rank", "one host", "always the same rank", "no one rank"]
PERMUTATIONS = 2000
LEAST_ROWS = 5
"""Rows of a level, and of all others, without which it is not looked at."""
MOST_LEVELS = 64


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


class Attributed(FiniteResult):
    """How much of the spread of the runs goes with one rank, or with the mean of the ranks of one host."""

    own_s: float
    """Median time outside MPI, in seconds."""
    slowest: float
    """Share of runs in which it, or a rank on it, computed longest."""
    explained: float
    """Share of the variance of the outcome that goes with its time beyond the others' mean; 0 where it goes with fast
    runs."""
    explained_interval: IntervalEstimate
    """For all at once (bootstrap of Fisher's z, Bonferroni)."""
    p_explained: float
    """By permuted runs and by ranks that change places within a run, the greatest over all."""


class RankSummary(Attributed):
    """What one rank does over all runs."""

    rank: int
    host: str
    """The host that it was on most often; empty where none is told."""
    cpus: str
    """The CPUs that it might use most often."""
    waiting: float
    """Median share of its time inside MPI."""
    preemptions: float | None
    """Mean of a run."""
    migrations: float | None
    interval: IntervalEstimate
    """Of the share of runs in which it was slowest, for all ranks at once (Clopper and Pearson, Bonferroni)."""
    p_slowest: float
    """Chance that luck makes it the slowest as often, adjusted for all ranks (binomial, Holm)."""
    slowest_of_slow: float
    """Share of the slow runs in which it computed longest."""


class HostRanks(Attributed):
    """The ranks of one host together."""

    host: str
    ranks: tuple[int, ...]
    together: float
    """What is explained without the rank that explains most: 0 where that one is late alone."""


class PlacementEffect(FiniteResult):
    """One level of a placement, such as a CPU or host, with each rank's own mean taken out."""

    factor: str
    level: str
    rows: int
    ratio: float
    """Time outside MPI there over that elsewhere."""
    p_value: float
    """By permutation of the runs, the greatest over all levels of all factors."""


class Ranks(TableVerdict):
    """The answer of the ranks."""

    verdict: RanksVerdict
    rank: int | None
    """The one that is meant."""
    host: str
    """The one that is meant, where its ranks are late together; else empty."""
    slow_runs: int
    incomplete: int
    ranks: tuple[RankSummary, ...]
    hosts: tuple[HostRanks, ...]
    """Empty for one host."""
    imbalance: float
    """Median over runs of the longest time outside MPI over the mean of all ranks."""
    waiting: float
    """Median over runs of the share of all ranks' time that was spent inside MPI."""
    common: float
    """Share of the variance of the outcome that goes with the mean time outside MPI of the other ranks, of all where
    none is meant."""
    on_cpu: float | None
    """Of the variation of the named rank's time outside MPI, the part that is CPU time; None where none is told."""
    within: tuple[ColumnCorrelation, ...]
    placed: tuple[PlacementEffect, ...]
    notes: tuple[str, ...]


class PlacementLevel(NamedTuple):
    """Where a factor has one value."""

    factor: str
    text: str
    here: Any
    """Shape (runs, ranks)."""


def placed(rows: RankRows, seed: int) -> tuple[PlacementEffect, ...]:
    """Compare each level with all others, each rank with itself, the least p-value first.

    What is compared is the log of the time outside MPI, less the mean of its run (what slows all ranks alike) and
    then of its rank (its part of the work). Under the null whole runs may change places: what is left of its ranks
    adds up to zero in each run, so that ranks shuffled apart would make too little of chance.
    """
    left = _left(rows.own_s)
    found = [level for level in _levels(rows) if _varies(level.here) and np.ptp(_centred(level.here)) > 0]
    if not found or left is None:
        return ()
    flags = np.stack([_centred(level.here) for level in found])
    scale = np.sqrt((flags**2).sum(axis=(1, 2)))
    flat = (flags / scale[:, None, None]).reshape(len(found), -1)
    seen = np.abs(flat @ left.ravel())
    random = np.random.default_rng(seed)
    greatest = np.array([np.abs(flat @ random.permutation(left).ravel()).max() for _ in range(PERMUTATIONS)])
    p = (1 + (greatest[:, None] >= seen - 1e-12).sum(axis=0)) / (PERMUTATIONS + 1)
    told = [_placed(level, left, float(chance)) for level, chance in zip(found, p, strict=True)]
    return tuple(sorted(told, key=lambda one: (one.p_value, -abs(np.log(one.ratio)))))


def fixed(rows: RankRows) -> tuple[str, ...]:
    """Name the placements that differ between ranks and never within one: rank and place cannot be told apart."""
    texts = zip(TEXTS, rows.place, strict=True)
    return tuple(name for name, text in texts if len(np.unique(text)) > 1 and (text == text[:1]).all())


def crowded(rows: RankRows) -> tuple[str, ...]:
    """Name the placements that vary within a rank and have too many values to look at each."""
    texts = zip(TEXTS, rows.place, strict=True)
    return tuple(name for name, text in texts if len(np.unique(text)) > MOST_LEVELS and (text != text[:1]).any())


def _left(own_s: FloatArray) -> FloatArray | None:
    """Residuals of log time outside MPI; None where some rank never computes."""
    if (own_s <= 0).any():
        return None
    logs = np.log(own_s)
    return _twice_centred(logs)


def _levels(rows: RankRows) -> Iterator[PlacementLevel]:
    for name, text in zip(TEXTS, rows.place, strict=True):
        values = [value for value in np.unique(text).tolist() if value]
        if 1 < len(values) <= MOST_LEVELS:
            for value in values[:1] if len(values) == 2 else values:
                yield PlacementLevel(name, value, text == value)


def _varies(here: Any) -> bool:
    """Within some rank it is there in some runs and not in others, often enough."""
    mixed = here[:, here.any(axis=0) & ~here.all(axis=0)]
    return bool(min(mixed.sum(), (~mixed).sum()) >= LEAST_ROWS)


def _centred(here: Any) -> FloatArray:
    """Flags less the mean of their run and then of their rank, as what they are held against."""
    return _twice_centred(here.astype(np.float64))


def _twice_centred(values: FloatArray) -> FloatArray:
    left: FloatArray = values - values.mean(axis=1, keepdims=True)
    left -= left.mean(axis=0)
    return left


def _placed(level: PlacementLevel, left: FloatArray, p: float) -> PlacementEffect:
    weights = _centred(level.here)
    step = float((weights * left).sum() / (weights**2).sum())
    return PlacementEffect(
        factor=level.factor, level=level.text, rows=int(level.here.sum()), ratio=float(np.exp(step)), p_value=p
    )
