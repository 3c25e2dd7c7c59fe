"""From the rows of ranks to a verdict: is one rank why runs are slow?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...knowledge.errors import VgoError
from ..statistics.labels.classes import label
from ..statistics.ratio_test import holm
from ..statistics.shape.describe import describe
from ..statistics.values import BoolArray, ColumnCorrelation, FloatArray, IntervalEstimate
from .attribution import RankAttribution, Slowest, beyond, common, explained, of_hosts, slowest, usual
from .rank_summary import HostRanks, RankRows, Ranks, RankSummary, RanksVerdict, crowded, fixed, placed

LEAST_RUNS = 10
LEAST_SHARE = 0.25
"""Of the variance, from which a rank is called the reason for slow runs."""
INTERVALS = 0.05
"""They are of 95 % for all ranks and hosts at once, whatever chance of a wrong verdict is asked for."""
MARGIN = 0.02
"""A rank that computes no more than this beyond the others is as long as they are, however often it is the last."""
COUNTED = ("migrations", "preemptions", "voluntary")
SPELT = {"host": "host", "cpus": "binding", "cpu": "CPU"}


def of_ranks(
    rows: RankRows,
    outcome: FloatArray,
    name: str,
    unit: str,
    *,
    lower_is_better: bool = True,
    alpha: float = 0.05,
    seed: int = 1,
) -> Ranks:
    """Say whether the spread of `outcome`, shape (runs,) in step with `rows`, goes with one rank.

    `alpha` is for the verdict. Raises VgoError for one rank alone, and for too few runs.
    """
    _enough(rows, outcome)
    worse = outcome if lower_is_better else -outcome
    slow = label(outcome, describe(outcome), lower_is_better).slow
    hosts = of_hosts(rows, worse, INTERVALS / 2, seed)
    parts = 2 if hosts else 1  # both are looked at
    often = slowest(rows.own_s, INTERVALS / parts)
    why = explained(worse, beyond(rows.own_s), INTERVALS / parts, seed)
    told = tuple(_rank(rows, at, often, why, slow) for at in range(len(rows.ranks)))
    verdict, reason, meant, host = _verdict(told, hosts, rows, alpha / parts)
    return Ranks(
        verdict=verdict,
        reason=reason,
        rank=None if meant is None else rows.ranks[meant],
        host=host,
        outcome=name,
        unit=unit,
        lower_is_better=lower_is_better,
        runs=outcome.size,
        slow_runs=int(slow.sum()),
        incomplete=rows.incomplete,
        ranks=told,
        hosts=hosts,
        imbalance=float(np.median(rows.own_s.max(axis=1) / np.maximum(rows.own_s.mean(axis=1), 1e-12))),
        waiting=float(np.median(_waiting(rows))),
        common=common(worse, rows.own_s if meant is None else np.delete(rows.own_s, meant, axis=1)),
        on_cpu=None if meant is None else _on_cpu(rows, meant),
        within=() if meant is None else within(rows, meant),
        placed=placed(rows, seed),
        notes=tuple(_notes(rows)),
    )


def _enough(rows: RankRows, outcome: FloatArray) -> None:
    if len(rows.ranks) < 2:
        raise VgoError(
            "There is one rank only, and it waits for nobody; start more, as in --launcher mpirun:ranks=2, or look for "
            "causes with `vgo-agent analyze`."
        )
    if outcome.size < LEAST_RUNS:
        raise VgoError(
            f"All ranks told of themselves in {outcome.size} runs, and {LEAST_RUNS} are needed; measure more with "
            "--layer mpi."
        )
    if not np.isfinite(outcome).all():
        raise VgoError("Some runs have no outcome; leave them out of the table, or name another column by --outcome.")


def _waiting(rows: RankRows) -> FloatArray:
    inside = rows.numbers["time_s"].sum(axis=1)
    shares: FloatArray = inside / np.maximum(inside + rows.own_s.sum(axis=1), 1e-12)
    return shares


def _rank(rows: RankRows, at: int, often: Slowest, why: RankAttribution, slow: BoolArray) -> RankSummary:
    last = rows.own_s[slow].argmax(axis=1) == at
    return RankSummary(
        rank=rows.ranks[at],
        host=usual(rows.place.host[:, at]),
        cpus=usual(rows.place.cpus[:, at]),
        own_s=float(np.median(rows.own_s[:, at])),
        waiting=float(np.median(rows.share[:, at])),
        preemptions=_mean(rows.numbers["preemptions"][:, at]),
        migrations=_mean(rows.numbers["migrations"][:, at]),
        slowest=float(often.share[at]),
        interval=IntervalEstimate(low=float(often.low[at]), high=float(often.high[at])),
        p_slowest=float(often.p[at]),
        slowest_of_slow=float(last.mean()) if last.size else 0.0,
        **why.of(at),
    )


def _mean(values: FloatArray) -> float | None:
    there = values[np.isfinite(values)]
    return float(there.mean()) if there.size else None


class _Ending(NamedTuple):
    verdict: RanksVerdict
    reason: str
    place: int | None = None
    """Of the rank that is meant."""
    host: str = ""


def _verdict(told: Sequence[RankSummary], hosts: Sequence[HostRanks], rows: RankRows, alpha: float) -> _Ending:
    """Name one host or one rank where the spread goes with it; else a rank that is always behind; else none."""
    late = [one for one in hosts if _telling(one, alpha) and one.together >= LEAST_SHARE]
    if late:
        host = max(late, key=lambda one: one.explained).host
        return _Ending("one host", f"Slow runs are slow because of {host}: its ranks are late together.", None, host)
    first = max(range(len(told)), key=lambda at: (told[at].p_explained <= alpha, told[at].explained))
    if _telling(told[first], alpha):
        reason = f"Slow runs are slow because of rank {told[first].rank}: the others wait for it."
        return _Ending("one rank", reason, first)
    behind = max(range(len(told)), key=lambda at: told[at].slowest)
    share = np.median(beyond(rows.own_s)[:, behind] / np.maximum(rows.own_s.mean(axis=1), 1e-12))
    if told[behind].p_slowest <= alpha and share > MARGIN:
        reason = (
            f"Rank {told[behind].rank} computes longest more often than by chance, which costs time in every run; why "
            "some runs take longer than others is another matter."
        )
        return _Ending("always the same rank", reason, behind)
    return _Ending("no one rank", "No rank is behind the slow runs: now one is the slowest, now another.")


def _telling(one: RankSummary | HostRanks, alpha: float) -> bool:
    return one.p_explained <= alpha and one.explained >= LEAST_SHARE


def _on_cpu(rows: RankRows, at: int) -> float | None:
    """How much of the variation of a rank's time outside MPI is CPU time: cov(own, cpu) / var(own), within 0 to 1."""
    own, cpu = rows.own_s[:, at], rows.numbers["cpu_s"][:, at]
    if not np.isfinite(cpu).all() or np.ptp(own) == 0:
        return None
    moments = np.cov(own, cpu)
    return float(np.clip(moments[0, 1] / moments[0, 0], 0.0, 1.0))


def within(rows: RankRows, at: int) -> tuple[ColumnCorrelation, ...]:
    """Correlate what is counted of a rank with its time beyond the others', the closest first."""
    more = beyond(rows.own_s)[:, at]
    columns = {name: rows.numbers[name][:, at] for name in COUNTED}
    varying = {name: one for name, one in columns.items() if np.isfinite(one).all() and np.ptp(one) > 0}
    if np.ptp(more) == 0 or not varying:
        return ()
    from scipy.stats import spearmanr  # half a second to load, which most commands can spare

    tested = {name: spearmanr(one, more) for name, one in varying.items()}
    adjusted = holm([float(test.pvalue) for test in tested.values()])
    found = [
        ColumnCorrelation(name=name, correlation=float(test.statistic), p_value=p)
        for (name, test), p in zip(tested.items(), adjusted, strict=True)
    ]
    return tuple(sorted(found, key=lambda one: (one.p_value, -abs(one.correlation))))


def _notes(rows: RankRows) -> Iterator[str]:
    if rows.incomplete:
        left = f"{rows.incomplete} run{'s' * (rows.incomplete > 1)}"
        yield f"{left} left out: the layer mpi was off, or some rank did not tell."
    for name in crowded(rows):
        yield f"There are more values of {SPELT[name]} than can be looked at one by one."
    if names := fixed(rows):
        words = " and ".join(SPELT[name] for name in names)
        yield (
            f"Each rank always had the same {words}, so what the rank does and what the place does cannot be told "
            "apart: run again with another --launcher mpirun:map=... or bind=..., or other hosts."
        )
