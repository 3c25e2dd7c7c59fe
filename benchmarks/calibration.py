"""How often the statistics are wrong where the truth is known: false causes, false cures, power, coverage.

python benchmarks/calibration.py [--reps 400] [--seed 1] [--only cause,cure] [--write docs/results/calibration.md]

`--only` with `--write` puts the parts named anew beside those that stand in the file.

Every number is a share of simulated experiments with its 95 % Monte Carlo interval (Wilson). Nothing is measured, so
the table does not depend on the machine; the seed gives it again.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

# One thread a process: the experiments are what runs side by side. Set before numpy is loaded.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import numpy as np
from scipy.stats import binomtest, mannwhitneyu, norm

from vgo_agent.tools.analysis.analyse import Analyses, analyse_groups
from vgo_agent.tools.analysis.analysis import Analysis, AnalysisOptions
from vgo_agent.tools.claim import Arms, Claim, claim
from vgo_agent.tools.ledger.split import FEWEST_OF_ALL
from vgo_agent.tools.recorded.recorded import Observations
from vgo_agent.tools.statistics.association.columns import Columns, FactorAssociation
from vgo_agent.tools.statistics.association.factors import associate
from vgo_agent.tools.statistics.association.mix import ALPHA, compare_mixes
from vgo_agent.tools.statistics.comparison.description import describe_arms
from vgo_agent.tools.statistics.labels.cut_search import parse
from vgo_agent.tools.statistics.ratio_test import Measure
from vgo_agent.tools.statistics.spread import log_sd_interval
from vgo_agent.tools.statistics.values import FloatArray, IntArray

Row = tuple[str, ...]
Law = Callable[[np.random.Generator, int], FloatArray]
PERMUTATIONS, RESAMPLES = 400, 1000
LEVEL = 0.05
MANY = 2_000_000
POWERFUL = ("weak", 0.40), ("middling", 0.61)
"""Rank correlation of the planted column with the outcome."""

LAWS: dict[str, Law] = {
    "normal": lambda rng, n: rng.normal(1, 0.05, n),
    "lognormal": lambda rng, n: rng.lognormal(0, 0.5, n),
    "bimodal": lambda rng, n: rng.normal(1, 0.02, n) + 0.3 * (rng.random(n) < 0.15),
    "spiky": lambda rng, n: rng.normal(1, 0.02, n) + np.where(rng.random(n) < 0.1, rng.exponential(1, n), 0),
    "t3": lambda rng, n: rng.standard_t(3, n),
    "modes": lambda rng, n: rng.normal(1, 0.02, n) + 0.3 * (rng.random(n) < 0.3),
    "rare": lambda rng, n: rng.normal(1, 0.01, n) + (rng.random(n) < 0.01),
}
WHOLE = ("normal", "lognormal", "bimodal", "spiky")
"""Laws of the whole pipeline; the others are of claims only."""
ORDERS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "none": lambda rng, n: np.zeros(n),
    "drift": lambda rng, n: np.multiply(np.arange(n), 2.0 / n, dtype=np.float64),
    "spells": lambda rng, n: np.multiply(np.cumsum(rng.random(n) < 0.05) % 2, 2.0, dtype=np.float64),
}
"""What the order of the runs adds to outcome and to a third of the unrelated columns, each for itself, in SDs."""


def table(rng: np.random.Generator, outcome: FloatArray, columns: int, order: str) -> FloatArray:
    """Make counters that explain nothing: a third collinear, a third proportional to the outcome, a third unrelated."""
    n, third = outcome.size, columns // 3
    shared = rng.lognormal(0, 0.4, (n, 1)) * rng.normal(1, 0.05, (n, third))
    follows = outcome[:, None] * rng.normal(1, 0.05, (n, third))
    unrelated = rng.lognormal(0, 0.4, (n, columns - 2 * third))
    moving = [ORDERS[order](rng, n) for _ in range(unrelated.shape[1] // 3)]
    for place, level in enumerate(moving):
        unrelated[:, place] *= np.exp(0.4 * level)
    return np.asfortranarray(np.hstack((shared, follows, unrelated)))


def ordered(rng: np.random.Generator, law: str, n: int, order: str) -> FloatArray:
    """Draw outcomes and let their order move them."""
    outcome = LAWS[law](rng, n)
    moved: FloatArray = outcome * np.exp(ORDERS[order](rng, n) * np.log(outcome).std())
    return moved


def analysed(outcome: FloatArray, values: FloatArray, cut: str = "auto", levels: Sequence[str] = ()) -> Analyses:
    """Put the question through the whole pipeline."""
    names = tuple(f"c{place}" for place in range(values.shape[1]))
    question = AnalysisOptions(cut=parse(cut), steady_cv=0.0, permutations=PERMUTATIONS, explain=False)
    design = Observations(
        "time", "s", True, outcome, names, values, np.arange(outcome.size), True, levels=frozenset(levels)
    )
    return analyse_groups([({}, design)], question)


def false_cause(seed: int, law: str, n: int, columns: int, order: str, cut: str = "auto") -> bool:
    """Is a cause found where there is none?"""
    rng = np.random.default_rng(seed)
    outcome = ordered(rng, law, n, order)
    found = analysed(outcome, table(rng, outcome, columns, order), cut)
    return found.groups[0].analysis.verdict == "cause explained"


def of_setting(rng: np.random.Generator, outcome: FloatArray, which: IntArray, cut: str = "auto") -> Analysis:
    """Put one text setting and 20 unrelated levels through the whole pipeline."""
    values = np.unique(which)
    names = (*(f"s={value}" for value in values), *(f"c{place}" for place in range(20)))
    table = np.column_stack((which[:, None] == values, rng.normal(size=(outcome.size, 20))))
    members = names[: values.size]
    question = AnalysisOptions(cut=parse(cut), steady_cv=0.0, permutations=PERMUTATIONS, explain=False)
    design = Observations(
        "time",
        "s",
        True,
        outcome,
        names,
        np.asfortranarray(table),
        np.arange(outcome.size),
        True,
        groups={"s": members},
        settings=frozenset(members),
        levels=frozenset(names),
    )
    return analyse_groups([({}, design)], question).groups[0].analysis


def dealt(rng: np.random.Generator, n: int, values: int, skewed: bool) -> IntArray:
    """Deal runs to the values of a setting in mixed order: evenly, or the first has half of what is left, and so on."""
    if skewed:
        return np.minimum(rng.geometric(0.5, n) - 1, values - 1).astype(np.int64)
    return rng.permutation(np.arange(n, dtype=np.int64) % values)


def false_setting(seed: int, law: str, n: int, values: int, skewed: bool, order: str, cut: str = "auto") -> bool:
    """Is a cause found where a setting does nothing?"""
    rng = np.random.default_rng(seed)
    found = of_setting(rng, ordered(rng, law, n, order), dealt(rng, n, values, skewed), cut)
    return found.verdict == "cause explained"


def found_setting(seed: int, n: int, values: int, skewed: bool, share: float) -> bool:
    """Is a setting found that makes a share of the variance of the logarithm of the outcome?"""
    rng = np.random.default_rng(seed)
    which = dealt(rng, n, values, skewed)
    made = rng.normal(size=values)[which]
    outcome = np.exp(0.3 * (np.sqrt(share) * made + np.sqrt(1 - share) * rng.normal(size=n)))
    found = of_setting(rng, outcome, which)
    visible = any(finding.factor.visible and finding.factor.name == "s" for finding in found.findings)
    return found.verdict == "cause explained" and visible


def false_cure(seed: int, law: str, n: int, paired: bool) -> bool:
    """Is the same program said to scatter less?"""
    rng = np.random.default_rng(seed)
    found = claim(Arms(LAWS[law](rng, n), LAWS[law](rng, n), paired=paired), seed=seed)
    return isinstance(found, Claim) and found.direction == "less"


def planted(seed: int, law: str, n: int, rho: float, columns: int = 60) -> tuple[bool, bool, bool]:
    """Is a planted cause found and named, as a level and as a counter, and by the best single test, told where?"""
    rng = np.random.default_rng(seed)
    outcome = LAWS[law](rng, n)
    ranks = norm.ppf((outcome.argsort().argsort() + 0.5) / n)
    # Of two normal variables with correlation r the rank correlation is 6 / pi asin(r / 2).
    r = 2 * np.sin(np.pi * rho / 6)
    cause = np.exp(1.5 * (r * ranks + np.sqrt(1 - r * r) * rng.normal(size=n)))
    values = np.asfortranarray(np.column_stack((cause, table(rng, outcome, columns - 1, "none"))))
    level, counter = (analysed(outcome, values, levels=levels).groups[0].analysis for levels in (("c0",), ()))
    slow = outcome > (level.classes.cut if level.classes else np.median(outcome))
    return named(level), named(counter), bool(mannwhitneyu(cause[slow], cause[~slow]).pvalue <= LEVEL)


def named(one: Analysis) -> bool:
    """Is the planted column among what was found?"""
    visible = any(finding.factor.visible and "c0" in finding.factor.members for finding in one.findings)
    return one.verdict == "cause explained" and visible


def linked(seed: int, n: int, auc: float) -> FactorAssociation:
    """Look for one column of a known AUC among 20, and give its factor."""
    rng = np.random.default_rng(seed)
    slow = rng.permutation(n) < n // 4
    values = rng.normal(size=(n, 20))
    values[:, 0] += np.sqrt(2) * norm.ppf(auc) * slow
    columns = Columns(tuple(f"c{place}" for place in range(20)), np.asfortranarray(values))
    found = associate(columns, slow, slow + 1.0, per=None, ordered=False, permutations=PERMUTATIONS, seed=seed)
    return next(factor for factor in found.factors if factor.name == "c0")


def covered(seed: int, law: str, n: int, paired: bool, truths: dict[str, float]) -> dict[str, tuple[bool, bool]]:
    """For each interval of a comparison with a halved spread: is it given, and does it hold the truth?"""
    rng = np.random.default_rng(seed)
    before, after = LAWS[law](rng, n), halved(LAWS[law](rng, n), law)
    found = describe_arms(before, after, paired=paired, seed=seed, resamples=RESAMPLES)
    return {
        ratio.statistic: _holds(ratio.low, ratio.high, truths[ratio.statistic])
        for ratio in found.ratios
        if ratio.statistic in truths
    }


class Change(NamedTuple):
    """What is done to the other arm."""

    law: str
    name: str
    other: Law

    def __repr__(self) -> str:
        """Without the address of a function, which is another one in each process: seeds follow from it."""
        return f"{self.law}, {self.name}"


def scaled(law: str, by: float, rng: np.random.Generator, n: int) -> FloatArray:
    """Draw from a law whose deviations are smaller."""
    return centre(law) + by * (LAWS[law](rng, n) - centre(law))


def modes(share: float, far: float, rng: np.random.Generator, n: int) -> FloatArray:
    """Draw from a law with two modes."""
    return rng.normal(1, 0.02, n) + far * (rng.random(n) < share)


def spiky(share: float, rng: np.random.Generator, n: int) -> FloatArray:
    """Draw from a law with spikes in a share of the runs."""
    return rng.normal(1, 0.02, n) + np.where(rng.random(n) < share, rng.exponential(1, n), 0)


def claimed(
    seed: int, change: Change, sizes: tuple[int, int], paired: bool, truth: float, measure: Measure = "spread"
) -> tuple[bool, ...]:
    """Level, coverage and power of a claim."""
    rng = np.random.default_rng(seed)
    before, same, other = LAWS[change.law](rng, sizes[0]), LAWS[change.law](rng, sizes[1]), change.other(rng, sizes[1])
    null, found = (claim(Arms(before, arm, paired=paired), measure, seed=seed) for arm in (same, other))
    assert isinstance(null, Claim) and isinstance(found, Claim)
    return (
        null.direction in ("less", "more"),
        found.low <= truth and (found.high is None or truth <= found.high),
        found.direction == "less",
    )


DISPERSIONS: Mapping[Measure, Callable[[FloatArray], float]] = {
    "spread": lambda arm: float(np.abs(arm - np.median(arm)).mean()),
    "sd": lambda arm: float(arm.std()),
    "cv": lambda arm: float(arm.std() / arm.mean()),
}


def true_ratio(change: Change, measure: Measure = "spread") -> float:
    """Give the ratio of a measure, from two million draws of each arm."""
    draws = LAWS[change.law](np.random.default_rng(0), MANY), change.other(np.random.default_rng(1), MANY)
    before, after = map(DISPERSIONS[measure], draws)
    return after / before


@cache
def centre(law: str) -> float:
    """Median of a law, from two million draws."""
    return float(np.median(LAWS[law](np.random.default_rng(0), MANY)))


def halved(outcome: FloatArray, law: str) -> FloatArray:
    """Draw every run half the way to the median of its law."""
    return centre(law) + 0.5 * (outcome - centre(law))


def true_ratios(law: str) -> dict[str, float]:
    """What the ratios are in the limit, from two million draws of each arm."""
    draws = LAWS[law](np.random.default_rng(0), MANY)
    before, after = statistics(draws), statistics(halved(draws, law))
    return {name: after[name] / before[name] for name in before}


def statistics(draws: FloatArray) -> dict[str, float]:
    """What is compared, of one arm."""
    p5, p25, median, p75, p90, p95, p99 = np.quantile(draws, (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)).tolist()
    mean, sd = float(draws.mean()), float(draws.std())
    spreads = {"sd": sd, "cv": sd / mean, "mad": float(np.median(np.abs(draws - median))), "iqr": p75 - p25}
    return {"mean": mean, "median": median, **spreads, "p95-p05": p95 - p5, "p90": p90, "p95": p95, "p99": p99}


def sd_covered(seed: int, law: str, n: int, truth: float) -> dict[str, tuple[bool, bool]]:
    """The same of the SD of one sample."""
    between = log_sd_interval(LAWS[law](np.random.default_rng(seed), n))
    return {"SD of one sample": _holds(between.low if between else None, between.high if between else None, truth)}


def _holds(low: float | None, high: float | None, truth: float) -> tuple[bool, bool]:
    return (False, False) if low is None or high is None else (True, low <= truth <= high)


class Bench:
    """Experiments on all cores; the seeds of a cell follow from what it is, so that cells do not share their luck."""

    def __init__(self, reps: int, seed: int, pool: ProcessPoolExecutor) -> None:
        """Say how many experiments a cell has."""
        self.reps, self.seed, self.pool = reps, seed, pool

    def outcomes(self, experiment: partial[Any]) -> list[Any]:
        """Carry out one cell."""
        named = {name: value for name, value in experiment.keywords.items() if name != "truths"}
        first = crc32(f"{self.seed} {experiment.func.__name__} {named}".encode())
        seeds = range(first, first + self.reps)
        return list(self.pool.map(experiment, seeds, chunksize=max(1, self.reps // 20)))

    def share(self, experiment: partial[bool]) -> str:
        """Give a share with its interval."""
        return shown([bool(outcome) for outcome in self.outcomes(experiment)])


def shown(hits: Sequence[bool]) -> str:
    """Write a share with its interval."""
    if not hits:
        return "not given"
    between = binomtest(sum(hits), len(hits)).proportion_ci(method="wilson")
    return f"{np.mean(hits):.3f} [{between.low:.3f}, {between.high:.3f}]"


def causes(bench: Bench) -> Iterator[Row]:
    """False causes, where 0.05 is asked for."""
    yield "law", "runs", "columns", *ORDERS
    for law in WHOLE:
        for n in (60, 200):
            for columns in (60, 200):
                cells = (partial(false_cause, law=law, n=n, columns=columns, order=order) for order in ORDERS)
                yield law, str(n), str(columns), *(bench.share(cell) for cell in cells)


def searches(bench: Bench) -> Iterator[Row]:
    """False causes of `--cut search`, whose freedom is paid for."""
    yield "law", "runs", "columns", "false cause"
    for law in WHOLE:
        yield law, "60", "60", bench.share(partial(false_cause, law=law, n=60, columns=60, order="none", cut="search"))


def settings(bench: Bench) -> Iterator[Row]:
    """A setting with many values among 20 unrelated columns: false causes where it does nothing, at most 0.05 is
    claimed; and how often it is found where it makes a share of the variance.

    Skewed: half of the runs have the first value, half of the rest the second, and so on.
    """
    yield "law", "runs", "values", *(f"false, {order}" for order in ORDERS), "false, cut search", "share .2", "share .5"
    for law in ("normal", "bimodal", "spiky"):
        for n, values, skewed in ((60, 12, False), (200, 12, True), (408, 51, False)):
            cell = partial(false_setting, law=law, n=n, values=values, skewed=skewed)
            searched = bench.share(partial(cell, order="none", cut="search")) if n < 408 else ""
            power = [partial(found_setting, n=n, values=values, skewed=skewed, share=share) for share in (0.2, 0.5)]
            found = [bench.share(one) if law == "normal" else "" for one in power]
            orders = (bench.share(partial(cell, order=order)) for order in ORDERS)
            yield law, str(n), f"{values} skewed" if skewed else str(values), *orders, searched, *found


def cures(bench: Bench) -> Iterator[Row]:
    """False claims that one arm scatters less, where 0.05 is asked for."""
    yield "law", "runs an arm", "paired", "not paired"
    for law in WHOLE:
        for n in (60, 200):
            yield (
                law,
                str(n),
                *(bench.share(partial(false_cure, law=law, n=n, paired=paired)) for paired in (True, False)),
            )


def changes() -> Iterator[Change]:
    """Changes of scale, and of how often and how far runs are slow."""
    for law in LAWS:
        yield Change(law, "deviations x 0.66", partial(scaled, law, 0.66))
    yield Change("modes", "slow runs 30 % to 10 %", partial(modes, 0.1, 0.3))
    yield Change("modes", "slow mode half as far", partial(modes, 0.3, 0.15))
    yield Change("spiky", "spikes 10 % to 2 %", partial(spiky, 0.02))


def claimings(bench: Bench) -> Iterator[Row]:
    """Claims of the spread (mean absolute deviation from the median).

    False: either direction is claimed where nothing differs; 0.05 is asked for. The interval inverts a test that scales
    deviations: where another thing changes, as how often a mode occurs, coverage can be less. Shown: "less", where the
    other arm changed.
    """
    yield "law", "runs", "change", "false", "covered", "shown"
    for change in changes():
        truth = true_ratio(change)
        for sizes, paired in (
            ((20, 20), True),
            ((40, 40), True),
            ((100, 100), True),
            ((40, 40), False),
            ((100, 30), False),
        ):
            cell = partial(claimed, change=change, sizes=sizes, paired=paired, truth=truth)
            runs = f"{sizes[0]} pairs" if paired else f"{sizes[0]} and {sizes[1]}"
            yield change.law, runs, change.name, *(shown(hits) for hits in zip(*bench.outcomes(cell), strict=True))


def beside(bench: Bench) -> Iterator[Row]:
    """Claims of the SD and of the CV, which stand beside that of the spread, in pairs.

    False, covered and shown as above. Rare: one run in a hundred is 100 SD off. A CV says nothing of the law t3, whose
    mean is 0.
    """
    yield "law", "pairs", *(f"{measure}, {what}" for measure in ("SD", "CV") for what in ("false", "covered", "shown"))
    measures: tuple[Measure, ...] = ("sd", "cv")
    for law in (name for name in LAWS if name != "t3"):
        change = Change(law, "deviations x 0.66", partial(scaled, law, 0.66))
        truths = [true_ratio(change, measure) for measure in measures]
        for n in (20, 40, 100):
            cells = [
                partial(claimed, change=change, sizes=(n, n), paired=True, truth=truth, measure=measure)
                for measure, truth in zip(measures, truths, strict=True)
            ]
            yield law, str(n), *(shown(hits) for cell in cells for hits in zip(*bench.outcomes(cell), strict=True))


def powers(bench: Bench) -> Iterator[Row]:
    """Planted causes among 60 columns: the whole pipeline, next to a rank test that is told which column it is.

    As a level the column is taken as it is. As a counter it must also go with slow runs once divided by the outcome:
    where the outcome varies much and the link is weak, a cause grows about as the run does, and nothing in the data
    tells it from a consequence.
    """
    yield "law", "runs", "cause", "level, found and named", "counter, found and named", "best single test"
    for law in WHOLE:
        for n in (60, 200):
            for name, rho in POWERFUL:
                found = bench.outcomes(partial(planted, law=law, n=n, rho=rho))
                yield law, str(n), f"{name} (rho {rho})", *(shown(hits) for hits in zip(*found, strict=True))


def coverages(bench: Bench) -> Iterator[Row]:
    """Coverage of 95 % intervals; a halved spread. Intervals that are not given do not count."""
    cells = [(n, paired) for n in (60, 200) for paired in (True, False)]
    yield "law", "interval", *(f"{n} {'paired' if paired else 'not paired'}" for n, paired in cells)
    for law in WHOLE:
        truths = true_ratios(law)
        found = [bench.outcomes(partial(covered, law=law, n=n, paired=paired, truths=truths)) for n, paired in cells]
        for name in truths:
            if any(one[name][0] for cell in found for one in cell):
                yield law, f"ratio of {name}", *(_coverage(cell, name) for cell in found)
        sd = float(LAWS[law](np.random.default_rng(0), MANY).std())
        single = [bench.outcomes(partial(sd_covered, law=law, n=n, truth=sd)) for n in (60, 200)]
        yield (
            law,
            "SD of one sample",
            *(_coverage(cell, "SD of one sample") for cell in (single[0], single[0], single[1], single[1])),
        )


def links(bench: Bench) -> Iterator[Row]:
    """Coverage of the 95 % intervals of a factor, one of 20 columns, a quarter of the runs slow.

    The truth of an importance is its mean over the experiments in which its interval is given.
    """
    yield "runs", "AUC", "interval of the AUC", "interval of the importance", "importance given in"
    for n in (60, 200):
        for auc in (0.7, 0.8, 0.9):
            factors = bench.outcomes(partial(linked, n=n, auc=auc))
            holds = [_holds(factor.auc_low, factor.auc_high, auc) for factor in factors]
            given = [factor for factor in factors if factor.importance_low is not None]
            truth = float(np.mean([factor.importance for factor in given])) if given else 0.0
            kept = [_holds(factor.importance_low, factor.importance_high, truth)[1] for factor in given]
            of_auc = shown([hit for was, hit in holds if was])
            yield str(n), str(auc), of_auc, shown(kept), f"{len(given)} of {len(factors)}"


def _coverage(cell: list[dict[str, tuple[bool, bool]]], name: str) -> str:
    holds = [one[name] for one in cell]
    return shown([hit for given, hit in holds if given])


def mixed(seed: int, runs: int, slow: int, samples: tuple[int, int], like: float, moved: float) -> tuple[bool, bool]:
    """Tell whether slow runs are said to have another mix of 20 functions, and whether a function is named.

    `samples` of a fast and of a slow run; their shares are Dirichlet(`like` x common shares), 0: the common shares;
    `moved` of the samples of slow runs goes to the first function.
    """
    rng = np.random.default_rng(seed)
    common = 0.02 / 20 + 0.98 * rng.dirichlet(np.full(20, 0.3))
    is_slow = rng.permutation(runs) < slow
    shares = rng.dirichlet(common * like, runs) if like else np.tile(common, (runs, 1))
    shares[is_slow] = (1 - moved) * shares[is_slow] + moved * np.eye(20)[0]
    drawn = rng.poisson(np.where(is_slow, samples[1], samples[0]))
    counts = rng.multinomial(drawn, shares).astype(np.float64)
    rare = counts.sum(axis=0) < FEWEST_OF_ALL
    found = compare_mixes(np.column_stack((counts[:, ~rare], counts[:, rare].sum(axis=1))), is_slow, seed)
    different = found is not None and found.p_value <= ALPHA
    return different, found is not None and different and bool((found.p_values <= ALPHA).any())


def mixes(bench: Bench) -> Iterator[Row]:
    """Whether slow runs are said to share their time among functions in another way than fast ones.

    0.05 is asked for where they do not; and how often it is found where a part of their samples is moved to one
    function. Shares of runs vary as those of samples do, or more (rho .02).
    """
    yield "runs", "slow", "samples, fast and slow", "shares vary", "false", "function named", "moved .1", "moved .3"
    for runs, slow in ((12, 6), (30, 5), (30, 15), (30, 25), (60, 30)):
        for samples in ((20, 30), (10, 100), (100, 300)):
            for like in (0.0, 50.0):
                cell = partial(mixed, runs=runs, slow=slow, samples=samples, like=like)
                false = zip(*bench.outcomes(partial(cell, moved=0.0)), strict=True)
                power = [[one[0] for one in bench.outcomes(partial(cell, moved=moved))] for moved in (0.1, 0.3)]
                varied = "more" if like else "as samples"
                yield str(runs), str(slow), f"{samples[0]}, {samples[1]}", varied, *map(shown, (*false, *power))


PARTS: dict[str, tuple[str, Callable[[Bench], Iterator[Row]]]] = {
    "cause": ("False causes", causes),
    "setting": ("Settings with many values", settings),
    "search": ("False causes when the cut is searched for", searches),
    "cure": ("False cures", cures),
    "claim": ("Claims", claimings),
    "beside": ("Claims of the SD and the CV", beside),
    "power": ("Power", powers),
    "coverage": ("Coverage of intervals", coverages),
    "mix": ("Functions of slow and fast runs", mixes),
    "links": ("Coverage of what is said of a factor", links),
}


def section(bench: Bench, name: str) -> str:
    """Write one part as Markdown."""
    title, rows = PARTS[name]
    head, *body = rows(bench)
    lines = [f"| {' | '.join(line)} |" for line in (head, ("---",) * len(head), *body)]
    words = " ".join((rows.__doc__ or "").split())
    print(f"{name} done", file=sys.stderr)
    return f"## {title}\n\n{words}\n\n" + "\n".join(lines) + "\n"


def merged(sections: dict[str, str], path: Path, command: str) -> str:
    """Put new parts beside those that stand in the file."""
    old = path.read_text().split("\n## ")[1:] if path.exists() else []
    standing = {f"## {text.partition(chr(10))[0]}": f"## {text.rstrip()}\n" for text in old}
    parts = [sections.get(name) or standing.get(f"## {title}", "") for name, (title, _) in PARTS.items()]
    made = f"Made by `{command}`, on {date.today()} last; shares with 95 % Monte Carlo intervals."
    head = f"# How often the statistics are wrong\n\n{made}\n"
    return "\n".join([head, *filter(None, parts)])


def main() -> None:
    """Simulate, print, and write the table where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reps", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    command = f"python benchmarks/calibration.py --reps {asked.reps} --seed {asked.seed}"
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        bench = Bench(asked.reps, asked.seed, pool)
        sections = {name: section(bench, name) for name in asked.only.split(",")}
    print("\n".join(sections.values()))
    if asked.write:
        asked.write.write_text(merged(sections, asked.write, command))


if __name__ == "__main__":
    main()
