"""Arms against a baseline: the claims that decide, and what both look like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from .claim import Arms, Claim, Direction, TooFew, claims
from .claim_words import interval
from .run_table import PairedOutcomes
from .statistics.comparison.bootstrap import BootstrapRatio
from .statistics.comparison.description import Description, describe_arms
from .statistics.deviations import Measure
from .statistics.values import FiniteResult

MEASURES: tuple[Measure, ...] = ("spread", "sd", "cv", "mean")
"""The first decides what an arm is called."""


class Comparison(FiniteResult):
    """One arm against the baseline."""

    described: Description
    claims: dict[Measure, Claim | TooFew]
    """By measure; all arms are one family for each."""

    @property
    def spread(self) -> Claim | TooFew:
        """The claim that decides."""
        return self.claims["spread"]

    @property
    def direction(self) -> Direction:
        """What it says of the spread."""
        return direction(self.spread)

    @property
    def refuted(self) -> bool:
        """A fall of the spread that matters is excluded."""
        return isinstance(self.spread, Claim) and self.spread.refuted

    def shown(self, measure: Measure) -> str:
        """Write a ratio, with the interval of its claim where there is one."""
        claim = self.claims[measure]
        if isinstance(claim, Claim):
            return interval(claim)
        plain = next((one.value for one in self.described.ratios if one.statistic == measure), None)
        return "unknown" if plain is None else f"{plain:.3g}"


def direction(claim: Claim | TooFew) -> Direction:
    """What a claim says; too few units say nothing."""
    return claim.direction if isinstance(claim, Claim) else "undecided"


def below(claim: Claim | TooFew, bound: float) -> bool:
    """Tell whether the whole interval lies below a bound."""
    return isinstance(claim, Claim) and claim.high is not None and claim.high < bound


def claimed(ratio: BootstrapRatio, comparison: Comparison) -> Claim | None:
    """Give the claim of a ratio that is described; None where there is none."""
    found = next((claim for measure, claim in comparison.claims.items() if measure == ratio.statistic), None)
    return found if isinstance(found, Claim) else None


def arms_of(pairs: PairedOutcomes, left: float = 1.0, unit: Literal["run", "block"] = "run") -> Arms:
    """Take pairs that were made in random order."""
    return Arms(pairs.baseline, pairs.other, whole=pairs.whole, hosts=pairs.hosts, unit=unit, left=left)


def compared(
    arms: Mapping[str, Arms], *, lower_is_better: bool = True, alpha: float = 0.05, seed: int = 0
) -> dict[str, Comparison]:
    """Describe every pair of arms, and make one family of claims for each measure."""
    found = {measure: claims(arms, measure, alpha=alpha, seed=seed) for measure in MEASURES}
    return {
        name: Comparison(
            described=describe_arms(
                one.baseline,
                one.other,
                paired=one.paired,
                lower_is_better=lower_is_better,
                seed=seed,
                whole=one.whole,
                unit=one.unit,
                hosts=one.hosts,
            ),
            claims={measure: found[measure][name] for measure in MEASURES},
        )
        for name, one in arms.items()
    }
