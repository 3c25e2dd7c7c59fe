"""The answer to "which rank do the others wait for, and is it why runs are slow?"."""

from __future__ import annotations

from typing import Literal

from ..statistics.values import ColumnCorrelation, FiniteResult, IntervalEstimate

Verdict = Literal["one rank", "one host", "always the same rank", "no one rank"]


class RankSummary(FiniteResult):
    """What one rank does over all runs."""

    rank: int
    host: str
    """The host that it was on most often; empty where none is told."""
    cpus: str
    """The CPUs that it might use most often."""
    own_s: float
    """Median time outside MPI, in seconds."""
    waiting: float
    """Median share of its time inside MPI."""
    preemptions: float | None
    """Mean of a run."""
    migrations: float | None
    slowest: float
    """Share of runs in which it computed longest."""
    interval: IntervalEstimate
    """Of that share, for all ranks at once (Clopper and Pearson, Bonferroni)."""
    p_slowest: float
    """Chance that luck makes it the slowest as often, adjusted for all ranks (binomial, Holm)."""
    slowest_of_slow: float
    """Share of the slow runs in which it computed longest."""
    explained: float
    """Share of the variance of the outcome that goes with its time beyond the others' mean; 0 where it goes with fast
    runs."""
    explained_interval: IntervalEstimate
    """For all ranks at once (bootstrap of Fisher's z, Bonferroni)."""
    p_explained: float
    """By permuted runs and by ranks that change places within a run, the greatest over all ranks."""


class HostRanks(FiniteResult):
    """The ranks of one host together."""

    host: str
    ranks: tuple[int, ...]
    own_s: float
    """Median of the mean time outside MPI of its ranks, in seconds."""
    slowest: float
    """Share of runs in which the rank that computed longest was on it."""
    explained: float
    """As of a rank, for the mean of its ranks."""
    explained_interval: IntervalEstimate
    p_explained: float
    """As of a rank, the greatest over all hosts."""
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


class Ranks(FiniteResult):
    """Verdict first, then what it rests on."""

    verdict: Verdict
    reason: str
    rank: int | None
    """The one that is meant."""
    host: str
    """The one that is meant, where its ranks are late together; else empty."""
    outcome: str
    unit: str
    lower_is_better: bool
    runs: int
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
