"""From an answer and the truth to named scores; each has its value and the reason for it.

What was decided where a choice had to be made:

- A factor that moves with the cause (`also_true`) is right for cause@1 and cause@3. It is not the injected cause, so
  injected@1 does not take it; for `mrr` and `strict` it counts nothing, and is held against nobody there either.
- cause@1 and injected@1 judge what is claimed, cause@3 and `mrr` the order of the claims and, after them, of the
  ranking.
- What the rule policy decided in place of a failing planner is not that planner's merit: `alone` is right only without.
- Who makes no call of a tool has no illegal one either: neither is counted.
- Who claims no mitigation where one would help is scored as what it comes to: the ratios are 1.
- A verdict is not judged where it is wrong and the right one needed what is not recorded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ...tools.verdict import TITLES, matches
from ..contest.answer import ContestAnswer
from ..recorded.recorded_case import RecordedCase
from ..recorded.schema import Truth
from .effects import Score, effects

NAMES_NO_CAUSE = frozenset({"cause not visible", "steady", "unusable"})
"""Verdicts that claim no cause: where nothing else is right, there is none to name."""
UNDECIDED = ("unusable", "remedy undecided")
RAN_OUT = re.compile(r"no (further )?run (of|with) ")


def scored(answer: ContestAnswer, truth: Truth, case: RecordedCase) -> dict[str, Score]:
    """Judge one answer by everything but the wall clock."""
    return {**claims(answer, truth), **effects(answer, truth, case), "evidence": _evidence(answer), **_spent(answer)}


def claims(answer: ContestAnswer, truth: Truth) -> dict[str, Score]:
    """Judge what is claimed, of recorded runs or of live ones: verdict, causes, mitigation."""
    lacking = _lacking(answer, truth)
    verdict = _verdict(answer, truth, lacking)
    return {
        "verdict": verdict,
        "alone": _alone(answer, verdict),
        **_causes(answer, truth),
        "false_alarm": _false_alarm(answer, truth),
        "mitigation": _mitigation(answer, truth, lacking),
        "harm": _harm(answer, truth),
    }


def _verdict(answer: ContestAnswer, truth: Truth, lacking: str) -> Score:
    if matches(answer.verdict, truth.verdicts):
        return _yes(f"`{answer.verdict}` is right.")
    expected = " or ".join(f"`{verdict}`" for verdict in truth.verdicts)
    said = f"`{answer.verdict}`" if answer.verdict in TITLES else answer.ended or "no verdict"
    if lacking:
        return Score(value=None, reason=f"Not judged ({said}): the right answer needed what is {lacking}")
    return _no(f"{said}, where {expected} is right.")


def _alone(answer: ContestAnswer, verdict: Score) -> Score:
    if verdict.value is None or not answer.fallbacks:
        return verdict
    return _no(f"The rule policy took {answer.fallbacks} of {answer.calls} decisions. {verdict.reason}")


def _lacking(answer: ContestAnswer, truth: Truth) -> str:
    """Say what the right answer needed and is not recorded: a mitigation that is accepted, or more runs."""
    for sentence in answer.not_recorded:
        if any(re.search(rf"\b{re.escape(mitigation)}\b", sentence) for mitigation in truth.accepted):
            return sentence
        if RAN_OUT.search(sentence) and (not answer.verdict or matches(answer.verdict, UNDECIDED)):
            return sentence
    return ""


def _causes(answer: ContestAnswer, truth: Truth) -> dict[str, Score]:
    if why := _no_cause(truth):
        return {name: Score(value=None, reason=why) for name in ("cause@1", "injected@1", "cause@3", "mrr", "strict")}
    right = (*truth.causes, *truth.also_true)
    return {
        "cause@1": _among(answer.causes[:1], right, truth, "claimed first"),
        "injected@1": _among(answer.causes[:1], truth.causes, truth, "claimed first"),
        "cause@3": _among(_order(answer)[:3], right, truth, "among the first three"),
        "mrr": _reciprocal_rank(answer, truth),
        "strict": _strict(answer, truth),
    }


def _no_cause(truth: Truth) -> str:
    if truth.control:
        return "A control: there is no cause to name."
    if not truth.causes:
        return "The truth names no cause."
    if NAMES_NO_CAUSE.issuperset(pattern.split(", ")[0] for pattern in truth.verdicts):
        return "No counter shows the cause."
    return ""


def _order(answer: ContestAnswer) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*answer.causes, *answer.ranked)))


def _among(named: tuple[str, ...], right: tuple[str, ...], truth: Truth, where: str) -> Score:
    hit = next((key for key in named if key in right), None)
    if hit is not None:
        return _yes(f"{hit} is {where}{'' if hit in truth.causes else ', and moves with the cause'}.")
    said = ", ".join(named) or "nothing"
    return _no(f"{said} is {where}; true: {', '.join(truth.causes)}.")


def _reciprocal_rank(answer: ContestAnswer, truth: Truth) -> Score:
    order = [key for key in _order(answer) if key not in truth.also_true or key in truth.causes]
    place = next((place for place, key in enumerate(order, 1) if key in truth.causes), None)
    if place is None:
        return _no(f"{', '.join(truth.causes)}: neither claimed nor ranked.")
    return Score(value=1 / place, reason=f"{order[place - 1]} stands at place {place}.")


def _strict(answer: ContestAnswer, truth: Truth) -> Score:
    claimed = set(answer.causes)
    if missing := [key for key in truth.causes if key not in claimed]:
        return _no(f"Not claimed: {', '.join(missing)}.")
    wrong = sorted(claimed.difference(truth.causes, truth.also_true))
    value = len(truth.causes) / (len(truth.causes) + len(wrong))
    return Score(value=value, reason=f"All are claimed; wrong beside them: {', '.join(wrong) or 'none'}.")


def _false_alarm(answer: ContestAnswer, truth: Truth) -> Score:
    if not truth.control:
        return Score(value=None, reason="Not a control.")
    wrong = [cause for cause in answer.causes if cause not in {*truth.causes, *truth.also_true}]
    if claimed := (*wrong, *filter(None, (answer.mitigation,))):
        return _yes(f"Claimed where there is nothing to find: {', '.join(claimed)}.")
    if not answer.verdict:
        return Score(value=None, reason="No answer, so no claim to judge.")
    return _no("Nothing is claimed that is not there.")


def _mitigation(answer: ContestAnswer, truth: Truth, lacking: str) -> Score:
    if not truth.accepted:
        return Score(value=None, reason="No mitigation is known to help.")
    if answer.mitigation in truth.accepted:
        return _yes(f"{answer.mitigation} is accepted.")
    if not answer.mitigation and matches(answer.verdict, truth.verdicts):
        return Score(value=None, reason=f"`{answer.verdict}` is right without one.")
    if lacking:
        return Score(value=None, reason=f"Not judged: {lacking}")
    tried = f" (tried: {', '.join(answer.tried)})" if answer.tried else ""
    return _no(f"{answer.mitigation or 'None'} is claimed{tried}; accepted: {', '.join(truth.accepted)}.")


def _harm(answer: ContestAnswer, truth: Truth) -> Score:
    if not truth.must_not_help:
        return Score(value=None, reason="No mitigation is known not to help.")
    if answer.mitigation in truth.must_not_help:
        return _yes(f"{answer.mitigation} is claimed, and does not help.")
    return _no("None of those that do not help is claimed.")


def _evidence(answer: ContestAnswer) -> Score:
    if not answer.transcript:
        return Score(value=None, reason="It leaves no transcript.")
    if answer.evidence:
        return _no(" ".join(answer.evidence))
    return _yes("What the verdict rests on is cited, and every number that is looked at is a tool's.")


def _spent(answer: ContestAnswer) -> dict[str, Score]:
    counted = {
        name: Score(value=float(getattr(answer, name)), reason="Counted.") for name in ("runs", "program_s", "tokens")
    }
    for name in ("calls", "illegal", "repeated", "fallbacks"):
        found = Score(value=float(getattr(answer, name)), reason="Counted.")
        counted[name] = found if answer.calls else Score(value=None, reason="It makes no calls of tools.")
    reason = " ".join(answer.not_recorded) or "All that was asked for is recorded."
    return counted | {"not_recorded": Score(value=float(len(answer.not_recorded)), reason=reason)}


def _yes(reason: str) -> Score:
    return Score(value=1.0, reason=reason)


def _no(reason: str) -> Score:
    return Score(value=0.0, reason=reason)


Way = Literal["rate", "mean", "median", "geometric"]
"""How a score is summed up over cases. rate: a share with Wilson's interval; geometric: the geometric mean."""


@dataclass(frozen=True)
class ScoreKind:
    """One score."""

    way: Way
    more_is_better: bool
    column: str
    """What it is called in tables; empty: it stands in none."""
    words: str
    """What it is, for a reader of tables."""


CLOCK = "seconds"
"""By the wall clock: never the same twice."""
BY_RULE = {rule: f"cause_{rule}" for rule in ("constant", "greedy", "paper", "ledger")}
"""The score of the cause that each of the simpler rules names (`simple_answers`)."""
KINDS: dict[str, ScoreKind] = {
    "verdict": ScoreKind("rate", True, "verdict", "the verdict is one that is right"),
    "alone": ScoreKind(
        "rate", True, "alone", "the same, and the rule policy took no decision in place of a planner that failed"
    ),
    "cause@1": ScoreKind("rate", True, "cause@1", "the cause named first is a true cause, or one that moves with it"),
    "injected@1": ScoreKind("rate", True, "injected@1", "the cause named first is the injected cause itself"),
    "cause@3": ScoreKind(
        "rate", True, "cause@3", "one of the first three is as in cause@1; claimed ones first, then as ranked"
    ),
    "mrr": ScoreKind(
        "mean", True, "MRR", "1 over the place of the first injected cause; what moves with it takes no place"
    ),
    "strict": ScoreKind(
        "mean", True, "strict", "0 where an injected cause is not claimed, else the precision of the claims"
    ),
    "false_alarm": ScoreKind(
        "rate", False, "false alarms", "a cause or a mitigation is claimed where there is nothing to find"
    ),
    "mitigation": ScoreKind("rate", True, "mitigation", "the mitigation claimed is an accepted one"),
    "harm": ScoreKind("rate", False, "harmful", "a mitigation is claimed that is known not to help"),
    "regret": ScoreKind(
        "median", False, "regret", "SD ratio of what was claimed over that of the best accepted one; 1 is the best"
    ),
    "sd_ratio": ScoreKind(
        "geometric", False, "SD ratio", "SD with the mitigation over SD without, measured on all recorded pairs"
    ),
    "cv_ratio": ScoreKind("geometric", False, "CV ratio", "the same of the CV"),
    "mean_ratio": ScoreKind("geometric", False, "", "the same of the mean"),
    "untold_cost": ScoreKind("rate", False, "untold cost", "the mean got more than 5 % worse, and no warning says so"),
    "evidence": ScoreKind(
        "rate", True, "evidence", "what the verdict rests on is cited; the report's numbers are tools'"
    ),
    "replay": ScoreKind("rate", True, "replay", "answered again, the same seed gave the same transcript"),
    "cause": ScoreKind("rate", True, "", "cause part right: state and factor; of a null, no factor is claimed"),
    "state": ScoreKind("rate", True, "", "the state claimed first is one that the mechanism takes its time in"),
    "factor": ScoreKind(
        "rate", True, "", "the factor claimed first is one of the mechanism; none, where none is shown"
    ),
    "share": ScoreKind("rate", True, "", "of a state that is right: the gap in ms is within a factor 2 of the effect"),
    "remedy": ScoreKind("rate", True, "", "remedy part right: a remedy that helps is claimed, or none where none does"),
    **{
        name: ScoreKind("rate", True, "", f"the same of the cause that `{rule}` names of the same runs")
        for rule, name in BY_RULE.items()
    },
    "in_budget": ScoreKind("rate", True, "", "answered within the budget and a tenth more"),
    "hung": ScoreKind("rate", False, "", "no answer within its limit"),
    "runs": ScoreKind("median", False, "runs", "recorded runs used"),
    "calls": ScoreKind("median", False, "calls", "calls of tools"),
    "program_s": ScoreKind("median", False, "program s", "seconds of the program that those runs took"),
    "seconds": ScoreKind(
        "median", False, "agent s", "seconds that answering took by the clock, in which no program runs"
    ),
    "tokens": ScoreKind("median", False, "tokens", "tokens of a language model"),
    "illegal": ScoreKind("mean", False, "illegal", "calls that were not legal"),
    "repeated": ScoreKind("mean", False, "repeated", "calls made before with the same arguments"),
    "fallbacks": ScoreKind("mean", False, "fallbacks", "decisions that the rule policy took in its place"),
    "not_recorded": ScoreKind(
        "mean", False, "not recorded", "conditions asked for that are not in the tables; no failure"
    ),
}
OF_MADE = ("cause", "state", "factor", "share", "remedy", "in_budget", "hung", *BY_RULE.values())
"""Scores of programs that are made at random only."""
COLUMNS = {name: kind.column for name, kind in KINDS.items() if kind.column}
"""Scores that the full table shows, and what they are called there."""
