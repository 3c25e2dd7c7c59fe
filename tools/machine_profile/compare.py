"""The variability profile B/A: the speed-up of every stressor, their range and quartiles, and what it predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from ...knowledge.errors import VgoError
from ...knowledge.shape import Frozen
from .battery import GROUPS, Group
from .form import Application, Profile, Rate, System

Floats = NDArray[np.floating[Any]]
Rates = Mapping[str, tuple[float, ...]]
"""Of each stressor, sorted."""
DRAWS = 500
"""Pairs of draws for the interval of a summary."""
TAIL = 0.025
FENCE = 1.5
OUTLIER_RULE = f"more than {FENCE:g} interquartile ranges beyond a quartile of its group, in logarithms (Tukey)"
BUSY = 0.95
"""A worker that had less of a CPU than this shared it."""


class Atoms(NamedTuple):
    """The bootstrap distribution of a log ratio: distinct values, sorted, and the weight up to the middle of each."""

    values: Floats
    middles: Floats

    def at(self, share: Floats) -> Floats:
        """Give quantiles by interpolation between middles, which treats both tails alike."""
        found: Floats = np.interp(share, self.middles, self.values)
        return found


class BootstrapEstimate(Frozen):
    """A number with its 95 % bootstrap interval; none where some stressor has one repetition only."""

    value: float
    low: float | None = None
    high: float | None = None


def atoms(a: Sequence[float], b: Sequence[float]) -> Atoms:
    """Make the distribution of log(median of b / median of a)."""
    x, y = np.log(np.sort(a)), np.log(np.sort(b))
    values, place = np.unique((y[:, None] - x[None, :]).ravel(), return_inverse=True)
    weights = np.bincount(place, np.outer(_weights(len(y)), _weights(len(x))).ravel())
    return Atoms(values, np.cumsum(weights) - weights / 2)


def middle(rates: Sequence[float]) -> float:
    """Log of the median rate; of an even number, the geometric mean of the two in the middle."""
    return float(np.median(np.log(rates)))


def speed_up(a: Sequence[float], b: Sequence[float]) -> BootstrapEstimate:
    """Compare rates of one stressor on two machines; both above 0."""
    ratio = float(np.exp(middle(b) - middle(a)))
    if min(len(a), len(b)) < 2:
        return BootstrapEstimate(value=ratio)
    low, high = np.exp(atoms(a, b).at(np.array((TAIL, 1 - TAIL))))
    return BootstrapEstimate(value=ratio, low=low, high=high)


def draws(all_atoms: Sequence[Atoms], seed: int = 1) -> Floats:
    """Draw log ratios, a row a draw and a column a stressor; each with its mirror image, so that B/A mirrors A/B."""
    shares = np.random.default_rng(seed).random((DRAWS, len(all_atoms)))
    both = np.concatenate((shares, 1 - shares))
    return np.column_stack([one.at(both[:, at]) for at, one in enumerate(all_atoms)])


@cache
def _weights(runs: int) -> Floats:
    """Weight of each order statistic in the median of a resample (Maritz and Jarrett)."""
    edges = np.arange(runs + 1) / runs
    found: Floats = np.diff(beta.cdf(edges, (runs + 1) / 2, (runs + 1) / 2))
    return found


class StressorRatio(Frozen):
    """One stressor: its rate on B over that on A."""

    stressor: str
    group: Group
    speed_up: BootstrapEstimate
    repetitions: tuple[int, int]
    outlier: bool = False


class GroupSummary(Frozen):
    """The stressors of one group."""

    group: Group
    stressors: int
    least: BootstrapEstimate
    quartile_1: BootstrapEstimate
    median: BootstrapEstimate
    quartile_3: BootstrapEstimate
    greatest: BootstrapEstimate
    mean: BootstrapEstimate
    """Geometric, so that A/B is one over B/A."""
    outliers: tuple[str, ...]
    least_inside: float
    """Range without the outliers."""
    greatest_inside: float


class ApplicationCheck(Frozen):
    """An application held against the predicted range."""

    name: str
    speed_up: float
    inside: bool


class MachineComparison(Frozen):
    """The B/A profile."""

    a: System
    b: System
    rate: Rate
    ratios: tuple[StressorRatio, ...]
    groups: tuple[GroupSummary, ...]
    """The CPU's first: only it bounds CPU-bound programs."""
    missing: dict[str, str]
    """Stressors without a ratio, and why."""
    applications: tuple[ApplicationCheck, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def bound(self) -> GroupSummary | None:
        """The group that predicts."""
        return next((one for one in self.groups if one.group == "cpu"), None)


def compare(a: Profile, b: Profile, rate: Rate = "real", applications: Sequence[Application] = ()) -> MachineComparison:
    """Compare two profiles, stressor by stressor."""
    rates_a, rates_b = a.rates(rate), b.rates(rate)
    both = sorted(rates_a.keys() & rates_b.keys())
    if not both:
        raise VgoError("The two profiles have no stressor in common that gave a result: measure both with one battery.")
    spread = {name: atoms(rates_a[name], rates_b[name]) for name in both}
    ratios, groups = list[StressorRatio](), list[GroupSummary]()
    for group in GROUPS:
        own = [name for name in both if b.battery.stressors[name] == group]
        if own:
            summary = _summary(group, own, rates_a, rates_b, spread)
            groups.append(summary)
            ratios += [_ratio(name, group, rates_a, rates_b, name in summary.outliers) for name in own]
    found = MachineComparison(
        a=a.system,
        b=b.system,
        rate=rate,
        ratios=tuple(ratios),
        groups=tuple(groups),
        missing=_missing(a, b, set(both)),
        notes=tuple(_notes(a, b)),
    )
    return found.model_copy(update={"applications": _judged(found, applications)})


def _summary(group: Group, names: Sequence[str], a: Rates, b: Rates, spread: Mapping[str, Atoms]) -> GroupSummary:
    logs = np.array([middle(b[name]) - middle(a[name]) for name in names])
    known = all(min(len(a[name]), len(b[name])) > 1 for name in names)
    drawn = draws([spread[name] for name in names]) if known else None

    def interval(of: float, over: Floats | None) -> BootstrapEstimate:
        low, high = (None, None) if over is None else np.exp(np.quantile(over, (TAIL, 1 - TAIL)))
        return BootstrapEstimate(value=float(np.exp(of)), low=low, high=high)

    def quantile(share: float) -> BootstrapEstimate:
        over = None if drawn is None else np.quantile(drawn, share, axis=1)
        return interval(float(np.quantile(logs, share)), over)

    inside, outliers = fenced(names, logs)
    return GroupSummary(
        group=group,
        stressors=len(names),
        least=quantile(0),
        quartile_1=quantile(0.25),
        median=quantile(0.5),
        quartile_3=quantile(0.75),
        greatest=quantile(1),
        mean=interval(float(logs.mean()), None if drawn is None else drawn.mean(axis=1)),
        outliers=outliers,
        least_inside=float(np.exp(inside.min())),
        greatest_inside=float(np.exp(inside.max())),
    )


def fenced(names: Sequence[str], logs: Floats) -> tuple[Floats, tuple[str, ...]]:
    """Part the log ratios within the fences from the names of those beyond; fewer than four have no outliers."""
    low, high = np.quantile(logs, (0.25, 0.75))
    reach = FENCE * (high - low)
    beyond = (logs < low - reach) | (logs > high + reach) if len(logs) > 3 else np.zeros(len(logs), bool)
    return logs[~beyond], tuple(name for name, out in zip(names, beyond, strict=True) if out)


def _ratio(name: str, group: Group, a: Rates, b: Rates, outlier: bool) -> StressorRatio:
    return StressorRatio(
        stressor=name,
        group=group,
        speed_up=speed_up(a[name], b[name]),
        repetitions=(len(a[name]), len(b[name])),
        outlier=outlier,
    )


def _missing(a: Profile, b: Profile, both: set[str]) -> dict[str, str]:
    found = {}
    for name in sorted((a.battery.stressors.keys() | b.battery.stressors.keys()) - both):
        whys = (("A", a), ("B", b))
        lacking = [(which, one) for which, one in whys if name not in one.rates("real")]
        found[name] = "; ".join(f"{which}: {one.why_missing(name)}" for which, one in lacking) or "no CPU time counted"
    return found


def _judged(found: MachineComparison, applications: Sequence[Application]) -> tuple[ApplicationCheck, ...]:
    bound = found.bound
    if applications and bound is None:
        raise VgoError("No CPU stressor is common to both profiles, so nothing is predicted: leave --applications out.")
    return tuple(
        ApplicationCheck(
            name=one.name, speed_up=one.speed_up, inside=bound.least.value <= one.speed_up <= bound.greatest.value
        )
        for one in applications
        if bound
    )


def _notes(a: Profile, b: Profile) -> list[str]:
    """What keeps the two from being compared as they stand."""
    notes = []
    if a.system.architecture != b.system.architecture:
        notes.append(
            f"A is {a.system.architecture} and B is {b.system.architecture}: the stressors were compiled for each, so "
            "that a ratio holds the compiler too."
        )
    if a.system.stress_ng != b.system.stress_ng:
        notes.append(
            f"stress-ng {a.system.stress_ng} on A and {b.system.stress_ng} on B: a bogo operation need not be the same "
            "work in two versions; measure both with one."
        )
    if a.battery.seconds != b.battery.seconds:
        notes.append(f"Runs took {a.battery.seconds:g} s on A and {b.battery.seconds:g} s on B.")
    for which, one in (("A", a), ("B", b)):
        notes += _own_notes(which, one)
    return notes


def _own_notes(which: str, one: Profile) -> list[str]:
    notes = [] if one.complete else [f"{which} is not complete: `vgo-agent resume` goes on with its run folder."]
    if one.battery.quota:
        notes.append(f"{which} was measured under a quota of {one.battery.quota.cpus:.3g} CPUs.")
    if "cpu" in one.system.limited:
        notes.append(f"{which} was measured by a process that was under a CPU quota itself.")
    if one.system.online == 1:
        notes.append(f"{which} has one CPU, which the stressors shared with everything else.")
    shares = [run.cpu_s / run.wall_s for run in one.runs if run.wall_s and not run.failed]
    most = min(1.0, one.battery.quota.cpus) if one.battery.quota else 1.0
    if shares and (had := float(np.median(shares))) < BUSY * most:
        notes.append(
            f"{which} was busy: the workers had {100 * had:.0f} % of a CPU, where {100 * most:.0f} % was to be had; "
            "measure again when nothing else runs, or compare with --rate cpu."
        )
    return notes
