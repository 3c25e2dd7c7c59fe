"""How many cores to leave to the system: the fewest that make it vary less, and what more cost (question Q1)."""

from __future__ import annotations

from collections.abc import Sequence

from ...knowledge.shape import Frozen
from ..claim_words import interval, word
from .design import StudyDesign
from .effects import Runs
from .factors import THREADS
from .spreads import TIMES, Against, held_against


class CoreReservation(Frozen):
    """One number of cores, all else as in the middle of the study."""

    cores: int
    spare: int
    threads: int
    setting: str
    """Whose runs stand for it."""
    against_all: Against | None = None
    """Against using every core; p-values are adjusted over the numbers of cores."""
    against_enough: Against | None = None
    """Against the smallest reservation that is enough; of those that reserve more."""


class Reservation(Frozen):
    """The numbers of cores in order, from few to all."""

    steps: tuple[CoreReservation, ...]
    enough: int | None
    """Cores left to the system in the smallest reservation that is shown to vary less than none; None: none is."""
    answer: str


def reservation(design: StudyDesign, times: TIMES, runs: Runs, alpha: float) -> Reservation:
    """Compare every number of cores with all of them, in pairs of the same round."""
    steps = [step for step in _steps(design, runs) if step.setting in times]
    everything = next((step for step in steps if step.spare == 0), None)
    if everything is None or len(steps) < 2:
        return Reservation(steps=tuple(steps), enough=None, answer="")
    judged = _held_against(everything, steps, times, alpha)
    steps = [step.model_copy(update={"against_all": judged.get(step.cores)}) for step in steps]
    less = [step for step in steps if step.against_all and step.against_all.direction == "less"]
    if not less:
        return Reservation(steps=tuple(steps), enough=None, answer=_none(steps))
    enough = min(less, key=lambda step: step.spare)
    beyond = [step for step in steps if step.spare > enough.spare]
    judged = _held_against(enough, [enough, *beyond], times, alpha)
    steps = [step.model_copy(update={"against_enough": judged.get(step.cores)}) for step in steps]
    return Reservation(steps=tuple(steps), enough=enough.spare, answer=_answer(enough, steps))


def _steps(design: StudyDesign, runs: Runs) -> list[CoreReservation]:
    factor = next(factor for factor in design.factors if factor.key == THREADS)
    found = []
    for level in sorted(factor.levels, key=int):
        setting = design.at(design.centre | {THREADS: level})
        name = runs(design.centre | {THREADS: level})
        if setting and name:
            found.append(
                CoreReservation(cores=setting.cores, spare=setting.spare, threads=setting.threads, setting=name)
            )
    return found


def _held_against(
    first: CoreReservation, steps: Sequence[CoreReservation], times: TIMES, alpha: float
) -> dict[int, Against]:
    judged = held_against(first.setting, [step.setting for step in steps], times, alpha)
    return {step.cores: judged[step.setting] for step in steps if step.setting in judged}


def _none(steps: Sequence[CoreReservation]) -> str:
    if not any(step.against_all for step in steps):
        return "Too few rounds count to say how many cores to leave to the system."
    return f"Leaving cores to the system is not shown to make it {word('less')} than using all of them."


def _answer(enough: CoreReservation, steps: Sequence[CoreReservation]) -> str:
    cores = "one core" if enough.spare == 1 else f"{enough.spare} cores"
    words = f"Leaving {cores} to the system is enough: fewer are not shown to make it {word('less')}"
    if enough.against_all:
        words += f" (ratio of the mean {interval(enough.against_all.mean)})"
    if enough.threads == 1:
        words += ", but one is left to the program, which runs in a single thread then"
    more = [step for step in steps if step.against_enough]
    if not more:
        return f"{words}; no more could be left, or tried."
    better = [step for step in more if step.against_enough and step.against_enough.direction == "less"]
    if better:
        listed = ", ".join(str(step.spare) for step in better)
        return f"{words}; leaving {listed} is {word('less')} still."
    return f"{words}, and leaving more is not shown to be {word('less')} still, so it is only over-reservation."
