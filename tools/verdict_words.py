"""A verdict in words: one headline, and what to do next. Every reader that tells a verdict takes them from here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from .claim import MARGIN, Claim, TooFew, disagreement, in_a_word, interval
from .verdict import (
    Cause,
    Confirmed,
    Diagnosis,
    Explained,
    Found,
    Located,
    NotSought,
    NotTried,
    NotVisible,
    Observed,
    Placed,
    Refuted,
    Remedy,
    Steady,
    TriedRemedy,
    Undecided,
    UnexplainedRest,
    Unusable,
    Verdict,
)

MOST_NAMED = 3
LEAST_REST = 0.05
"""Share of the variance that no part explains, from which it is said."""
_ENDED = {"pairs": "", "budget": " before the budget ended", "planner": " before the planner ended the search"}


def listed(names: Sequence[str]) -> str:
    """Write the first names as a sentence has them."""
    if not names:
        return ""
    first, more = list(names[:MOST_NAMED]), len(names) - MOST_NAMED
    words = [*first, f"{more} more"] if more > 0 else first
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def headline(verdict: Verdict) -> str:
    """Say the verdict in a sentence or two: the cause, then the remedy."""
    match verdict:
        case Diagnosis(cause=cause, remedy=remedy):
            first, second = _cause(cause), _remedy(remedy)
            if first:
                return f"{first}; {second}."
            return f"N{second[1:]}." if second.startswith("no") else f"{second}."  # else it begins with a key
        case Steady(cv=cv, limit=limit, fails=fails):
            but = f"; but {fails}" if fails else ""
            return f"There is nothing to reduce: the CV is {100 * cv:.2g} %, at or below {100 * limit:g} %{but}."
        case Unusable(why=why, cure=cure):
            return f"The data cannot answer. {why[:1].upper()}{why[1:]}; {cure}."
        case _:
            assert_never(verdict)


def _cause(cause: Cause) -> str:
    """A clause that begins a sentence; empty where no cause was to be sought."""
    match cause:
        case Explained(parts=(Placed() as placed, *others)):
            beside = within(_cause(Explained(parts=tuple(others), rest=cause.rest))) if others else ""
            low, high = (100 * end for end in (placed.interval.low, placed.interval.high))
            share = f"{100 * placed.share:.3g} % [{low:.3g}, {high:.3g}] of the variance"
            said = f"Slow runs are slow because of {placed.name} ({share}): {placed.why}"
            return "; ".join(filter(None, (said, beside)))
        case Explained(parts=parts):
            found = [part for part in parts if isinstance(part, Found)]
            places = listed([_place(one) for one in {one.state: one for one in _held(cause)}.values()])
            by_trying = [part for part in found if part.column is None]
            if by_trying:
                return f"No counter shows {within(by_trying[0].name)}, which was found by trying"
            if not found:
                return f"Slow runs spend more time {places}{_rest(cause.rest)}"
            factors = f"go with {listed([_part(part) for part in found])}"
            if places and isinstance(parts[0], Located):
                return f"Slow runs spend more time {places}, and {factors}{_rest(cause.rest)}"
            beside = f", and spend more time {places}" if places else ""
            return f"The slow runs {factors}{beside}{_rest(cause.rest)}"
        case NotVisible():
            return _not_visible(cause)
        case NotSought(why=why):
            return f"{why[:1].upper()}{why[1:]}"
        case _:
            assert_never(cause)


def _rest(rest: UnexplainedRest | None) -> str:
    if rest is None or rest.share < LEAST_REST:
        return ""
    if rest.gap_ms <= 0:
        return f"; {100 * rest.share:.2g} % of the variance stay unexplained"
    return f"; {rest.gap_ms:.3g} ms more, {100 * rest.share:.2g} % of the variance, stay unexplained"


def _part(part: Found) -> str:
    moved = {True: ", which fell with the remedy", False: ", not shown to fall with it", None: ""}[part.fell]
    known = part.auc is not None and part.p_value is not None
    numbers = f", AUC {part.auc:.2f}, family-wise p {part.p_value:.2g}" if known else ""
    return f"{within(part.name)} ({part.column}{numbers}{moved})"


def _place(part: Located) -> str:
    known = f", which looks like {within(part.recognised.name)}" if part.recognised else ""
    said = "; ".join(filter(None, (f"{part.what}{known}" if part.what else "", part.why)))
    what = f": {said}" if said else ""
    low, high = part.gap_interval.low, part.gap_interval.high
    return f"{part.name} ({part.gap_ms:.3g} ms [{low:.3g}, {high:.3g}], {100 * part.share:.2g} % of the variance{what})"


def within(name: str) -> str:
    """Write a name as it stands within a sentence: `Run-queue wait` with a small letter, `CPU migrations` as it is."""
    return f"{name[:1].lower()}{name[1:]}" if name[1:2].islower() else name


def _not_visible(cause: NotVisible) -> str:
    slight = cause.slight
    if slight is None:
        leaves = f"; {listed([within(name) for name in cause.hidden])} leave no counter" if cause.hidden else ""
        return (
            f"None of {cause.groups} groups of counters goes with the slow runs by more than luck over {cause.runs} "
            f"runs (family-wise p {cause.p_value:.2g}{leaves}){_unexplained(cause)}"
        )
    numbers = f"AUC {slight.auc:.2f}, family-wise p {slight.p_value:.2g}"
    if cause.less:
        return (
            f"Slow runs show less of {slight.column} by more than luck ({numbers}), and it should be low: it is not "
            f"what makes them slow{_unexplained(cause, '; they')}"
        )
    return (
        f"The column {slight.column} goes with the slow runs by more than luck and by too little to matter ({numbers})"
        f"{_unexplained(cause, '; they')}"
    )


def _unexplained(cause: NotVisible, who: str = ", which") -> str:
    return f"{who} spend more time {listed([_place(one) for one in cause.held])}" if cause.held else ""


def _remedy(remedy: Remedy) -> str:
    match remedy:
        case Confirmed():
            return f"{_called(remedy)} brings {_brings(remedy)}, confirmed by an independent batch of randomised pairs"
        case Observed():
            return (
                f"{_called(remedy)}, applied by hand, brings {_brings(remedy)}; the two series were not interleaved, "
                "so whatever else changed in between counts too"
            )
        case Refuted(trials=trials):
            return f"{_refuted(trials)}{_declined(remedy.declined)}"
        case Undecided():
            return f"{_open(remedy)}{_declined(remedy.declined)}"
        case NotTried(why=why):
            return f"no remedy was tried: {why}{_declined(remedy.declined)}"
        case _:
            assert_never(remedy)


def _called(remedy: Confirmed | Observed | TriedRemedy) -> str:
    values = ", ".join(f"{name}={value}" for name, value in remedy.values.items())
    return f"{remedy.mitigation} ({values})" if values else remedy.mitigation


def _brings(remedy: Confirmed | Observed) -> str:
    """What the decisive claim comes to, with the SD beside it where that tells another story, and the mean."""
    claim, mean = remedy.claim, remedy.mean
    decided = f"the {claim.measure} to {interval(claim)} of the baseline's"
    doubt = disagreement(claim, remedy.sd).rstrip(".") if remedy.sd and claim.measure != "mean" else ""
    price = f", and the mean to {interval(mean)}" if mean and claim.measure != "mean" else ""
    return f"{decided}{f' ({doubt[0].lower()}{doubt[1:]})' if doubt else ''}{price}"


def _refuted(trials: Sequence[TriedRemedy]) -> str:
    if len(trials) == 1:
        only = trials[0]
        return f"{_called(only)} {only.refuted_by or _does(only)}{'' if only.refuted_by else _ratio(only)}"
    harmful = "".join(
        f", {one.mitigation} {one.refuted_by or _does(one)}" for one in trials if one.refuted_by or harms(one)
    )
    return f"none of {len(trials)} remedies helps: {listed([_called(one) for one in trials])}{harmful}"


def _does(trial: TriedRemedy) -> str:
    """Say what a mitigation that is refuted by its claim does."""
    if trial.claim is None or not harms(trial):
        return "does not help"
    return f"makes it {in_a_word(trial.claim, lower_is_better=trial.helps == 'less')}"


def harms(trial: TriedRemedy) -> bool:
    """Tell whether the opposite of what would help is claimed."""
    opposite = "more" if trial.helps == "less" else "less"
    return isinstance(trial.claim, Claim) and trial.claim.direction == opposite


def _ratio(trial: TriedRemedy) -> str:
    claim = trial.claim
    match claim:
        case Claim():
            matters = claim.margin if trial.helps == "less" else 1 / claim.margin
            without = claim.direction == "undecided" and claim.excludes(trial.helps)
            excluded = f", {matters:.2f} is excluded" if without else ""
            return f" ({claim.measure} ratio {interval(claim)}{excluded})"
        case TooFew(why=why):
            return f" ({why})"
        case None:
            return ""
        case _:
            assert_never(claim)


def _open(remedy: Undecided) -> str:
    names = [f"{_called(one)}{' (less in one batch)' if one.less else ''}" for one in remedy.undecided]
    numbers = _ratio(remedy.undecided[0]) if len(remedy.undecided) == 1 else ""
    parts = (
        f"{listed(names)} undecided{numbers}" if names else "",
        f"{listed(remedy.untried)} untried" if remedy.untried else "",
    )
    left = ", ".join(filter(None, parts))
    return f"no remedy was confirmed{_ENDED[remedy.ended_by]}{f': {left}' if left else ''}"


def _declined(names: Sequence[str]) -> str:
    return f"; not tried, since you wanted no system change: {', '.join(names)}" if names else ""


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
    """Sentence: what of all that was tried left the least spread, or that none left less than the baseline has."""


def next_steps(verdict: Verdict, openings: Openings) -> tuple[str, ...]:
    """Say what a user can do now, the most useful first."""
    match verdict:
        case Diagnosis(cause=cause, remedy=remedy):
            known = dict.fromkeys(part.recognised.words for part in _held(cause) if part.recognised)
            told = () if isinstance(remedy, Confirmed | Observed) else tuple(known)
            return (*told, *_after_remedy(remedy, cause, openings), *_after_cause(cause, remedy, openings))
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
        yield openings.best


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
        case Explained(parts=parts):
            yield from filter(None, (_after_parts(parts),))
        case NotVisible():
            yield from _after_nothing(openings)
        case _:
            assert_never(cause)


def _after_parts(parts: Sequence[Found | Located | Placed]) -> str:
    """What to look at; empty where nothing is."""
    if isinstance(first := parts[0], Placed):
        return f"See what {first.name} does in slow runs, and where it runs: `vgo-agent analyze --by {first.by} RUN`."
    if any(isinstance(part, Found) for part in parts):
        return "Going together is not causing: if every remedy fails, suspect what else moves with the factor."
    states = [part.state.value for part in parts if isinstance(part, Located) and not part.recognised]
    return f"Read what that state is, and what acts on it: `vgo-agent explain {states[0]}`." if states else ""


def _held(cause: Cause) -> tuple[Located, ...]:
    """States in which slow runs spend more time, of what is found too."""
    if isinstance(cause, NotSought):
        return ()
    if isinstance(cause, NotVisible):
        return cause.held
    return tuple(one for part in cause.parts for one in _states(part)[:1])


def _states(part: Found | Located | Placed) -> tuple[Located, ...]:
    match part:
        case Found(held=held):
            return held
        case Located():
            return (part,)
        case Placed():
            return ()
        case _:
            assert_never(part)


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
