"""Machine profiles in words: what was measured, and the variability profile of two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...tools.machine_profile.compare import (
    OUTLIER_RULE,
    BootstrapEstimate,
    GroupSummary,
    MachineComparison,
    StressorRatio,
)
from ...tools.machine_profile.form import Calibrated, Profile, Quota, Range, Unmatched
from ...tools.machine_profile.quota import docker_flag
from ..terminal import folded, table

HEADER = ("GROUP", "STRESSORS", "LEAST", "QUARTILE", "MEDIAN", "QUARTILE", "GREATEST")
RATIO_HEADER = ("STRESSOR", "GROUP", "SPEED-UP", "95 %", "")
BAR, BINS = 40, 12
APART = "Only the CPU stressors bound CPU-bound programs; the other groups stand apart."


def quota_words(quota: Quota | None) -> str:
    """Name a quota, or that there is none."""
    if quota is None:
        return "no quota"
    return f"a quota of {quota.cpus:.3g} CPUs ({quota.quota_us} us of {quota.period_us} us)"


def profiled_values(one: Profile, path: Path) -> dict[str, Any]:
    """Give what was measured as an object."""
    failed = {name: one.why_missing(name) for name in one.battery.stressors if name not in one.rates("real")}
    return {
        "file": str(path),
        "name": one.system.name,
        "complete": one.complete,
        "runs": len(one.runs),
        "stressors": dict(Counter(one.battery.stressors.values())),
        "quota": one.battery.quota.model_dump() if one.battery.quota else None,
        "failed": failed,
    }


def profiled_text(one: Profile, path: Path) -> str:
    """Say what was measured."""
    counts = ", ".join(f"{count} {group}" for group, count in Counter(one.battery.stressors.values()).items())
    lines = [
        f"{path}: {one.system.name} ({one.system.cpu}, stress-ng {one.system.stress_ng}), "
        f"{quota_words(one.battery.quota)}",
        f"{len(one.runs)} runs of {one.battery.seconds:g} s; stressors: {counts}.",
    ]
    if one.battery.quota:
        lines.append(f"The quota stopped {sum(run.throttled > 0 for run in one.runs)} of them.")
    failed = [name for name in one.battery.stressors if name not in one.rates("real")]
    lines += [f"No result: {name} ({one.why_missing(name)})" for name in failed]
    return "\n".join(lines)


def compared_text(found: MachineComparison) -> str:
    """Give the whole comparison as text."""
    parts = [title(found), table(HEADER, [summary_row(one) for one in found.groups]), folded(APART)]
    parts += [histogram([one.speed_up.value for one in found.ratios if one.group == "cpu"], "CPU stressors")]
    parts += [folded(line) for line in said(found)]
    parts += [table(RATIO_HEADER, [ratio_row(one) for one in found.ratios])]
    return "\n\n".join(part for part in parts if part)


def title(found: MachineComparison) -> str:
    """Name both machines and the rate."""
    kind = "real time" if found.rate == "real" else "CPU time"
    return (
        f"B/A: {found.b.name} ({found.b.cpu}) over {found.a.name} ({found.a.cpu}), "
        f"bogo operations per second of {kind}; above 1, B does more."
    )


def said(found: MachineComparison) -> list[str]:
    """Give the sentences: the bound, the applications, outliers, what is missing, notes."""
    lines = [bound_words(found.bound)] if found.bound else []
    if found.applications:
        inside = sum(one.inside for one in found.applications)
        lines.append(f"{inside} of {len(found.applications)} applications lie within that range.")
        lines += [
            f"Outside: {one.name}, {one.speed_up:.3g} times as fast; a program bound by memory or I/O falls outside."
            for one in found.applications
            if not one.inside
        ]
    for one in found.groups:
        if one.outliers:
            lines.append(
                f"Outliers of group {one.group}: {', '.join(one.outliers)} ({OUTLIER_RULE}). They are kept; without "
                f"them the range is {one.least_inside:.3g} to {one.greatest_inside:.3g}."
            )
    lines += [f"No ratio for {name}: {why}." for name, why in found.missing.items()]
    return [*lines, *(f"Note: {note}" for note in found.notes)]


def bound_words(bound: GroupSummary) -> str:
    """Say what is predicted."""
    low, high = bound.least.value, bound.greatest.value
    return (
        f"Predicted for CPU-bound programs: {low:.3g} to {high:.3g} times as fast on B, that is {1 / high:.3g} to "
        f"{1 / low:.3g} times the seconds."
    )


def summary_row(one: GroupSummary) -> tuple[str, ...]:
    """Lay out a group."""
    five = (one.least, one.quartile_1, one.median, one.quartile_3, one.greatest)
    return (one.group, str(one.stressors), *map(interval_words, five))


def ratio_row(one: StressorRatio) -> tuple[str, ...]:
    """Lay out a stressor."""
    value = one.speed_up
    bounds = f"{value.low:.3g} to {value.high:.3g}" if value.low is not None else "one repetition"
    return (one.stressor, one.group, f"{value.value:.3g}", bounds, "outlier" if one.outlier else "")


def interval_words(one: BootstrapEstimate) -> str:
    """Write a number with its interval."""
    return f"{one.value:.3g}" if one.low is None else f"{one.value:.3g} [{one.low:.3g}, {one.high:.3g}]"


def histogram(values: Sequence[float], name: str) -> str:
    """Draw a histogram with characters."""
    if not values:
        return ""
    counts, edges = np.histogram(values, bins=min(BINS, max(1, len(values))))
    longest = max(counts)
    rows = [
        (f"{edges[at]:.3g} to {edges[at + 1]:.3g}", f"{'#' * round(BAR * count / longest)} {count}".strip())
        for at, count in enumerate(counts)
    ]
    return table(("SPEED-UP", name.upper()), rows)


MOST_NAMED = 12


def calibrated_text(found: Calibrated, path: Path) -> str:
    """Give the whole answer as text."""
    one = found.calibration
    parts = [
        f"{headline(found)}, {quota_words(one.quota)}.",
        table(("SPEED-UP OVER THE BASE", "LEAST", "MEDIAN", "GREATEST", "WIDTH"), rows(found)),
        table(("STEP", "CPUS", "STRESSORS", "MEDIAN SPEED-UP"), step_rows(found)),
        *map(folded, sentences(found)),
        f"cgroup v2:  cpu.max = {one.quota.quota_us} {one.quota.period_us}\n"
        f"cgroup v1:  cpu.cfs_quota_us = {one.quota.quota_us}, cpu.cfs_period_us = {one.quota.period_us}\n"
        f"container:  {docker_flag(one.quota)}\n"
        f"here:  vgo-agent machine run --like {path} -- COMMAND",
    ]
    return "\n\n".join(parts)


def headline(found: Calibrated) -> str:
    """Say what was found, without a full stop."""
    one = found.calibration
    share = f"{100 * one.quota.cpus:.1f} % of a CPU (95 % {100 * one.low:.1f} to {100 * one.high:.1f})"
    return f"{one.here.name} with {share} is most like {one.base.name}"


def rows(found: Calibrated) -> list[tuple[str, ...]]:
    """Lay out the range before and after."""
    return [_range("without the quota", found.before), _range(_with_it(found), found.after)]


def _with_it(found: Calibrated) -> str:
    """Say where the runs were made that its row is computed from, as the last step moves the quota once more."""
    last, chosen = found.steps[-1].quota.cpus, found.calibration.quota.cpus
    return "with it" if last == chosen else f"with it, computed from runs at {last:.4g} CPUs"


def step_rows(found: Calibrated) -> list[tuple[str, ...]]:
    """Lay out the search."""
    return [
        (str(number), f"{step.quota.cpus:.4g}", str(step.stressors), f"{step.median:.3g}")
        for number, step in enumerate(found.steps, 1)
    ]


def sentences(found: Calibrated) -> list[str]:
    """Say what is not matched, what failed and what makes it doubtful."""
    cpu = [one for one in found.unmatched if one.group == "cpu"]
    others = [one for one in found.unmatched if one.group != "cpu"]
    lines = ["Every CPU stressor comes within 10 % of the base."] if not cpu else []
    if cpu:
        lines.append(f"Not matched, more than 10 % off the base: {_named(cpu)}. No quota fits every instruction mix.")
    if others:
        lines.append(f"Of the {found.apart} stressors of other groups, off the base: {_named(others)}.")
    lines += [f"No result for {name}: {why}." for name, why in found.failed.items()]
    return [*lines, *(f"Note: {note}" for note in found.notes)]


def _range(name: str, one: Range) -> tuple[str, ...]:
    return (name, *(f"{value:.3g}" for value in (one.least, one.median, one.greatest, one.width)))


def _named(these: Sequence[Unmatched]) -> str:
    named = [f"{one.stressor} {one.speed_up:.3g}" for one in these[:MOST_NAMED]]
    more = [f"{len(these) - MOST_NAMED} more"] if len(these) > MOST_NAMED else []
    return ", ".join([*named, *more])
