"""What the steps that try a mitigation say: runs under it, beside the program as it is given or after it."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from ..knowledge.shape import Frozen, is_empty, is_none
from .claim import Claim, TooFew
from .comparison import Comparison, direction
from .failures import FailedArms, Failures
from .ledger.gain import LedgerGain
from .mitigation.verification import Check
from .record import Result
from .statistics.spread import ArmSummary
from .subject import Aim

OUT_OF_TIME = "The budget ended before a pair could be run."
LEAST = 0.95
"""A mean that is at least this share of the baseline's has not moved by an amount that proves anything."""
ENOUGH = f"falls by {100 * (1 - LEAST):.0f} %"
"""What is expected of such a column."""


class InterimLook(Frozen):
    """What the first pairs showed."""

    pairs: int
    """Complete ones."""
    spread: Claim | TooFew
    """At the level of this look."""
    stopped: bool


class ApplyResult(Result):
    """A proof, and pairs of runs."""

    mitigation: str
    batch: int
    pairs: int
    failed: int
    failures: tuple[Failures, ...] = Field(default=(), exclude_if=is_empty)
    """The failed ones by what they ended with and said, of both arms."""
    spent_s: float
    checks: tuple[Check, ...]
    in_force: bool
    """Every check passed; otherwise nothing was measured."""
    broke: str = ""
    """What it did to the program, which refutes it: breaks it, makes a run hang, makes it take many times as long."""
    told: tuple[str, ...]
    """What happened to settings meanwhile that a user should hear."""
    command: str
    """The command line that reproduces it by hand."""
    looks: tuple[InterimLook, ...] = ()
    """At half of the pairs, where those are enough to tell by."""
    left: float = 1.0
    """Share of alpha at which these pairs are to be judged, the look paid for.

    Exact at alpha itself; in a family of batches (Holm) at most (first + last) / alpha times alpha is spent, 1.06 at
    .05.
    """
    block: int = 1
    """Pairs that were run together, all of one condition and then all of the other, since switching is slow; such
    blocks are what is exchanged and resampled."""


class ByHandResult(Result):
    """A second series of runs, made after the baseline's."""

    mitigation: str
    runs: int
    """Runs that count, warm-up left out."""
    failed: int
    warm_up: int
    spent_s: float


class Moved(Frozen):
    """What the mitigation did to a column that it should lower, or that goes with slow runs (level 3 of the proof)."""

    column: str
    unit: str
    baseline: float
    """Mean over the baseline runs of the pairs; the mean, because a rare cause leaves the median alone."""
    mitigated: float
    claim: Claim | TooFew
    """Of the mean, pair by pair, in the family of all these columns."""

    @property
    def fell(self) -> bool:
        """The whole interval of the ratio lies below `LEAST`."""
        return isinstance(self.claim, Claim) and self.claim.high is not None and self.claim.high < LEAST

    @property
    def words(self) -> str:
        """Say whether it fell, and by how much."""
        if isinstance(self.claim, TooFew):
            return f"cannot be told to have fallen: {self.claim.why}"
        if self.claim.direction != "less":
            return "is not shown to fall"
        enough = "" if self.fell else f", which is not shown to be {100 * (1 - LEAST):.0f} % or more"
        return f"fell by {_share(self.claim)}{enough}"


def _share(claim: Claim) -> str:
    """How much of the baseline's mean is gone, with its interval: `42 % [35 %, 49 %]`."""
    if claim.alike:
        return f"{100 * (1 - (claim.ratio or 0)):.3g} % (no interval: alike in all runs)"
    gone = [f"{100 * (1 - ratio):.3g} %" for ratio in (claim.ratio, claim.high, claim.low) if ratio is not None]
    return f"{gone[0]} [{gone[1]}, {gone[2]}]"


class CompareResult(Result):
    """What one batch of pairs shows."""

    mitigation: str
    batch: int
    """0: no pairs, but two series one after the other, between which a person applied it."""
    comparison: Comparison
    """Its claims are alone, with the look at half of the pairs paid."""
    confirmations: dict[str, Claim | TooFew] = Field(default={}, exclude_if=is_empty)
    """By call of apply_mitigation: the spread in each confirming batch so far, all one family."""
    moved: tuple[Moved, ...]
    failing: FailedArms | None = Field(default=None, exclude_if=is_none)
    gain: LedgerGain | None = Field(default=None, exclude_if=is_none)
    """In which states of the time, where a profile had a ledger and it is known on which the mitigation acts."""

    @property
    def gained(self) -> bool:
        """Less is claimed of what the gain is of."""
        return self.gain is not None and direction(self.comparison.claims[self.gain.measure]) == "less"

    @property
    def by_state(self) -> str:
        """Sentence: where the gain lies, or how the time differs in what it acts on; empty if not looked at."""
        if self.gain is None:
            return ""
        return self.gain.sentence(self.mitigation) if self.gained else self.gain.contrast(self.mitigation)


class LevelResult(Frozen):
    """One level, or the baseline."""

    level: str
    summary: ArmSummary | None
    """None where no run counts."""
    claim: Claim | TooFew | None = None
    """Of what is to be small, round by round, alone: for the eye, since the level was not chosen before."""
    rounds: int
    dropped: str = ""
    """Why it was not run to the end; empty where it was."""
    command: str = ""
    """The command line that reproduces it by hand."""


class ScreenResult(Result):
    """The levels, and the one to confirm."""

    mitigation: str
    parameter: str
    minimise: Aim
    rounds: int
    failed: int
    spent_s: float
    baseline: LevelResult
    levels: tuple[LevelResult, ...]
    best: str | None
    """The level left with the least; None where none is less than the baseline."""


def stopped_early(looks: Sequence[InterimLook]) -> bool:
    """Tell whether a look ended the pairs."""
    return any(taken.stopped for taken in looks)
