"""What was said of programs made at random against the truth about them, and where a right answer was lost.

What is right is decided by the program's truth alone, by rules that hold for all of them:

- A state is right if the mechanism takes its time in it, or whoever has the mechanism is waited for in it.
- A mechanism that makes little of the variance (`ProgramTruth.faint`) need not be found; of these, silence is right.
- A mechanism that no counter shows everywhere is right without a factor where its state is right.
- A remedy has to be claimed only where one of the mechanism's can be applied without a promise to break.
- Of a null, time that is located is no alarm; a factor and a remedy are, unless they are what the machine does
  (`live_scores`) and no program was put beside it.
- What the host of a virtual machine takes comes from outside (the state `stolen`, and a factor that acts on it): no
  program in the machine can be its cause, whatever was put in or beside. To tell it is neither a right cause nor a
  false alarm: the first that is claimed of the program is judged, as if the host had not been mentioned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from ...knowledge.loader import load
from ...knowledge.time_states import TimeState, measured_as
from ...tools.ranking import RankResult
from ...tools.verdict import (
    Confirmed,
    Diagnosis,
    Explained,
    Found,
    Located,
    NotVisible,
    Placed,
    Refuted,
    Undecided,
    Unusable,
    Verdict,
    confirmed,
    from_json,
)
from ..contest.answer import ContestAnswer
from ..programs.program_truth import InsertedMechanism, ProgramTruth
from .effects import Score
from .live_scores import LiveResults, LiveRow, answer_said, of_the_machine
from .score import BY_RULE
from .simple_answers import SimpleAnswer, simple_answers

OVER, WITHIN = 1.1, 2.0
"""Of a budget, what is still kept; of an effect, the factor by which a gap may differ."""
FROM_OUTSIDE = frozenset({TimeState.STOLEN})
"""States that nothing in the machine can take time in."""


class RandomRow(LiveRow):
    """One made program, diagnosed once."""

    truth: ProgramTruth
    said_states: tuple[TimeState, ...] = ()
    """That are claimed, the first claim first."""
    paragraph: str = ""
    """Of a miss: what the truth was and what was seen."""


class RandomResults(LiveResults):
    """Diagnoses of programs that were made by one seed."""

    seed: str
    budget_s: float
    rows: tuple[RandomRow, ...]


def judged_program(
    truth: ProgramTruth,
    said: dict[str, Any],
    wall_s: float,
    budget_s: float,
    beside: bool,
    ranking: RankResult | None = None,
) -> RandomRow:
    """Score what `diagnose --json` said, `wall_s` after its start; `beside`: a program was put beside this one.

    `ranking`: what the diagnosis made of its runs, for the simpler rules to answer from.
    """
    answer = answer_said(said)
    verdict = None if "error" in said else from_json(said["verdict"])
    seen, claimed = [*_located(verdict)], [one for one in _located(verdict, True) if one.state not in FROM_OUTSIDE]
    proof = confirmed(verdict) if verdict else None
    answer = answer.model_copy(update={"causes": tuple(one for one in _factors(verdict) if not from_outside(one))})
    machine = not truth.inserted and not beside and of_the_machine(answer, proof.claim if proof else None)
    scores = _scores(truth, verdict, answer, claimed, machine) if verdict else _unanswered(answer.ended)
    scores |= {
        "harm": _mark(not machine and _harmful(truth, answer), f"{answer.mitigation or 'No remedy'} is claimed."),
        "in_budget": _mark(wall_s <= OVER * budget_s, f"{wall_s:.0f} s of {budget_s:g} s."),
        "hung": _mark(answer.ended.startswith("stopped"), answer.ended or "It ended."),
    }
    scores |= {BY_RULE[name]: _simply_right(truth, one) for name, one in simple_answers(ranking).items()}
    row = RandomRow(
        case=f"{truth.number:03}",
        answer=answer,
        scores=scores,
        seconds=wall_s,
        why="" if scores["verdict"].value else _lost(truth, verdict, answer.causes, claimed, scores),
        machine=machine,
        sd=proof.sd if proof else None,
        mean=proof.mean if proof else None,
        run_dir=said.get("run_dir", ""),
        truth=truth,
        said_states=tuple(one.state for one in claimed),
    )
    return row.model_copy(update={"paragraph": _paragraph(row, seen, said) if row.why else ""})


def _located(verdict: Verdict | None, of_program: bool = False) -> Iterator[Located]:
    """What is claimed of states, in the order of the claims; `of_program`: without what is said to be the host's."""
    if isinstance(verdict, Diagnosis) and isinstance(verdict.cause, Explained):
        for part in verdict.cause.parts:
            if not (of_program and from_outside(_factor(part))):
                yield from part.held if isinstance(part, Found) else (part,) if isinstance(part, Located) else ()
    elif isinstance(verdict, Diagnosis) and isinstance(verdict.cause, NotVisible):
        yield from verdict.cause.held


def _factors(verdict: Verdict | None) -> Iterator[str]:
    """Factors that are named: those found, and those that a part of the time is recognised as."""
    if isinstance(verdict, Diagnosis) and isinstance(verdict.cause, Explained):
        yield from filter(None, map(_factor, verdict.cause.parts))


def _factor(part: Found | Located | Placed) -> str:
    if isinstance(part, Found):
        return part.factor
    return part.recognised.factor if isinstance(part, Located) and part.recognised else ""


@cache
def from_outside(factor: str) -> bool:
    """Tell whether a factor is of what the host takes."""
    known = load().factors.get(factor)
    return known is not None and bool(FROM_OUTSIDE & {*known.acts_on})


def _scores(
    truth: ProgramTruth, verdict: Verdict, answer: ContestAnswer, claimed: Sequence[Located], machine: bool
) -> dict[str, Score]:
    remedy = _mark(machine or _remedy_right(truth, answer), f"{answer.mitigation or 'No remedy'} is claimed.")
    if not truth.inserted:
        wrong = [] if machine else [factor for factor in answer.causes if factor not in truth.allowed]
        cause = _mark(not wrong, f"Claimed of a null: {', '.join(wrong) or 'no factor'}.")
        alarm = _mark(not (cause.value and remedy.value), f"{cause.reason} {remedy.reason}")
        return {"verdict": _both(cause, remedy), "cause": cause, "remedy": remedy, "false_alarm": alarm}
    state, factor = _state_right(truth, answer, claimed), _factor_right(truth, answer)
    cause = _both(state, factor)
    found = {"cause": cause, "state": state, "factor": factor, "share": _share_right(truth, claimed)}
    return found | {"verdict": _both(cause, remedy), "remedy": remedy}


def _unanswered(why: str) -> dict[str, Score]:
    return dict.fromkeys(("verdict", "cause", "remedy"), _mark(False, why))


def material(truth: ProgramTruth) -> list[InsertedMechanism]:
    """Those that have to be found, what makes most of the variance first."""
    return sorted((one for one in truth.inserted if not truth.faint(one)), key=lambda one: -one.variance)


def _right_states(mechanisms: Sequence[InsertedMechanism]) -> set[TimeState]:
    return {also for one in mechanisms for state in one.states for also in measured_as(state)}


def _state_right(truth: ProgramTruth, answer: ContestAnswer, claimed: Sequence[Located]) -> Score:
    return _state_named(truth, claimed[0].state if claimed else None, next(iter(answer.causes), ""))


def _state_named(truth: ProgramTruth, state: TimeState | None, factor: str) -> Score:
    """Judge the state that is named first; without one, where the factor that is named acts."""
    right = _right_states(material(truth) or truth.inserted)
    if state:
        return _mark(state in right, f"{state} is claimed first.")
    if factor:
        acts = load().factors[factor].acts_on if factor in load().factors else ()
        return _mark({*acts} & right, f"{factor} is claimed, and no state.")
    return _mark(not material(truth), "No state is claimed.")


def _factor_right(truth: ProgramTruth, answer: ContestAnswer) -> Score:
    return _factor_named(truth, next(iter(answer.causes), ""))


def _factor_named(truth: ProgramTruth, named: str) -> Score:
    right = {factor for one in truth.inserted for factor in one.factors}
    if named:
        return _mark(named in right, f"{named} is claimed first; right: {', '.join(right)}.")
    return _mark(all(one.unseen for one in material(truth)), "No factor is claimed.")


def _simply_right(truth: ProgramTruth, answer: SimpleAnswer) -> Score:
    """Judge the cause that a simpler rule names, as that of the diagnosis is."""
    if answer.state in FROM_OUTSIDE or from_outside(answer.factor):
        answer = SimpleAnswer()
    if not truth.inserted:
        return _mark(answer.factor in ("", *truth.allowed), f"{answer.factor or 'No factor'} is named.")
    state = _state_named(truth, answer.state, answer.factor)
    return _both(state, _factor_named(truth, answer.factor))


def _share_right(truth: ProgramTruth, claimed: Sequence[Located]) -> Score:
    """Compare the gap in the states of the largest mechanism with its effect, half of it where that is drawn evenly."""
    main = next(iter(material(truth)), None)
    gap = sum(one.gap_ms for one in claimed if main and one.state in _right_states([main]))
    if main is None or gap <= 0:
        return Score(value=None, reason="No state that is right is claimed.")
    expected = main.effect_ms / (2 if main.trigger in ("graded", "own") else 1)
    return _mark(1 / WITHIN <= gap / expected <= WITHIN, f"{gap:.3g} ms is claimed of {expected:.3g} ms.")


def _remedy_right(truth: ProgramTruth, answer: ContestAnswer) -> bool:
    if answer.mitigation:
        return any(answer.mitigation in one.remedies for one in truth.inserted)
    return not any(applicable(remedy) for one in material(truth) for remedy in one.remedies)


def _harmful(truth: ProgramTruth, answer: ContestAnswer) -> bool:
    """Tell whether a remedy is claimed that does nothing against what is in the program."""
    known = {remedy for one in truth.inserted for remedy in one.remedies}
    return answer.mitigation not in ("", *known)


@cache
def applicable(remedy: str) -> bool:
    """Tell whether a diagnosis that may change the system tries it unasked."""
    known = load().mitigations[remedy]
    return known.scope in ("process", "cgroup", "system") and not known.changes_promise


def _lost(
    truth: ProgramTruth,
    verdict: Verdict | None,
    factors: Sequence[str],
    claimed: Sequence[Located],
    scores: dict[str, Score],
) -> str:
    """Say at which step the right answer was lost, the earliest first."""
    if verdict is None:
        return "no answer"
    if isinstance(verdict, Unusable):
        return "too little was measured to say anything"
    if not truth.inserted:
        return "claimed of a null"
    if not scores["state"].value:
        if any(one.state in _right_states(material(truth)) for one in claimed):
            return "ranked too low"
        return "not measured or not material" if not claimed else "another state is claimed"
    if not scores["factor"].value:
        return "the state is right, its factor is not" if factors else "no factor is named"
    return _remedy_lost(verdict, {remedy for one in truth.inserted for remedy in one.remedies})


def _remedy_lost(verdict: Verdict, right: set[str]) -> str:
    remedy = verdict.remedy if isinstance(verdict, Diagnosis) else None
    if isinstance(remedy, Confirmed):
        return "another remedy is claimed"
    if isinstance(remedy, Refuted) and right & {trial.mitigation for trial in remedy.trials}:
        return "remedy refuted wrongly"
    if isinstance(remedy, Undecided):
        return "remedy not tried for lack of budget" if right & {*remedy.untried} else "remedy undecided"
    return "remedy not offered"


def _paragraph(row: RandomRow, located: Sequence[Located], said: dict[str, Any]) -> str:
    """What the truth was, what was said and seen, and where it was lost."""
    truth = row.truth
    causes = [
        f"it {one.what}: {one.effect_ms:.3g} ms, on by {one.trigger}{' (faint)' if truth.faint(one) else ''}, "
        f"in {' or '.join(one.states)}; right are {', '.join(one.factors) or 'no factor'} and "
        f"{', '.join(one.remedies) or 'no remedy'}"
        for one in truth.inserted
    ]
    seen = [f"{one.gap_ms:.3g} ms {one.name} ({one.share:.0%}){': ' if one.what else ''}{one.what}" for one in located]
    return (
        f"{row.case} ({truth.told}; {truth.base_ms:.3g} ms with noise of {truth.noise_ms:.2g} ms). "
        f"The program: {' and '.join(causes) or 'a null'}. Said: {said.get('headline', row.answer.ended)} "
        f"Seen: {'; '.join(seen) or 'no state'}. Lost: {row.why}. {row.run_dir}"
    )


def _mark(right: object, reason: str) -> Score:
    return Score(value=float(bool(right)), reason=reason)


def _both(one: Score, other: Score) -> Score:
    return _mark(one.value and other.value, f"{one.reason} {other.reason}")
