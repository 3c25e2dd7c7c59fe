"""What was tried, what came of it, what it cost, what was left untried and why, and what was put back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...tools.case import Finished
from ...tools.compare import CompareResult
from ...tools.statistics.comparison.compare import Comparison, holm
from ...tools.statistics.comparison.weighted import Statistic
from ..planners.state import quoted
from ..report.evidence import Batch, Evidence
from ..report.mitigations import untried
from ..report.numbers import number, p_value, quantity, ratio
from ..report.tell import NAMES
from . import names
from .fact import Draft

MOST_WORDS = 240
MOST_UNTRIED = 16
AFFIRMED = {
    "helped": True,
    "confirmed too": True,
    "by hand": True,
    "less steady": False,
    "not confirmed": False,
    "not shown": False,
    "cannot tell": False,
    "not in force": False,
    "not compared": False,
    "by hand, not shown": False,
}
"""What came of a trial, and whether that says that it helps."""


class Trial(NamedTuple):
    """One mitigation that was applied."""

    key: str
    outcome: str
    calls: tuple[str, ...]
    comparison: Comparison | None
    """The last one: of the confirming batch where there is one."""


def effect(found: Comparison) -> str:
    """Give the ratios of a comparison with their intervals, and how many pairs they are of."""
    return f"{ratios(found, 'sd', 'mean')}, {p_value(found.p_value)}, {size(found)}"


def ratios(found: Comparison, *statistics: Statistic) -> str:
    """Give some ratios of a comparison with their intervals."""
    named = ((NAMES[name], found.ratio(name)) for name in statistics)
    return ", ".join(f"{name} ratio {ratio(one.value, one.low, one.high)}" for name, one in named)


def size(found: Comparison) -> str:
    """Say how many runs a comparison is of."""
    runs, others = number(found.baseline_runs), number(found.other_runs)
    return f"{runs} pairs" if found.paired else f"{runs} runs before and {others} after"


def trials(evidence: Evidence) -> Iterator[Draft]:
    """Tell of each mitigation in the order of the first try, then of the rest."""
    found = list(_tried(evidence))
    for trial in found:
        name = names.of_mitigation(trial.key, evidence)
        detail = effect(trial.comparison) if trial.comparison else ""
        words = {"outcome": trial.outcome}
        yield Draft("tried", name, detail, trial.calls, affirmed=AFFIRMED[trial.outcome], words=words)
        yield from _price(trial, evidence)
        yield from _relative(trial, evidence)
    yield from _moved(evidence)
    yield from _levels(evidence)
    if not found:
        calls = tuple(call.call_id for call in evidence.run.record.succeeded("conclude")[-1:])
        yield Draft("nothing_tried", calls=calls, affirmed=False)
    yield from _untried(evidence)
    yield from _put_back(found, evidence)


def _tried(evidence: Evidence) -> Iterator[Trial]:
    by_key: dict[str, list[Batch]] = {}
    for batch in evidence.batches:
        by_key.setdefault(batch.applied.mitigation, []).append(batch)
    also = _confirmed(evidence)
    for key, batches in by_key.items():
        last = batches[-1]
        calls = tuple(call for batch in batches for call in (batch.call.call_id, *_comparing(batch.call, evidence)))
        named = any(batch is evidence.confirming for batch in batches)
        outcome = "helped" if named else "confirmed too" if key in also else _outcome(last)
        yield Trial(key, outcome, calls, last.compared.comparison if last.compared else None)
    yield from _by_hand(evidence)


def _outcome(last: Batch) -> str:
    """Say what the last batch of a mitigation came to that is not confirmed."""
    if not last.applied.in_force:
        return "not in force"
    if last.applied.broke:
        return "refuted"
    if last.compared is None:
        return "not compared"
    verdict = last.compared.comparison.verdict
    return {"steadier": "not confirmed", "no difference shown": "not shown"}.get(verdict, verdict)


def _comparing(call: Finished, evidence: Evidence) -> tuple[str, ...]:
    compared = evidence.run.record.succeeded("compare")
    return tuple(one.call_id for one in compared if one.arguments.get("call") == call.call_id)


def _confirmed(evidence: Evidence) -> set[str]:
    """Name what a second batch confirmed, by the rule of the verdict."""
    compared = [call.read(CompareResult) for call in evidence.run.record.succeeded("compare")]
    second = [one for one in compared if one.batch == 2]
    adjusted = holm([one.p_paid for one in second]) if second else ()
    return {
        one.mitigation
        for one, p in zip(second, adjusted, strict=True)
        if one.comparison.verdict == "steadier"
        and p <= evidence.run.limits.alpha
        and one.comparison.below(1.0) is not None
    }


def _by_hand(evidence: Evidence) -> Iterator[Trial]:
    """Series that were made after a person had changed something."""
    record = evidence.run.record
    for call in record.succeeded("apply_by_hand"):
        compared = [one for one in record.succeeded("compare") if one.arguments.get("call") == call.call_id]
        found = compared[-1].read(CompareResult).comparison if compared else None
        better = found is not None and found.verdict == "steadier"
        outcome = "by hand" if better else "by hand, not shown"
        calls = (call.call_id, *(one.call_id for one in compared))
        yield Trial(str(call.arguments["mitigation"]), outcome, calls, found)


def _price(trial: Trial, evidence: Evidence) -> Iterator[Draft]:
    """What it does to the mean, of which the verdict on the spread says nothing."""
    words = {"mean": _mean(trial, evidence)}
    if trial.comparison and words["mean"]:
        detail = ratios(trial.comparison, "mean")
        yield Draft("price", names.of_mitigation(trial.key, evidence), detail, trial.calls, words=words)


def _mean(trial: Trial, evidence: Evidence) -> str:
    """Say what became of the mean; nothing where its ratio has no interval."""
    mean = trial.comparison.ratio("mean") if trial.comparison else None
    if mean is None or mean.low is None or mean.high is None:
        return ""
    more, less = mean.low > 1, mean.high < 1
    worse, better = (more, less) if evidence.run.subject.lower_is_better else (less, more)
    return "worse" if worse else "better" if better else "no different"


def _relative(trial: Trial, evidence: Evidence) -> Iterator[Draft]:
    """Say where what is steadier may only be faster: the interval of the CV ratio has 1 in it."""
    cv = trial.comparison.ratio("cv") if trial.comparison and AFFIRMED[trial.outcome] else None
    if trial.comparison and cv and cv.high is not None and cv.high >= 1:
        words, detail = {"mean": _mean(trial, evidence)}, ratios(trial.comparison, "cv")
        yield Draft("relative", names.of_mitigation(trial.key, evidence), detail, trial.calls, words=words)


def _moved(evidence: Evidence) -> Iterator[Draft]:
    """Whether the factor fell while the mitigation of the verdict was in force."""
    batch, known = evidence.confirming, evidence.run.knowledge
    if batch is None or batch.compared is None:
        return
    for moved in batch.compared.moved:
        factor, unit = known.factor_of(moved.column), names.unit(moved.unit)
        fall = f"{quantity(moved.baseline, unit)} to {quantity(moved.mitigated, unit)} (means)"
        detail = f"{names.column(moved.column, known)} {moved.words}, {fall}, with {batch.applied.mitigation}"
        name = names.of_factor(factor.key if factor else moved.column, known)
        calls = _comparing(batch.call, evidence)
        yield Draft("moved", name, detail, calls, affirmed=moved.fell, words={"fell": moved.fell})


def _levels(evidence: Evidence) -> Iterator[Draft]:
    screened = evidence.screened
    if screened is None:
        return
    tried = ", ".join(level.level for level in screened.levels)
    best = f"; the least {screened.minimise} was left at {screened.best}" if screened.best else ""
    detail = quoted(f"{screened.parameter}: {tried}{best}", MOST_WORDS)
    calls = tuple(call.call_id for call in evidence.run.record.succeeded("screen_levels")[-1:])
    yield Draft("levels", names.of_mitigation(screened.mitigation, evidence), detail, calls)


def _untried(evidence: Evidence) -> Iterator[Draft]:
    calls = tuple(call.call_id for call in evidence.run.record.succeeded("look_up"))
    refusing = {
        str(call.arguments.get("mitigation")): call.call_id
        for call in evidence.run.record.calls
        if call.tool == "apply_mitigation" and call.result is None
    }
    done = {batch.applied.mitigation for batch in evidence.batches}
    reasons = {one.mitigation: one.error for one in evidence.refusals if one.mitigation not in done}
    reasons |= {one.key: one.reason for one in untried(evidence) if one.key not in reasons}
    for key, reason in list(reasons.items())[:MOST_UNTRIED]:
        rests = (refusing[key],) if key in refusing else calls
        yield Draft("untried", names.of_mitigation(key, evidence), quoted(reason, MOST_WORDS), rests, affirmed=False)


def _put_back(found: list[Trial], evidence: Evidence) -> Iterator[Draft]:
    """What was done to the machine, as the record has it."""
    known = evidence.run.knowledge.mitigations
    for trial in (one for one in found if one.key in known):
        name = names.of_mitigation(trial.key, evidence)
        words = {"scope": "by hand" if trial.outcome.startswith("by hand") else known[trial.key].scope}
        yield Draft("put_back", name, calls=trial.calls, words=words)
    for batch in evidence.batches:
        for told in batch.applied.told:
            name = names.of_mitigation(batch.applied.mitigation, evidence)
            yield Draft("told", name, quoted(told, MOST_WORDS), (batch.call.call_id,))
