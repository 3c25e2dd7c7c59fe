"""What `try` and `tune` answer beside the verdict: both arms, the checks, the levels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from ...tools.claim import TooFew
from ...tools.claim_words import interval
from ...tools.comparison import Comparison, claimed
from ...tools.experiment.race import MEASURE_OF
from ...tools.remedies import values_of
from ...tools.screen_levels import LevelResult, ScreenResult
from ..terminal import table
from .evidence import Evidence
from .numbers import number, percent, quantity, ratio
from .story import LevelRow

STATISTICS = ("sd", "cv", "mean", "p95")
HEADER = ("", "BASELINE", "WITH IT", "RATIO")


def details(evidence: Evidence) -> tuple[str, ...]:
    """Lines for a terminal; none where the user chose no mitigation."""
    if not evidence.run.plan.mitigation:
        return ()
    parts = [part for part in (_levels(evidence), _arms(evidence), _checks(evidence)) if part]
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


def level_rows(evidence: Evidence) -> tuple[LevelRow, ...]:
    """Every level of the screening, the baseline first."""
    screened = evidence.screened
    if screened is None:
        return ()
    unit = evidence.run.subject.unit
    return tuple(_row(level, screened, unit) for level in (screened.baseline, *screened.levels))


def _row(level: LevelResult, screened: ScreenResult, unit: str) -> LevelRow:
    found, claim = level.summary, level.claim
    kept = "best" if level.level == screened.best else level.dropped
    return LevelRow(
        level=level.level,
        runs=number(found.n) if found else "0",
        sd=quantity(found.sd, unit) if found and found.sd is not None else "",
        cv=percent(found.cv) if found and found.cv is not None else "",
        mean=quantity(found.mean, unit) if found else "",
        p95=quantity(found.p95, unit) if found else "",
        ratio="" if claim is None or isinstance(claim, TooFew) else interval(claim),
        note=kept,
    )


def _levels(evidence: Evidence) -> str:
    rows, screened = level_rows(evidence), evidence.screened
    if screened is None:
        return ""
    header = (
        screened.parameter.upper(),
        "RUNS",
        "SD",
        "CV",
        "MEAN",
        "P95",
        f"{MEASURE_OF[screened.minimise].upper()} RATIO",
        "",
    )
    cells = [(row.level, row.runs, row.sd, row.cv, row.mean, row.p95, row.ratio, row.note) for row in rows]
    return table(header, cells)


def _comparison(evidence: Evidence) -> Comparison | None:
    return evidence.comparisons[-1].comparison if evidence.comparisons else None


def _arms(evidence: Evidence) -> str:
    """Both arms of the last comparison, which is the confirming one where there is one."""
    comparison, unit = _comparison(evidence), evidence.run.subject.unit
    if comparison is None:
        return ""
    rows = [
        (one.statistic.replace("sd", "SD").replace("cv", "CV"), show(one.baseline), show(one.other), shown)
        for one in comparison.described.ratios
        if one.statistic in STATISTICS and one.baseline is not None and one.other is not None
        for show in (percent if one.statistic == "cv" else partial(quantity, unit=unit),)
        for claim in (claimed(one, comparison),)
        for shown in (interval(claim) if claim else ratio(one.value, one.low, one.high),)
    ]
    return table(HEADER, rows)


def _checks(evidence: Evidence) -> str:
    lines = list(_proofs(evidence))
    return "\n".join(lines)


def _proofs(evidence: Evidence) -> Iterator[str]:
    """The three levels of the proof, and what was told when all was put back."""
    if not evidence.batches:
        return
    last = evidence.batches[-1]
    for check in last.applied.checks:
        mark = "ok " if check.passed else "NOT"
        yield f"  {mark} level {check.level}: {check.what} is {check.seen}" + _expected(check.passed, check.expected)
    for moved in last.compared.moved if last.compared else ():
        mark = "ok " if moved.fell else "NOT"
        seen = f"{quantity(moved.baseline, moved.unit)} to {quantity(moved.mitigated, moved.unit)}"
        yield f"  {mark} level 3: {moved.column} {moved.words}, {seen}"


def _expected(passed: bool, expected: str) -> str:
    return "" if passed or not expected else f", expected {expected}"
