"""A study in words: its tables, answers and what it recommends, for a terminal and for the report."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...tools.claim import Claim
from ...tools.claim_words import in_a_word, interval
from ...tools.statistics.values import IntervalEstimate
from ...tools.study.design import StudyDesign
from ...tools.study.effects import Effect
from ...tools.study.spreads import Against, Spread
from ...tools.study.study import Study
from ..study import StudyResult
from ..terminal import table
from .numbers import ABSENT, number, percent, ratio, scale

SETTINGS_HEAD = ("setting", "runs", "mean", "SD [95 %]", "CV [95 %]", "min/mean", "max/mean", "CPUs busy")
AGAINST_HEAD = ("setting", "spread ratio", "level", "CV ratio", "mean ratio", "p, alone", "spread")
EFFECTS_HEAD = ("effect", "spread ratio [95 %]", "mean ratio [95 %]", "p (Holm)")
CORES_HEAD = ("cores", "left", "threads", "mean", "CV", "min/mean", "max/mean", "spread ratio to all cores", "spread")
Table = tuple[tuple[str, ...], list[tuple[str, ...]]]


def planned(design: StudyDesign, rounds: int) -> str:
    """Say what a study would run, and what it would skip."""
    lines = [f"{len(design.settings)} settings, {rounds} rounds at most, on {design.machine}. Nothing was run."]
    lines += [table(("SETTING", "CHANGES"), [(one.name, one.told()) for one in design.settings])]
    return "\n".join([*lines, *_skipped(design)])


def _skipped(design: StudyDesign) -> list[str]:
    """Levels with one reason are in one line."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in design.skipped:
        reasons.setdefault((one.factor, one.reason), []).append(one.level)
    return [f"Skipped {factor} {', '.join(levels)}: {why}." for (factor, why), levels in reasons.items()]


def summary(studied: StudyResult) -> dict[str, Any]:
    """Give the whole answer as JSON has it."""
    values = studied.study.model_dump(mode="json")
    answer = {"command": list(studied.asked.subject.command), "headline": studied.study.headline, **values}
    return {"folder": str(studied.folder), **answer}


def text(studied: StudyResult) -> str:
    """Tell the answer in a terminal."""
    study, unit = studied.study, studied.asked.subject.unit
    parts = [study.verdict, *study.notes, ""]
    for head, rows in (settings(study, unit), held_against(study), main_effects(study), cores(study, unit)):
        if rows:
            parts += [table(tuple(word.upper() for word in head), rows), ""]
    parts += [study.reservation.answer, ""] if study.reservation.answer else []
    if study.advice:
        parts += ["In a shell:", *(f"  {line}" for line in study.advice.shell)]
        parts += ["With Slurm:", *(f"  {line}" for line in study.advice.slurm), *study.advice.notes, ""]
    parts += [*left_out(study), f"Report: {studied.folder / 'report.html'}"]
    return "\n".join(parts)


def left_out(study: Study) -> list[str]:
    """Name settings that failed in their warm-up run, that turned out the same here, and levels that cannot be had."""
    failed = [f"Failed, so not run in rounds: {one.setting}: {one.failure}." for one in study.tried if one.failure]
    same: dict[str, list[str]] = {}
    for one in study.tried:
        if one.alike:
            same.setdefault(one.alike, []).append(one.setting)
    alike = (f"The same here as {one}, by what the runtime says: {', '.join(others)}." for one, others in same.items())
    return [*failed, *alike, *_skipped(study.design)]


def settings(study: Study, unit: str) -> Table:
    """Tabulate what each setting gave."""
    largest = max((one.mean or 0.0 for one in study.spreads), default=0.0)
    show = scale(unit, largest)
    rows = [_numbers(one, show.show, show.factor) for one in study.spreads]
    return SETTINGS_HEAD, rows


def _numbers(one: Spread, show: Any, factor: float) -> tuple[str, ...]:
    runs = f"{one.runs} ({one.failed} failed)" if one.failed else str(one.runs)
    return (
        *(one.setting, runs, show(one.mean)),
        show(one.sd) + _between(one.sd_interval, lambda end: number(end * factor, 3)),
        percent(one.cv) + _between(one.cv_interval, lambda end: number(100 * end, 3)),
        *(number(one.minimum), number(one.maximum), number(one.cpus_busy, 3)),
    )


def _between(interval: IntervalEstimate | None, show: Any) -> str:
    return f" [{show(interval.low)}, {show(interval.high)}]" if interval else ""


def held_against(study: Study) -> Table:
    """Tabulate each setting against the environment as given; the confirming batch comes last."""
    rows = [_held(one.setting, one.against) for one in study.spreads if one.against]
    if study.confirmed and study.chosen:
        rows.append(_held(f"{study.chosen}, in runs of its own", study.confirmed))
    return AGAINST_HEAD, rows


def _held(name: str, against: Against) -> tuple[str, ...]:
    spread, parts = against.spread, (against.cv, against.mean)
    level, p = (percent(spread.level), number(spread.p_value, 2)) if isinstance(spread, Claim) else (ABSENT, ABSENT)
    return name, interval(spread), level, *(interval(part) for part in parts), p, in_a_word(spread)


def main_effects(study: Study) -> Table:
    """Tabulate main effects and interactions."""
    return EFFECTS_HEAD, [_effect(one) for one in study.effects]


def _effect(one: Effect) -> tuple[str, ...]:
    spread, mean = (ratio(part.value, part.low, part.high) for part in (one.spread, one.mean))
    return named(one), spread, mean, number(one.p_value, 2)


def named(one: Effect) -> str:
    """Name an effect: `wait: active for default`; an interaction has two of them."""
    parts = zip(one.factors, one.levels, one.reference, strict=True)
    return " x ".join(f"{factor}: {level} for {reference}" for factor, level, reference in parts)


def cores(study: Study, unit: str) -> Table:
    """Tabulate how the variability grows with the number of cores."""
    steps = study.reservation.steps
    if len(steps) < 2:
        return CORES_HEAD, []
    by_name = {one.setting: one for one in study.spreads}
    show = scale(unit, max((one.mean or 0.0 for one in study.spreads), default=0.0)).show
    rows: list[tuple[str, ...]] = []
    for step in steps:
        one, held = by_name[step.setting], step.against_all
        spread = interval(held.spread) if held else ABSENT
        rows.append(
            (
                *(str(step.cores), str(step.spare), str(step.threads), show(one.mean), percent(one.cv)),
                *(number(one.minimum), number(one.maximum), spread, in_a_word(held.spread) if held else "every core"),
            )
        )
    return CORES_HEAD, rows


def clocks(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Tabulate the clock of the CPUs under each setting, over its runs; nothing where it could not be read."""
    head = ("setting", "mean MHz", "lowest", "highest", "SD over runs")
    found: dict[str, list[tuple[float, float, float]]] = {}
    for row in rows:
        if row["ok"] == 1 and "freq.mean_mhz" in row:
            mean = row["freq.mean_mhz"]
            ends = row.get("freq.min_mhz", mean), row.get("freq.max_mhz", mean)
            found.setdefault(row["condition"], []).append((mean, *ends))
    return head, [(name, *_clock(values)) for name, values in found.items()]


def _clock(values: Sequence[tuple[float, float, float]]) -> Iterator[str]:
    means = [mean for mean, _, _ in values]
    yield number(statistics.fmean(means))
    yield number(min(low for _, low, _ in values))
    yield number(max(high for _, _, high in values))
    yield number(statistics.stdev(means), 3) if len(means) > 1 else ABSENT
