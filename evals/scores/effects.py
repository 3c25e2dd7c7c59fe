"""What a mitigation that was claimed really does: measured on every pair that was recorded, not as it was claimed."""

from __future__ import annotations

from ...tools.verdicts import costly
from ..contest.answer import Answer
from ..contest.effect import Measured, measured_ratio
from ..recorded.recorded_case import RecordedCase
from ..recorded.schema import Truth

Told = tuple[float | None, str]
"""A value, None where it does not apply, and the reason."""
UNCHANGED = Measured(sd=1.0, cv=1.0, mean=1.0)


def effects(answer: Answer, truth: Truth, case: RecordedCase) -> dict[str, Told]:
    """Give the measured ratios of what was claimed, its regret, and whether it costs what was not told."""
    measured, reason = _of(answer.mitigation, truth, case)
    if measured is None:
        return dict.fromkeys(("sd_ratio", "cv_ratio", "mean_ratio", "regret", "untold_cost"), (None, reason))
    return {
        "sd_ratio": (measured.sd, reason),
        "cv_ratio": (measured.cv, reason),
        "mean_ratio": (measured.mean, reason),
        "regret": _regret(measured, truth, case),
        "untold_cost": _untold_cost(measured, answer, case),
    }


def _of(mitigation: str, truth: Truth, case: RecordedCase) -> tuple[Measured | None, str]:
    if not mitigation:
        return (
            (UNCHANGED, "Nothing is claimed, so nothing changes.") if truth.accepted else (None, "Nothing is claimed.")
        )
    measured = _measured(case, mitigation)
    if measured is None:
        return None, f"No pairs of {mitigation} are recorded."
    return measured, f"{mitigation}, over all its recorded pairs."


def _measured(case: RecordedCase, mitigation: str) -> Measured | None:
    trial = case.recording.trials.get(mitigation)
    return measured_ratio(case, mitigation) if trial is not None and trial.pairs else None


def _regret(measured: Measured, truth: Truth, case: RecordedCase) -> Told:
    if not truth.accepted:
        return None, "No mitigation is known to help."
    found = {key: _measured(case, key) for key in case.recording.trials}
    ratios = {key: one.sd for key, one in found.items() if one is not None and one.sd is not None}
    best = min(ratios, key=lambda key: ratios[key], default="")
    least = min(ratios[best], 1.0) if best else 1.0
    if measured.sd is None or not least:
        return None, "An SD of 0 makes the ratio undefined."
    return measured.sd / least, f"The best recorded one is {best or 'none'}, SD ratio {least:.3g}."


def _untold_cost(measured: Measured, answer: Answer, case: RecordedCase) -> Told:
    if not answer.mitigation or measured.mean is None:
        return None, "Nothing is claimed."
    lower = case.recording.subject.lower_is_better
    if not costly(measured.mean, lower):
        return 0.0, f"The mean is {measured.mean:.3g} times the baseline's."
    told = answer.mean_ratio is not None and costly(answer.mean_ratio, lower)
    said = "as the answer says" if told else "which the answer does not say"
    return float(not told), f"The mean is {measured.mean:.3g} times the baseline's, {said}."
