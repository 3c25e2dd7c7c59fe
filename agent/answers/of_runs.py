"""What a finished run lets one say of its runs: how many there were, where they went, how slow the slow ones are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from ...tools.claim import Claim, Direction, word
from ...tools.comparison import Comparison, direction
from ...tools.findings import Batch
from ...tools.record import Finished
from ...tools.results import LabelResult
from ...tools.statistics.ratio_test import Measure
from ...tools.trial_results import ByHandResult, CompareResult
from ..planners.state import quoted
from ..report.evidence import Evidence
from ..report.mitigations import untried
from ..report.numbers import number, p_value, percent, quantity, ratio, statistic_name
from . import fact
from .fact import CitableFact, stated

MOST_WORDS = 300
FOR: Mapping[str, str] = {
    "measure": "the baseline",
    "profile": "the profile with layers",
    "screen_levels": "the search for a level",
    "apply_by_hand": "the series after a change by hand",
}
"""What runs of a tool are for; others go by the name of the tool."""


def runs(evidence: Evidence) -> Iterator[CitableFact]:
    """Say how often the program ran in all, and what for."""
    made, counted = evidence.measuring, Counter[str]()
    for call in made:
        counted[_purpose(call, evidence)] += evidence.rows(call)
    if made:
        went = ", ".join(f"{number(count)} for {purpose}" for purpose, count in counted.items())
        detail = f"{number(evidence.recorded_runs)} {evidence.run.subject.counted}, {went}"
        yield stated("runs", detail=detail, calls=tuple(call.call_id for call in made))


def classes(evidence: Evidence) -> Iterator[CitableFact]:
    """Say how far the slow runs are from the fast ones: shares, medians and their ratio, and where the cut lies."""
    if evidence.labelled is None or evidence.runs_explained is None:
        return
    found, unit = evidence.labelled.classes, fact.unit(evidence.run.subject.unit)
    calls = (*evidence.calls("profile")[-1:], *evidence.calls("label")[-1:])
    slow, outcome = np.array(found.slow, dtype=np.bool_), evidence.runs_explained.outcome
    if slow.size == outcome.size:
        worse, better = float(np.median(outcome[slow])), float(np.median(outcome[~slow]))
        times = (
            f"ratio of the medians {ratio(worse / better)}"
            if better > 0
            else "no ratio, for the fast median is not above zero"
        )
        detail = f"{_class(found.n_slow, evidence.labelled)} slow with a median of {quantity(worse, unit)}, "
        detail += f"{_class(found.n_fast, evidence.labelled)} fast with {quantity(better, unit)}, {times}, "
        yield stated("classes", detail=f"{detail}cut at {quantity(found.cut, unit)}", calls=calls)


def _class(size: int, labelled: LabelResult) -> str:
    total = labelled.classes.n_slow + labelled.classes.n_fast
    return f"{number(size)} of {number(total)} ({percent(size / total)})"


def _purpose(call: Finished, evidence: Evidence) -> str:
    if call.tool == "apply_mitigation":
        key = call.mitigation
        return f"pairs with {key if key in evidence.run.knowledge.mitigations else quoted(key)}"
    return FOR.get(call.tool, call.tool)


OUTCOMES: Mapping[Direction, str] = {
    "less": "not confirmed",
    "more": "worse",
    "equivalent": "not shown",
    "undecided": "undecided",
}
MOST_REASON = 240
MOST_UNTRIED = 16
HELPED = ("helped", "confirmed too", "by hand")
"""What came of a trial, where that says that the mitigation helps."""


class MitigationTrial(NamedTuple):
    """One mitigation that was applied."""

    key: str
    outcome: str
    calls: tuple[str, ...]
    comparison: Comparison | None
    """The last one: of the confirming batch where there is one."""
    by_state: str = ""
    """Sentence: where its gain lies, or how the time in the states that it acts on differs."""


def effect(found: Comparison) -> str:
    """Give the ratios of a comparison with their intervals, and how many pairs they are of."""
    p = f", {p_value(found.spread.p_value)}" if isinstance(found.spread, Claim) else ""
    return f"{ratios(found, 'spread', 'sd', 'mean')}{p}, {size(found)}"


def ratios(found: Comparison, *measures: Measure) -> str:
    """Give some ratios of a comparison with their intervals."""
    return ", ".join(f"{statistic_name(measure)} ratio {found.shown(measure)}" for measure in measures)


def size(found: Comparison) -> str:
    """Say how many runs a comparison is of."""
    runs, others = number(found.described.baseline_runs), number(found.described.other_runs)
    return f"{runs} pairs" if found.described.paired else f"{runs} runs before and {others} after"


def trials(evidence: Evidence) -> Iterator[CitableFact]:
    """Tell of each mitigation in the order of the first try, then of the rest."""
    found = list(_tried(evidence))
    for trial in found:
        name = fact.of_mitigation(trial.key, evidence)
        detail = effect(trial.comparison) if trial.comparison else ""
        words = {"outcome": trial.outcome, "less": word("less"), "more": word("more")}
        yield stated("tried", name, detail, trial.calls, **words)
        yield from _price(trial, evidence)
        yield from _relative(trial, evidence)
        if trial.by_state:
            yield stated("gained", name, trial.by_state.rstrip("."), trial.calls)
    yield from _levels(evidence)
    if not found:
        calls = evidence.calls("conclude")[-1:]
        yield stated("nothing_tried", calls=calls)
    yield from _untried(evidence)
    yield from _put_back(found, evidence)


def _tried(evidence: Evidence) -> Iterator[MitigationTrial]:
    by_key: dict[str, list[Batch]] = {}
    for batch in evidence.batches:
        by_key.setdefault(batch.applied.mitigation, []).append(batch)
    second = (batch for batch in evidence.batches if batch.call.call_id in evidence.confirmations)
    also = {batch.applied.mitigation for batch in second if batch.claim and direction(batch.claim) == "less"}
    for key, batches in by_key.items():
        last = batches[-1]
        calls = tuple(call for batch in batches for call in (batch.call.call_id, batch.comparing) if call)
        named = any(batch is evidence.confirming for batch in batches)
        outcome = "helped" if named else "confirmed too" if key in also else _outcome(last)
        compared = last.compared
        yield MitigationTrial(key, outcome, calls, *((compared.comparison, compared.by_state) if compared else (None,)))
    yield from _by_hand(evidence)


def _outcome(last: Batch) -> str:
    """Say what the last batch of a mitigation came to that is not confirmed."""
    if not last.applied.in_force:
        return "not in force"
    if last.applied.broke:
        return "broke"
    if last.compared is None:
        return "not compared"
    found = last.compared.comparison
    return "not shown" if found.direction == "undecided" and found.refuted else OUTCOMES[found.direction]


def _by_hand(evidence: Evidence) -> Iterator[MitigationTrial]:
    """Series that were made after a person had changed something."""
    for call, applied in evidence.ended(ByHandResult):
        compared = [one for one in evidence.ended(CompareResult) if one.call.arguments.get("call") == call.call_id]
        found = compared[-1].result.comparison if compared else None
        outcome = {"less": "by hand", "more": "by hand, worse"}.get(
            found.direction if found else "", "by hand, not shown"
        )
        calls = (call.call_id, *(one.call.call_id for one in compared))
        yield MitigationTrial(applied.mitigation, outcome, calls, found)


def _price(trial: MitigationTrial, evidence: Evidence) -> Iterator[CitableFact]:
    """What it does to the mean, of which the verdict on the spread says nothing."""
    words = {"mean": _mean(trial, evidence)}
    if trial.comparison and words["mean"]:
        detail = ratios(trial.comparison, "mean")
        yield stated("price", fact.of_mitigation(trial.key, evidence), detail, trial.calls, **words)


def _mean(trial: MitigationTrial, evidence: Evidence) -> str:
    mean = trial.comparison.claims["mean"] if trial.comparison else None
    if not isinstance(mean, Claim):
        return ""
    better, worse = ("less", "more") if evidence.run.subject.lower_is_better else ("more", "less")
    return {worse: "worse", better: "better"}.get(mean.direction, "no different")


def _relative(trial: MitigationTrial, evidence: Evidence) -> Iterator[CitableFact]:
    """Say where the spread may have fallen with the mean only: the CV is not shown to fall."""
    cv = trial.comparison.claims["cv"] if trial.comparison and trial.outcome in HELPED else None
    if trial.comparison and isinstance(cv, Claim) and cv.direction != "less":
        words = {"mean": _mean(trial, evidence), "better": word("less", "mean"), "less": word("less")}
        detail = ratios(trial.comparison, "cv")
        yield stated("relative", fact.of_mitigation(trial.key, evidence), detail, trial.calls, **words)


def _levels(evidence: Evidence) -> Iterator[CitableFact]:
    screened = evidence.screened
    if screened is None:
        return
    tried = ", ".join(level.level for level in screened.levels)
    best = f"; the least {screened.minimise} was left at {screened.best}" if screened.best else ""
    detail = quoted(f"{screened.parameter}: {tried}{best}", MOST_REASON)
    calls = evidence.calls("screen_levels")[-1:]
    yield stated("levels", fact.of_mitigation(screened.mitigation, evidence), detail, calls)


def _untried(evidence: Evidence) -> Iterator[CitableFact]:
    calls = evidence.calls("look_up")
    refusing = {one.mitigation: one.call_id for one in evidence.refusals}
    reasons = {one.mitigation: one.error for one in evidence.refusals if one.mitigation not in evidence.applied}
    left = {one.candidate.mitigation: one.reason for one in untried(evidence)}
    reasons |= {key: reason for key, reason in left.items() if key not in reasons}
    for key, reason in list(reasons.items())[:MOST_UNTRIED]:
        rests = (refusing[key],) if key in refusing else calls
        yield stated("untried", fact.of_mitigation(key, evidence), quoted(reason, MOST_REASON), rests)


def _put_back(found: list[MitigationTrial], evidence: Evidence) -> Iterator[CitableFact]:
    """What was done to the machine, as the record has it."""
    known = evidence.run.knowledge.mitigations
    for trial in (one for one in found if one.key in known):
        name = fact.of_mitigation(trial.key, evidence)
        words = {"scope": "by hand" if trial.outcome.startswith("by hand") else known[trial.key].scope}
        yield stated("put_back", name, calls=trial.calls, **words)
    for batch in evidence.batches:
        for told in batch.applied.told:
            name = fact.of_mitigation(batch.applied.mitigation, evidence)
            yield stated("told", name, quoted(told, MOST_REASON), (batch.call.call_id,))
