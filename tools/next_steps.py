"""What a user can do after a verdict, the most useful first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from .claim import MARGIN
from .verdict import (
    Cause,
    Confirmed,
    Diagnosis,
    Explained,
    NotSought,
    NotTried,
    NotVisible,
    Observed,
    Refuted,
    Remedy,
    Steady,
    Undecided,
    Unusable,
    Verdict,
)
from .verdict_words import harms


@dataclass(frozen=True)
class Openings:
    """What the record leaves to do, and who may do it; keys of mitigations."""

    ready: tuple[str, ...] = ()
    """The tool may try them as it was called."""
    system: tuple[str, ...] = ()
    """With `--allow system` it could."""
    process: bool = False
    """With `--allow process` it could try some."""
    by_hand: tuple[str, ...] = ()
    suspects: bool = False
    """The report lists commands against causes without a counter."""
    absent: int = 0
    """Kinds of counters that this machine hides."""
    pairs_needed: int = 0
    """Estimated to decide the first trial that is undecided; 0: unknown, or no more than were made."""
    best: str = ""
    """Of what was tried, the one that left the least spread, with how much."""


def next_steps(verdict: Verdict, openings: Openings) -> tuple[str, ...]:
    """Say what a user can do now, the most useful first."""
    match verdict:
        case Diagnosis(cause=cause, remedy=remedy):
            return (*_after_remedy(remedy, cause, openings), *_after_cause(cause, remedy, openings))
        case Steady():
            return (
                "If so small a spread matters, lower the limit: `--steady-cv 0`.",
                "A quiet hour says nothing of a busy one: repeat when the machine works as it usually does.",
            )
        case Unusable(cure=cure):
            return (f"{cure[:1].upper()}{cure[1:]}, and run the same command again; nothing was changed here.",)
        case _:
            assert_never(verdict)


def _after_remedy(remedy: Remedy, cause: Cause, openings: Openings) -> Iterator[str]:
    match remedy:
        case Confirmed():
            yield (
                "Start the program with this command line wherever the spread matters; the report says how to keep it "
                "so."
            )
            yield (
                "Measure again after a new kernel, machine or version of the program: what was proved holds for this "
                "machine as it was."
            )
        case Observed():
            yield "Undo it and measure once more: if the spread comes back with it, the evidence is far stronger."
        case Undecided():
            yield from _after_budget(remedy, openings)
        case Refuted() if isinstance(cause, NotSought):
            yield (
                "Look for what goes with the slow runs before the next try: `vgo-agent diagnose` ranks the factors and "
                "names their mitigations."
            )
            if not any(one.refuted_by or harms(one) for one in remedy.trials):
                yield "A smaller effect may be there: more pairs (`--pairs`) show weaker ones."
        case NotTried() if isinstance(cause, NotSought):
            yield (
                "Do what the sentence above names, or choose another: `vgo-agent mitigations -- COMMAND` says what "
                "applies here."
            )
        case Refuted() | NotTried():
            return
        case _:
            assert_never(remedy)


def _after_budget(remedy: Undecided, openings: Openings) -> Iterator[str]:
    if remedy.ended_by == "planner":
        by_hand = f", or try one by hand (`vgo-agent try {openings.ready[0]} -- COMMAND`)" if openings.ready else ""
        yield f"Let the search go on: repeat with `--planner rules`{by_hand}."
    elif remedy.undecided and openings.pairs_needed:
        first, needed = remedy.undecided[0].mitigation, openings.pairs_needed
        yield (
            f"More pairs decide: about {needed} would show whether {first} brings the spread to {MARGIN:g} "
            f"(`vgo-agent try {first} --pairs {needed} -- COMMAND`)."
        )
    elif not remedy.untried:  # else `resume` is the first step
        yield "Repeat with more room: a larger `--budget`, in seconds, pays for more runs and pairs."
    if openings.best:
        yield f"Of what was tried, {openings.best}; that is not proved."


def _after_cause(cause: Cause, remedy: Remedy, openings: Openings) -> Iterator[str]:
    if isinstance(remedy, Confirmed | Observed) or isinstance(cause, NotSought):
        return
    if openings.system:
        yield (
            "Let the tool try what changes the system, and put it back afterwards: repeat with `--allow system` "
            f"({', '.join(openings.system)})."
        )
    if openings.process:
        yield "Let the tool try the mitigations that touch only the program: repeat with `--allow process`."
    if openings.by_hand:
        names = ", ".join(openings.by_hand)
        yield f"Try by hand what the tool cannot do, with the steps in the report under “Not tried”: {names}."
    match cause:
        case Explained():
            yield "Going together is not causing: if every remedy fails, suspect what else moves with the factor."
        case NotVisible():
            yield from _after_nothing(openings)
        case _:
            assert_never(cause)


def _after_nothing(openings: Openings) -> Iterator[str]:
    if openings.suspects:
        yield (
            "Some causes leave no counter here: try the commands in the report under “Suspects without a counter”, and "
            "measure each with `vgo-agent diagnose`; a smaller CV finds the cause."
        )
    if openings.absent:
        yield (
            f"This machine hides {openings.absent} kinds of counters (the report lists them): the same program on "
            "another machine may show more."
        )
    yield "More runs show weaker causes: repeat with a larger `--max-runs` and `--budget`."
