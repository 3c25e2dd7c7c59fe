"""The verdict of a diagnosis: what makes runs slow, and what makes that stop, are two answers.

A `match` over one of these unions ends in `assert_never`: a new case is a type error until all of it is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, assert_never

from pydantic import AfterValidator, Field, TypeAdapter

from ..knowledge.shape import Frozen, is_empty, is_none
from ..knowledge.time_states import TimeState
from .claim import Claim, TooFew
from .ledger.recognise import RecognisedFactor
from .statistics.values import IntervalEstimate


class Located(Frozen):
    """A state of the runs' time in which slow runs spend more."""

    kind: Literal["located"] = "located"
    state: TimeState
    name: str
    """For people, to stand after a number of milliseconds."""
    gap_ms: float
    """Slow runs less fast ones."""
    gap_interval: IntervalEstimate
    """95 %."""
    share: float
    """Of the variance."""
    what: str = ""
    """Call, file and who was waited for, of the largest part."""
    recognised: RecognisedFactor | None = Field(default=None, exclude_if=is_none)
    """What that is known to look like."""
    why: str = Field(default="", exclude_if=is_empty)
    """Clause: why slow runs spend more of it, of time on a CPU, as far as that is told."""


class Placed(Frozen):
    """A rank or hosts with whose lateness the slow runs go: it is known where, and not yet why."""

    kind: Literal["placed"] = "placed"
    name: str
    """For people, as `rank 1`."""
    share: float
    """Of the variance of the outcome."""
    interval: IntervalEstimate
    """95 %, of that share."""
    why: str
    """Clause: how it makes runs slow."""
    by: Literal["rank", "node"]
    """What the runs are compared by to see more of it."""


class Found(Frozen):
    """A factor that goes with the slow runs by more than luck, and enough to matter."""

    kind: Literal["found"] = "found"
    factor: str
    """Key of the knowledge base, or the column where it has none."""
    name: str
    """For people."""
    column: str | None = None
    """None: no counter shows it, and trying its mitigation has found it."""
    auc: float | None = None
    """Chance that a slow run shows more of the column than a fast one."""
    p_value: float | None = None
    """Family-wise."""
    fell: bool | None = None
    """The column fell under the mitigation that helped; None: nothing helped, or no column is known."""
    held: tuple[Located, ...] = Field(default=(), exclude_if=is_empty)
    """What slow runs spend more in the states that it acts on, the largest first, where a ledger was kept."""


class UnexplainedRest(Frozen):
    """What slow runs take more beyond the states that the parts of a cause name."""

    gap_ms: float
    """Slow runs less fast ones; negative where the parts hold more than there is."""
    share: float
    """Of the variance."""


class Explained(Frozen):
    """Factors go with the slow runs by more than luck, or it is known where: in which state, rank or host."""

    kind: Literal["explained"] = "explained"
    parts: Annotated[tuple[Annotated[Found | Located | Placed, Field(discriminator="kind")], ...], Field(min_length=1)]
    """Places first; then factors, the strongest first, and before all others of them those that the mitigation that
    helped is known to address; then states that none of them acts on, the largest first."""
    rest: UnexplainedRest | None = Field(default=None, exclude_if=is_none)
    """None without a ledger, and where it is not known of a part in which states it is."""


class NotVisible(Frozen):
    """Nothing that was counted goes with the slow runs by more than luck and enough to matter."""

    kind: Literal["not visible"] = "not visible"
    groups: int
    """Clusters of collinear columns that were looked at, over all looks."""
    p_value: float
    """The least of all looks, each of its whole search."""
    runs: int
    """Profiled, over all looks."""
    slight: Found | None = None
    """Goes with them by more than luck, and cannot be what makes them slow."""
    less: bool = False
    """Slow runs show less of it, and it should be low; else it does too little to matter."""
    hidden: tuple[str, ...] = ()
    """Names of factors that leave no counter, of which a mitigation can be tried here."""
    held: tuple[Located, ...] = Field(default=(), exclude_if=is_empty)
    """What slow runs spend more, most of it in the program's own work, where a ledger was kept: nothing tells why."""


class NotSought(Frozen):
    """No factor was looked at."""

    kind: Literal["not sought"] = "not sought"
    why: str = ""
    """Clause; empty where one mitigation was to be tried, and no cause to be found."""


Cause = Annotated[Explained | NotVisible | NotSought, Field(discriminator="kind")]


class TriedRemedy(Frozen):
    """What came of one mitigation, over all its batches."""

    mitigation: str
    values: dict[str, str] = {}
    """Of its parameters, where they were chosen."""
    claim: Claim | TooFew | None = None
    """Of its last batch, in the family of all that confirm; None: it was not compared."""
    less: bool = False
    """One batch claims what was asked for, and no other confirms it."""
    helps: Literal["less", "more"] = Field(default="less", exclude_if=lambda helps: helps == "less")
    """What of the measure would help: more of a mean where a higher one is better."""
    refuted_by: str = ""
    """Clause: what refutes it beside the claim, such as that it breaks the program."""


class _Helpful(Frozen):
    """A mitigation that helps, with its claims: the first decides, the others stand beside it."""

    mitigation: str
    values: dict[str, str] = {}
    claim: Claim
    sd: Claim | None = None
    """For comparison with the VGO paper."""
    cv: Claim | None = None
    mean: Claim | None = None
    """Its price."""
    comparison: str
    """Id of the call of compare that the claims come from."""
    promise: str = ""
    """What the program can no longer rely on."""


class Confirmed(_Helpful):
    """An independent batch of randomised pairs confirms that a mitigation helps."""

    kind: Literal["confirmed"] = "confirmed"
    command: str
    """The command line that reproduces it."""
    untried: tuple[str, ...] = ()
    """What the budget ended before, where the target is not reached: mitigations, or steps in words."""


class Observed(_Helpful):
    """A person applied it: a later series against an earlier one, which is weaker evidence than pairs."""

    kind: Literal["observed"] = "observed"


class _Unproved(Frozen):
    """Nothing is proved to help."""

    declined: tuple[str, ...] = ()
    """Mitigations that were not tried since the user wanted no system change."""


class Refuted(_Unproved):
    """Of all that was tried, a help that matters is excluded, or it harms the program."""

    kind: Literal["refuted"] = "refuted"
    trials: tuple[TriedRemedy, ...]


class Undecided(_Unproved):
    """Some mitigation is undecided, or waits to be tried; they are named."""

    kind: Literal["undecided"] = "undecided"
    undecided: tuple[TriedRemedy, ...] = ()
    untried: tuple[str, ...] = ()
    """Mitigations, or steps in words."""
    ended_by: Literal["pairs", "budget", "planner"] = "budget"
    """pairs: all that were planned are made; planner: it ended the search while more could be done."""


class NotTried(_Unproved):
    """No mitigation was compared: it is forbidden, impossible here, or none is known."""

    kind: Literal["not tried"] = "not tried"
    why: str
    """Clause."""


Remedy = Annotated[Confirmed | Observed | Refuted | Undecided | NotTried, Field(discriminator="kind")]


class Diagnosis(Frozen):
    """Cause and remedy."""

    kind: Literal["diagnosis"] = "diagnosis"
    cause: Cause
    remedy: Remedy
    evidence: tuple[str, ...]
    """Ids of the calls that it rests on."""


class Steady(Frozen):
    """There is nothing to reduce: the spread is at or below `--steady-cv`."""

    kind: Literal["steady"] = "steady"
    cv: float
    limit: float
    fails: str = ""
    """Clause: how many runs failed, and what they said."""
    evidence: tuple[str, ...]


class Unusable(Frozen):
    """The runs cannot say anything; the sentence says what cures it."""

    kind: Literal["unusable"] = "unusable"
    why: str
    """Clause."""
    cure: str
    """Imperative clause."""
    evidence: tuple[str, ...]


Verdict = Annotated[Diagnosis | Steady | Unusable, Field(discriminator="kind")]
_READ: TypeAdapter[Diagnosis | Steady | Unusable] = TypeAdapter(Verdict)


def to_json(verdict: Verdict) -> dict[str, Any]:
    """Give it as `--json` and transcripts have it."""
    return verdict.model_dump(mode="json")


def from_json(value: Any) -> Verdict:
    """Read it back; raises pydantic's ValidationError."""
    return _READ.validate_python(value)


def title(verdict: Verdict) -> str:
    """Name it in a few words: `cause explained, remedy confirmed`, `steady`, `unusable`."""
    match verdict:
        case Diagnosis():
            return f"cause {verdict.cause.kind}, remedy {verdict.remedy.kind}"
        case Steady() | Unusable():
            return verdict.kind
        case _:
            assert_never(verdict)


def exit_code(verdict: Verdict) -> int:
    """0: an answer; 1: the runs cannot say anything."""
    match verdict:
        case Diagnosis() | Steady():
            return 0
        case Unusable():
            return 1
        case _:
            assert_never(verdict)


def factors_found(verdict: Verdict) -> tuple[Found, ...]:
    """Factors that explain the slow runs, the strongest first."""
    cause = verdict.cause if isinstance(verdict, Diagnosis) else None
    return tuple(one for one in cause.parts if isinstance(one, Found)) if isinstance(cause, Explained) else ()


def placed(verdict: Verdict) -> tuple[Placed, ...]:
    """Ranks and hosts that are parts of the cause."""
    cause = verdict.cause if isinstance(verdict, Diagnosis) else None
    return tuple(one for one in cause.parts if isinstance(one, Placed)) if isinstance(cause, Explained) else ()


def helpful(verdict: Verdict) -> Confirmed | Observed | None:
    """The mitigation that helps; None: nothing is known to."""
    remedy = verdict.remedy if isinstance(verdict, Diagnosis) else None
    return remedy if isinstance(remedy, Confirmed | Observed) else None


def confirmed(verdict: Verdict) -> Confirmed | None:
    """The mitigation that an independent batch confirms."""
    remedy = helpful(verdict)
    return remedy if isinstance(remedy, Confirmed) else None


def undecided(verdict: Verdict) -> Undecided | None:
    """What was left open."""
    remedy = verdict.remedy if isinstance(verdict, Diagnosis) else None
    return remedy if isinstance(remedy, Undecided) else None


def left_for_time(verdict: Verdict) -> tuple[str, ...]:
    """What a larger budget would be for, in words; `resume` goes on with it."""
    remedy = undecided(verdict) or confirmed(verdict)
    if remedy is None or isinstance(remedy, Undecided) and remedy.ended_by != "budget":
        return ()
    return remedy.untried


CAUSES = tuple(f"cause {one.model_fields['kind'].default}" for one in (Explained, NotVisible, NotSought))
REMEDIES = tuple(
    f"remedy {one.model_fields['kind'].default}" for one in (Confirmed, Observed, Refuted, Undecided, NotTried)
)
EXPLAINED, NOT_VISIBLE, _ = CAUSES
STEADY, UNUSABLE = (str(one.model_fields["kind"].default) for one in (Steady, Unusable))
TITLES = (*(f"{cause}, {remedy}" for cause in CAUSES for remedy in REMEDIES), STEADY, UNUSABLE)
"""All that `title` may say."""


def _of_a_title(pattern: str) -> str:
    if pattern not in (*TITLES, *CAUSES, *REMEDIES):
        raise ValueError(f"{pattern!r} is neither a verdict nor its cause or remedy: {', '.join((*CAUSES, *REMEDIES))}")
    return pattern


TitlePattern = Annotated[str, AfterValidator(_of_a_title)]
"""A title, or its half: `remedy confirmed` stands for every cause."""


def matches(title: str, patterns: Iterable[str]) -> bool:
    """Tell whether one of the patterns stands for a title."""
    return any(set(pattern.split(", ")) <= set(title.split(", ")) for pattern in patterns)
