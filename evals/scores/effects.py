"""What a mitigation that was claimed really does: measured on every pair that was recorded, not as it was claimed."""

from __future__ import annotations

from ...tools.remedies import costly
from ..contest.answer import ContestAnswer
from ..contest.effect import EffectRatios, best_of, measured_ratio
from ..recorded.recorded_case import RecordedCase
from ..recorded.schema import Truth

ValueWithReason = tuple[float | None, str]
"""A value, None where it does not apply, and the reason."""
GAINS = ("sd_ratio", "cv_ratio", "mean_ratio", "regret")
UNCHANGED = EffectRatios(sd=1.0, cv=1.0, mean=1.0)


def effects(answer: ContestAnswer, truth: Truth, case: RecordedCase) -> dict[str, ValueWithReason]:
    """Give the measured ratios of what was claimed, its regret, and whether it costs what was not told."""
    measured, reason = _of(answer.mitigation, case)
    if measured is None:
        return dict.fromkeys((*GAINS, "untold_cost"), (None, reason))
    return {**_gains(measured, reason, truth, case), "untold_cost": _untold_cost(measured, answer, case)}


def _gains(measured: EffectRatios, reason: str, truth: Truth, case: RecordedCase) -> dict[str, ValueWithReason]:
    """Judge what was gained where something can be: what a claim does elsewhere is no gain to be averaged with."""
    if not truth.accepted:
        return dict.fromkeys(GAINS, (None, "No mitigation is known to help."))
    return {
        "sd_ratio": (measured.sd, reason),
        "cv_ratio": (measured.cv, reason),
        "mean_ratio": (measured.mean, reason),
        "regret": _regret(measured, truth, case),
    }


def _of(mitigation: str, case: RecordedCase) -> tuple[EffectRatios | None, str]:
    if not mitigation:
        return UNCHANGED, "Nothing is claimed, so nothing changes."
    measured = measured_ratio(case, mitigation)
    if measured is None:
        return None, f"No pairs of {mitigation} are recorded."
    return measured, f"{mitigation}, over all its recorded pairs."


def _regret(measured: EffectRatios, truth: Truth, case: RecordedCase) -> ValueWithReason:
    """Hold it against the best accepted mitigation; less than that is luck, of what is not known to help."""
    best, least = best_of(case, truth.accepted) or ("none", 1.0)
    if measured.sd is None or not least:
        return None, "An SD of 0 makes the ratio undefined."
    return max(1.0, measured.sd / least), f"The best recorded one is {best}, SD ratio {least:.3g}."


def _untold_cost(measured: EffectRatios, answer: ContestAnswer, case: RecordedCase) -> ValueWithReason:
    if not answer.mitigation or measured.mean is None:
        return None, "Nothing is claimed."
    lower = case.recording.subject.lower_is_better
    if not costly(measured.mean, lower):
        return 0.0, f"The mean is {measured.mean:.3g} times the baseline's."
    said = "as the answer warns" if answer.price_told else "of which the answer does not warn"
    return float(not answer.price_told), f"The mean is {measured.mean:.3g} times the baseline's, {said}."
