"""Which rank is the slowest more often than by chance, and how much of the spread of the runs goes with it."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtrc, betaincinv, ndtri

from ..statistics.ratio_test import holm
from ..statistics.spread import inflation
from ..statistics.values import FloatArray, IntArray, IntervalEstimate
from .rank_summary import HostRanks, RankRows

PERMUTATIONS = 2000
RESAMPLES = 1000
_ROOM = 1 << 22
"""Numbers of one batch of permutations, so that a thousand ranks fit into memory."""


class Slowest(NamedTuple):
    """How often each rank computes longest; arrays of shape (ranks,)."""

    share: FloatArray
    low: FloatArray
    high: FloatArray
    p: FloatArray


class RankAttribution(NamedTuple):
    """What each rank's time beyond the others' says of the outcome; arrays of shape (ranks,)."""

    share: FloatArray
    intervals: tuple[IntervalEstimate, ...]
    p: FloatArray

    def of(self, at: int) -> dict[str, Any]:
        """The fields of what is said of one."""
        return {
            "explained": float(self.share[at]),
            "explained_interval": self.intervals[at],
            "p_explained": float(self.p[at]),
        }


def slowest(own_s: FloatArray, alpha: float) -> Slowest:
    """Count how often each rank computes longest, `own_s` of shape (runs, ranks), against a chance of 1 in ranks.

    Ties count in parts. Runs that resemble their neighbours count as fewer (`inflation`). Intervals are Clopper and
    Pearson's (1934) at alpha / ranks, p-values one-sided binomial, adjusted by Holm.
    """
    runs, ranks = own_s.shape
    longest = own_s == own_s.max(axis=1, keepdims=True)
    parts = longest / longest.sum(axis=1, keepdims=True)
    worth = np.array([runs / inflation(parts[:, rank]).mean for rank in range(ranks)])
    share = parts.mean(axis=0)
    hits, level = share * worth, alpha / ranks / 2
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1e-9), worth - hits + 1, level), 0.0)
    high = np.where(hits < worth, betaincinv(hits + 1, np.maximum(worth - hits, 1e-9), 1 - level), 1.0)
    p = bdtrc(np.floor(hits) - 1, np.floor(worth).astype(int), 1 / ranks)
    return Slowest(share, low, high, np.array(holm(p.tolist())))


def explained(outcome: FloatArray, excess_s: FloatArray, alpha: float, seed: int) -> RankAttribution:
    """Ask of each rank how its time beyond the others' mean goes with the outcome (greater is worse).

    The trend in run order is taken out of both. One p-value pays for all ranks: the greatest correlation where chance
    alone is at work. That is both permuted runs (no rank has to do with it) and ranks that take each other's places
    within a run (now one is late, now another), whichever makes more of chance, each in blocks where neighbours
    resemble each other.
    """
    worse, beyond = _standard(outcome[:, None]), _standard(excess_s)
    runs, ranks = beyond.shape
    r = np.clip((worse.T @ beyond)[0], -1.0, 1.0)
    random = np.random.default_rng(seed)
    block = math.ceil(min(inflation(worse[:, 0]).mean, max(inflation(beyond[:, at]).mean for at in range(ranks))))
    greatest = np.empty(PERMUTATIONS)
    step = max(1, _ROOM // max(runs, ranks))
    for start in range(0, PERMUTATIONS, step):
        orders = np.stack([_shuffled(runs, block, random) for _ in range(min(step, PERMUTATIONS - start))])
        greatest[start : start + len(orders)] = (worse[orders, 0] @ beyond).max(axis=1)
    by_turns = _by_turns(worse[:, 0], detrended(excess_s), block, np.random.default_rng((seed, 1)))
    p = np.maximum(_chance(greatest, r), _chance(by_turns, r))
    intervals = _intervals(worse, beyond, r, alpha / ranks, random)
    return RankAttribution(np.where(r > 0, r * r, 0.0), intervals, p)


def common(outcome: FloatArray, own_s: FloatArray) -> float:
    """Share of the variance of the outcome that goes with the mean over these ranks, the trend out of both."""
    r = float((_standard(outcome[:, None]).T @ _standard(own_s.mean(axis=1)[:, None]))[0, 0])
    return min(1.0, r * r) if r > 0 else 0.0


def detrended(values: FloatArray) -> FloatArray:
    """Take the straight line over the runs out of each column."""
    time = np.arange(len(values)) - (len(values) - 1) / 2
    centred: FloatArray = values - values.mean(axis=0)
    slope: FloatArray = time @ centred / max(float(time @ time), 1e-300)
    return centred - time[:, None] * slope


def _standard(values: FloatArray) -> FloatArray:
    """Columns of unit length, zeros where nothing varies but rounding."""
    left = detrended(values)
    length = np.linalg.norm(left, axis=0)
    flat = length <= 1e-12 * np.linalg.norm(values, axis=0)
    standard: FloatArray = np.where(flat, 0.0, left / np.where(flat, 1.0, length))
    return standard


def _shuffled(runs: int, block: int, random: np.random.Generator) -> IntArray:
    starts = random.permutation(math.ceil(runs / block)) * block
    order = (starts[:, None] + np.arange(block)).ravel()
    within: IntArray = order[order < runs]
    return within


def _chance(greatest: FloatArray, r: FloatArray) -> FloatArray:
    p: FloatArray = (1 + (greatest[:, None] >= r - 1e-12).sum(axis=0)) / (PERMUTATIONS + 1)
    return p


def _by_turns(worse: FloatArray, left: FloatArray, block: int, random: np.random.Generator) -> FloatArray:
    """Draw the greatest correlation over ranks where the ranks of each run, (runs, ranks), are turned round."""
    runs, ranks = left.shape
    greatest = np.empty(PERMUTATIONS)
    step = max(1, _ROOM // left.size)
    for start in range(0, PERMUTATIONS, step):
        count = min(step, PERMUTATIONS - start)
        turns = np.repeat(random.integers(0, ranks, (count, math.ceil(runs / block))), block, axis=1)[:, :runs]
        places = (np.arange(ranks) + turns[:, :, None]) % ranks
        turned = np.take_along_axis(left[None], places, axis=2)
        length = np.linalg.norm(turned - turned.mean(axis=1, keepdims=True), axis=1)
        product = np.einsum("t,ctr->cr", worse, turned)  # worse adds up to zero
        r = np.divide(product, length, out=np.zeros_like(product), where=length > 0)
        greatest[start : start + count] = r.max(axis=1)
    return greatest


def _intervals(
    worse: FloatArray, beyond: FloatArray, r: FloatArray, alpha: float, random: np.random.Generator
) -> tuple[IntervalEstimate, ...]:
    """Square the ends of r +- SE on Fisher's scale, the SE from resampled runs."""
    runs, ranks = beyond.shape
    drawn = np.empty((RESAMPLES, ranks))
    step = max(1, _ROOM // beyond.size)
    for start in range(0, RESAMPLES, step):
        take = random.integers(0, runs, (min(step, RESAMPLES - start), runs))
        one, many = worse[take], beyond[take]
        one, many = one - one.mean(axis=1, keepdims=True), many - many.mean(axis=1, keepdims=True)
        scale = np.linalg.norm(one, axis=1) * np.linalg.norm(many, axis=1)
        product = np.einsum("cto,ctr->cr", one, many)
        drawn[start : start + len(take)] = np.divide(product, scale, out=np.zeros_like(scale), where=scale > 0)
    fisher = np.arctanh(np.clip(drawn, -0.999999, 0.999999))
    reach = ndtri(1 - alpha / 2) * fisher.std(axis=0, ddof=1)
    middle = np.arctanh(np.clip(r, -0.999999, 0.999999))
    low, high = (np.maximum(np.tanh(middle + sign * reach), 0.0) ** 2 for sign in (-1, 1))
    return tuple(IntervalEstimate(low=float(one), high=float(other)) for one, other in zip(low, high, strict=True))


def of_hosts(rows: RankRows, worse: FloatArray, alpha: float, seed: int) -> tuple[HostRanks, ...]:
    """Hold hosts against each other as ranks are, each by the mean time outside MPI of its ranks; () for one host."""
    groups = _groups(rows)
    if len(groups) < 2:
        return ()
    own = np.column_stack([rows.own_s[:, ranks].mean(axis=1) for ranks in groups.values()])
    why = explained(worse, beyond(own), alpha, seed)
    last = rows.own_s.argmax(axis=1)
    return tuple(
        HostRanks(
            host=host,
            ranks=tuple(rows.ranks[place] for place in ranks.tolist()),
            own_s=float(np.median(own[:, at])),
            slowest=float(np.isin(last, ranks).mean()),
            **why.of(at),
            together=_together(rows, ranks, worse),
        )
        for at, (host, ranks) in enumerate(groups.items())
    )


def beyond(own_s: FloatArray) -> FloatArray:
    """Seconds of each column beyond the mean of the other columns."""
    others = (own_s.sum(axis=1, keepdims=True) - own_s) / max(1, own_s.shape[1] - 1)
    excess: FloatArray = own_s - others
    return excess


def _groups(rows: RankRows) -> dict[str, IntArray]:
    """Places of ranks by the host that each was on most often; none where some rank does not tell."""
    hosts = np.array([usual(column) for column in rows.place.host.T])
    if (hosts == "").any():
        return {}
    return {str(host): np.flatnonzero(hosts == host) for host in np.unique(hosts)}


def usual(texts: Any) -> str:
    """Give the most frequent text."""
    return str(Counter(texts.tolist()).most_common(1)[0][0])


def _together(rows: RankRows, ranks: IntArray, worse: FloatArray) -> float:
    """Share of the variance that goes with its ranks beyond other hosts' even without the rank that goes with most."""
    if ranks.size < 2:
        return 0.0
    others = np.delete(rows.own_s, ranks, axis=1).mean(axis=1, keepdims=True)
    first = max(ranks.tolist(), key=lambda place: common(worse, rows.own_s[:, [place]] - others))
    rest = ranks[ranks != first]
    return common(worse, rows.own_s[:, rest].mean(axis=1, keepdims=True) - others)
