"""What mitigations really do, measured on every recorded pair; and whether the truth agrees."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ...knowledge.shape import Frozen
from ...tools.claim import Claim, TooFew, interval
from ...tools.comparison import below
from ...tools.mitigation.verification import NOT_IN_FORCE
from ...tools.remedies import costly
from ..contest.answer import ContestAnswer
from ..contest.effect import EffectRatios, best_of, family, measured_ratio
from ..recorded.recorded_case import RecordedCase
from ..recorded.schema import Truth
from ..recorded.truth import REFUSED, why_not

GAINS = ("sd_ratio", "cv_ratio", "mean_ratio", "regret")
UNCHANGED = EffectRatios(sd=1.0, cv=1.0, mean=1.0)


class Score(Frozen):
    """One score of one answer."""

    value: float | None
    """None: it does not apply, and the reason says why."""
    reason: str


def effects(answer: ContestAnswer, truth: Truth, case: RecordedCase) -> dict[str, Score]:
    """Give the measured ratios of what was claimed, its regret, and whether it costs what was not told."""
    measured, reason = _of(answer.mitigation, case)
    if measured is None:
        return dict.fromkeys((*GAINS, "untold_cost"), Score(value=None, reason=reason))
    cost = untold_cost(answer, measured.mean, case.recording.subject.lower_is_better)
    return {**_gains(measured, reason, truth, case), "untold_cost": cost}


def _gains(measured: EffectRatios, reason: str, truth: Truth, case: RecordedCase) -> dict[str, Score]:
    """Judge what was gained where something can be: what a claim does elsewhere is no gain to be averaged with."""
    if not truth.accepted:
        return dict.fromkeys(GAINS, Score(value=None, reason="No mitigation is known to help."))
    return {
        "sd_ratio": Score(value=measured.sd, reason=reason),
        "cv_ratio": Score(value=measured.cv, reason=reason),
        "mean_ratio": Score(value=measured.mean, reason=reason),
        "regret": _regret(measured, truth, case),
    }


def _of(mitigation: str, case: RecordedCase) -> tuple[EffectRatios | None, str]:
    if not mitigation:
        return UNCHANGED, "Nothing is claimed, so nothing changes."
    measured = measured_ratio(case, mitigation)
    if measured is None:
        return None, f"No pairs of {mitigation} are recorded."
    return measured, f"{mitigation}, over all its recorded pairs."


def _regret(measured: EffectRatios, truth: Truth, case: RecordedCase) -> Score:
    """Hold it against the best accepted mitigation; less than that is luck, of what is not known to help."""
    best, least = best_of(case, truth.accepted) or ("none", 1.0)
    if measured.sd is None or not least:
        return Score(value=None, reason="An SD of 0 makes the ratio undefined.")
    return Score(value=max(1.0, measured.sd / least), reason=f"The best recorded one is {best}, SD ratio {least:.3g}.")


def untold_cost(answer: ContestAnswer, mean: float | None, lower_is_better: bool) -> Score:
    """Tell whether what is claimed costs more than is told; `mean`: the ratio of the means with it over without."""
    if not answer.mitigation or mean is None:
        return Score(value=None, reason="Nothing is claimed.")
    words = f"The mean is {mean:.3g} times the baseline's"
    if not costly(mean, lower_is_better):
        return Score(value=0.0, reason=f"{words}.")
    said = "as the answer warns" if answer.price_told else "of which the answer does not warn"
    return Score(value=float(not answer.price_told), reason=f"{words}, {said}.")


HELPS_BELOW = 0.8
"""A ratio of spreads whose whole interval, in the family of all recorded, lies below it: the mitigation helps."""


def doubts(case: RecordedCase, truth: Truth) -> tuple[str, ...]:
    """Name what the pairs contradict in a truth, and what they prove of which it says nothing; a sentence each."""
    helped = helping(case)
    named = (*truth.accepted, *truth.must_not_help)
    wrong = (doubt for key in named if key not in truth.unproved for doubt in _contradicted(case, key, truth, helped))
    return (*wrong, *_unsaid(case, truth, helped))


def filled(truth: Truth, case: RecordedCase) -> Truth:
    """Add what the recording tells: why something was not measured, and of a control all that may not be claimed."""
    measured = [key for key, trial in case.recording.trials.items() if trial.pairs]
    helped = helping(case) if truth.control else {}
    idle = [key for key in measured if key not in helped] if truth.control else []
    may_not = tuple(dict.fromkeys((*truth.must_not_help, *idle)))
    said = {key: why for key, why in truth.unproved.items() if not why.startswith((REFUSED, NOT_IN_FORCE))}
    named = dict.fromkeys((*truth.accepted, *may_not))
    why = {key: reason for key in named if key not in measured and (reason := why_not(case.recording, key))}
    return truth.model_copy(update={"must_not_help": may_not, "unproved": said | why})


def helping(case: RecordedCase) -> Mapping[str, Claim | TooFew]:
    """Claim the spread of each mitigation whose pairs all show a smaller one than may be chance."""
    return {key: claim for key, claim in family(case).items() if below(claim, HELPS_BELOW)}


def _contradicted(case: RecordedCase, key: str, truth: Truth, helped: Collection[str]) -> Iterator[str]:
    trial, measured = case.recording.trials.get(key), measured_ratio(case, key)
    if key in truth.accepted and trial and trial.placebo:
        yield f"accepted: {key} was recorded as a placebo, so it may not be claimed."
    if measured is None or measured.comparison is None:
        if not why_not(case.recording, key):
            yield f"{key} has no pairs, and neither the recording nor `unproved` says why."
        return
    claims = measured.comparison.claims
    words = f"{key} has a spread ratio of {interval(claims['spread'])}"
    if key in truth.accepted:
        if not any(below(claims[measure], 1.0) for measure in ("spread", "sd")):
            yield f"accepted: {words}, and no spread that surely falls."
    elif key in helped:
        yield f"must_not_help: {words}, so it does help."


def _unsaid(case: RecordedCase, truth: Truth, helped: Mapping[str, Claim | TooFew]) -> Iterator[str]:
    cure = "accept it, or say why not, in must_not_help and unproved"
    if truth.control:
        cure = "where that is no chance, this is no control; else say so, in must_not_help and unproved"
    for key in sorted(helped.keys() - {*truth.accepted, *truth.must_not_help, *truth.unproved}):
        if not case.recording.trials[key].placebo:
            shown = interval(helped[key])
            yield f"{key} is neither accepted nor in must_not_help, and it helps: its spread ratio is {shown}: {cure}."
