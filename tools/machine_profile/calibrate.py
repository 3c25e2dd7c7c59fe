"""Find the CPU quota that brings this machine closest to a base: each stressor with and without it, next to each other.

Closest is the least sum of absolute log speed-ups over the base, which a common factor minimises where their median is
1. A quota acts as a factor, but not exactly its share (Jimenez et al., section Reduction of Variability Range), so the
response is measured, and the quota moved, until the median is 1. The machine drifts meanwhile; the ratio of two runs
next to each other does not, so each step judges only such ratios.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ...knowledge.errors import VgoError
from ..row import Row
from .battery import GROUPS, Group
from .compare import BUSY, Floats, middle
from .form import Calibrated, Calibration, Profile, Quota, Range, System, Unmatched
from .quota import PERIOD_US, quota_of
from .quota_pairs import MOST_CPUS, QuotaPairs, QuotaStep, Search

CLOSE = 0.01
"""A median speed-up within this of 1 ends the search."""
LEAST_CPUS = 0.02
FAR = 0.1
"""In logarithms: a median speed-up that the search leaves further from 1 is no calibration."""
OFF = 0.1
"""A stressor that stays further from 1 than this is named as not matched."""
DRAWS = 1000
PERIODS = 20
"""In each run at least, so that its first and last count for little."""

RunStep = Callable[[QuotaStep], Sequence[Row]]
"""Gives the rows of a step: of its runs, or of a log; fewer than two for each stressor where the budget ended."""


def calibrate(
    base: Profile,
    here: Profile | None,
    system: System,
    stressors: Mapping[str, Group],
    search: Search,
    run: RunStep,
    telling: Callable[[str], None] = lambda words: None,
) -> Calibrated:
    """Search and report; the same rows give the same steps and answer.

    `stressors` are those that this machine has. Raises VgoError where this machine does less, or nothing can be
    compared.
    """
    rates = base_rates(base, here, stressors)
    if not any(stressors[name] == "cpu" for name in rates):
        raise VgoError(
            "The base has no result of a CPU stressor of the usual battery that can be run here: profile it again, "
            "without --stressor."
        )
    own = here.rates("real") if here else {}
    pairs = QuotaPairs(rates, stressors, {name: middle(own[name]) for name in rates if here})
    whole = _search(pairs, search, run, telling)
    return _result(pairs, base, system, search, whole)


def base_rates(base: Profile, here: Profile | None, stressors: Mapping[str, Group]) -> dict[str, float]:
    """Give log rates on the base, of the stressors that can be compared."""
    own = here.rates("real") if here else stressors
    return {name: middle(found) for name, found in base.rates("real").items() if name in stressors and name in own}


def period_for(seconds: float) -> int:
    """Choose a period: 10 ms, shorter where a run would hold fewer than twenty."""
    return max(2000, min(PERIOD_US, int(1e6 * seconds / PERIODS)))


def _search(pairs: QuotaPairs, search: Search, run: RunStep, telling: Callable[[str], None]) -> bool:
    """Step towards a median of 1, with a sample of the stressors; the last step takes every one, of all groups.

    Gives False where the budget ended before that.
    """
    draw, period = random.Random(search.seed), period_for(search.seconds)
    cpu = sorted(name for name in pairs.base if pairs.groups[name] == "cpu")
    cpus, close = float(np.exp(-pairs.median())) if pairs.here else 0.5, False
    for number in range(search.steps):
        last = close or number == search.steps - 1
        names = sorted(pairs.base) if last else draw.sample(cpu, min(search.sample, len(cpu)))
        order = random.Random(f"{search.seed} {number}").sample(sorted(names), len(names))
        step = QuotaStep(number, tuple(order), within(cpus, period))
        rows = run(step)
        pairs.add(step, rows)
        _refuse_unknown(pairs)
        telling(_step_words(pairs))
        if last or len(rows) < 2 * len(order):
            return last and len(rows) == 2 * len(order)
        before, cpus = cpus, pairs.cpus_wanted()
        close = abs(pairs.steps[-1].median - 1) <= CLOSE and abs(cpus / before - 1) <= CLOSE
    raise AssertionError("a search has a last step")


def _step_words(pairs: QuotaPairs) -> str:
    step = pairs.steps[-1]
    return (
        f"  quota {step.quota.cpus:.4g} CPUs: median speed-up over the base {step.median:.3g} "
        f"({step.stressors} stressors)"
    )


def within(cpus: float, period: int) -> Quota:
    """Make a quota of a wish; below the least that a short period holds, the period is longer."""
    cpus = min(MOST_CPUS, max(LEAST_CPUS, cpus))
    return quota_of(cpus, period if cpus * period >= 1000 else None)


def _refuse_unknown(pairs: QuotaPairs) -> None:
    """Refuse to go on with nothing to go by, and on a machine that a quota cannot bring to the base."""
    if not pairs.steps:
        raise VgoError("The budget ended before a CPU stressor had run with and without the quota: raise --budget.")
    speed = float(np.exp(pairs.median()))
    if speed <= 1:
        raise VgoError(
            f"This machine does no more than the base (median speed-up {speed:.3g}), and a quota only slows down: "
            "calibrate the base to this machine instead."
        )


def _result(pairs: QuotaPairs, base: Profile, system: System, search: Search, whole: bool) -> Calibrated:
    # Log quota that each CPU stressor asks for, by its pairs near the last; their median is closest for all of them.
    wanted = -np.array([*pairs.after("cpu", 1.0).values()])
    quota = within(float(np.exp(np.median(wanted))), period_for(search.seconds))
    before, after = _range(pairs.before("cpu")), _range(pairs.after("cpu", quota.cpus))
    _refuse_far(pairs, after)
    low, high = np.minimum(np.quantile(_drawn(wanted, search.seed), (0.025, 0.975)), MOST_CPUS)
    calibration = Calibration(
        base=base.system,
        here=system,
        quota=quota,
        low=float(low),
        high=float(high),
        before=(before.least, before.median, before.greatest),
        after=(after.least, after.median, after.greatest),
    )
    return Calibrated(
        calibration=calibration,
        steps=tuple(pairs.steps),
        before=before,
        after=after,
        unmatched=_unmatched(pairs, quota),
        apart=sum(len(pairs.before(group)) for group in GROUPS if group != "cpu"),
        failed=_failed(pairs, base),
        notes=tuple(_notes(pairs, base, system, whole)),
    )


def _refuse_far(pairs: QuotaPairs, after: Range) -> None:
    """Refuse to call that a calibration which leaves the machine elsewhere."""
    if abs(np.log(after.median)) > FAR:
        raise VgoError(
            f"No quota was found: the median speed-up over the base stays at {after.median:.3g}, and runs without the "
            f"quota had {100 * pairs.cpu_share:.0f} % of a CPU; calibrate when nothing else runs, use --ahead, or "
            "allow more --steps."
        )


def _unmatched(pairs: QuotaPairs, quota: Quota) -> tuple[Unmatched, ...]:
    """Name what stays off the base, the farthest first."""
    left = [
        Unmatched(stressor=name, group=group, speed_up=float(np.exp(log)))
        for group in GROUPS
        for name, log in pairs.after(group, quota.cpus).items()
        if abs(np.exp(log) - 1) > OFF
    ]
    return tuple(sorted(left, key=lambda one: -abs(np.log(one.speed_up))))


def _drawn(wanted: Floats, seed: int) -> Floats:
    """Bootstrap the quota over stressors."""
    picks = np.random.default_rng(seed).integers(len(wanted), size=(DRAWS, len(wanted)))
    found: Floats = np.exp(np.median(wanted[picks], axis=1))
    return found


def _range(logs: Mapping[str, float]) -> Range:
    values = np.exp([*logs.values()])
    return Range(least=float(values.min()), median=float(np.median(values)), greatest=float(values.max()))


def _failed(pairs: QuotaPairs, base: Profile) -> dict[str, str]:
    """Say of every stressor of the base that was not matched why not."""
    lacking = {
        name: f"of the base: {base.why_missing(name)}"
        if name not in base.rates("real")
        else "not in this stress-ng, or not in --here"
        for name in base.battery.stressors
        if name not in pairs.base
    }
    return lacking | pairs.failed


def _notes(pairs: QuotaPairs, base: Profile, system: System, whole: bool) -> list[str]:
    notes = (
        [] if whole else [f"The budget ended in step {len(pairs.steps)}, before the last: fewer stressors were tried."]
    )
    if base.system.architecture != system.architecture:
        notes.append(
            f"The base is {base.system.architecture} and this machine {system.architecture}: compilers differ."
        )
    if base.system.stress_ng != system.stress_ng:
        notes.append(
            f"The base has stress-ng {base.system.stress_ng}, this machine {system.stress_ng}: work may differ."
        )
    if "cpu" in system.limited:
        notes.append("This process is under a CPU quota already, and the one found here comes on top of it.")
    if (share := pairs.cpu_share) < BUSY:
        notes.append(
            f"This machine was busy: runs without the quota had {100 * share:.0f} % of a CPU, and a quota above that "
            "is found too large; calibrate again when nothing else runs, or use --ahead."
        )
    if pairs.steps[-1].quota.cpus >= MOST_CPUS:
        notes.append("The base is as fast as this machine to within what can be told, so nothing need be limited.")
    return notes
