"""What `try` and `tune` answer beside the verdict: both arms, the checks, the levels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from ...tools.claim import Claim
from ...tools.claim_words import interval
from ...tools.comparison import Comparison, claimed
from ...tools.experiment.race import MEASURE_OF
from ...tools.remedies import values_of
from ...tools.screen_levels import LevelResult, ScreenResult
from ..terminal import table
from .evidence import Evidence
from .numbers import number, percent, quantity, ratio, statistic_name

STATISTICS = ("sd", "cv", "mean", "p95")
HEADER = ("", "BASELINE", "WITH IT", "RATIO")


def details(evidence: Evidence) -> tuple[str, ...]:
    """Lines for a terminal; none where the user chose no mitigation."""
    if not evidence.run.plan.mitigation:
        return ()
    parts = filter(None, (_levels(evidence), _arms(evidence), "\n".join(_proofs(evidence))))
    return tuple(line for part in parts for line in (*part.split("\n"), ""))


def values(evidence: Evidence) -> dict[str, Any]:
    """What `--json` has beside the verdict; empty where the user chose no mitigation."""
    plan, screened = evidence.run.plan, evidence.screened
    if not plan.mitigation:
        return {}
    last = evidence.batches[-1] if evidence.batches else None
    comparison = _comparison(evidence)
    return {
        "mitigation": plan.mitigation,
        "values": values_of(evidence.run.record, plan),
        "by_hand": plan.by_hand,
        "after": plan.after or None,
        "in_force": last.applied.in_force if last else None,
        "checks": [check.model_dump(mode="json") for check in last.applied.checks] if last else [],
        "moved": [moved.model_dump(mode="json") for moved in last.compared.moved] if last and last.compared else [],
        "comparison": comparison.model_dump(mode="json", exclude={"described": {"shifts"}}) if comparison else None,
        "screening": screened.model_dump(mode="json", exclude={"summary"}) if screened else None,
    }


def level_rows(screened: ScreenResult, unit: str) -> list[tuple[str, ...]]:
    """Every level of the screening, the baseline first: name, runs, SD, CV, mean, p95, ratio, best or why dropped."""
    return [_row(level, level.level == screened.best, unit) for level in (screened.baseline, *screened.levels)]


def _row(level: LevelResult, best: bool, unit: str) -> tuple[str, ...]:
    found = level.summary
    return (
        level.level,
        number(found.n) if found else "0",
        quantity(found.sd, unit) if found and found.sd is not None else "",
        percent(found.cv) if found and found.cv is not None else "",
        quantity(found.mean, unit) if found else "",
        quantity(found.p95, unit) if found else "",
        interval(level.claim) if isinstance(level.claim, Claim) else "",
        "best" if best else level.dropped,
    )


def _levels(evidence: Evidence) -> str:
    screened = evidence.screened
    if screened is None:
        return ""
    ratio = f"{MEASURE_OF[screened.minimise].upper()} RATIO"
    header = (screened.parameter.upper(), "RUNS", "SD", "CV", "MEAN", "P95", ratio, "")
    return table(header, level_rows(screened, evidence.run.subject.unit))


def _comparison(evidence: Evidence) -> Comparison | None:
    return evidence.comparisons[-1].comparison if evidence.comparisons else None


def _arms(evidence: Evidence) -> str:
    """Both arms of the last comparison, which is the confirming one where there is one."""
    comparison, unit = _comparison(evidence), evidence.run.subject.unit
    if comparison is None:
        return ""
    rows = [
        (statistic_name(one.statistic), show(one.baseline), show(one.other), shown)
        for one in comparison.described.ratios
        if one.statistic in STATISTICS and one.baseline is not None and one.other is not None
        for show in (percent if one.statistic == "cv" else partial(quantity, unit=unit),)
        for claim in (claimed(one, comparison),)
        for shown in (interval(claim) if claim else ratio(one.value, one.low, one.high),)
    ]
    return table(HEADER, rows)


def _proofs(evidence: Evidence) -> Iterator[str]:
    """The three levels of the proof, and what was told when all was put back."""
    if not evidence.batches:
        return
    last = evidence.batches[-1]
    for check in last.applied.checks:
        mark = "ok " if check.passed else "NOT"
        expected = f", expected {check.expected}" if check.expected and not check.passed else ""
        yield f"  {mark} level {check.level}: {check.what} is {check.seen}{expected}"
    for moved in last.compared.moved if last.compared else ():
        mark = "ok " if moved.fell else "NOT"
        seen = f"{quantity(moved.baseline, moved.unit)} to {quantity(moved.mitigated, moved.unit)}"
        yield f"  {mark} level 3: {moved.column} {moved.words}, {seen}"
