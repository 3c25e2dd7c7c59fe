"""Several arms against one baseline: which are worth a second look, and which may be claimed."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import ArrayLike
from scipy.stats import false_discovery_control

from ..values import Result
from .compare import Comparison, Verdict, compare
from .permutation import holm


class Screened(Result):
    """One arm of several."""

    name: str
    comparison: Comparison
    q_value: float
    """By Benjamini and Hochberg 1995: of the arms with no greater one, at most this share is expected to be luck."""
    promising: bool
    """Differs in spread, as far as screening goes: measure it again before a claim."""
    p_adjusted: float
    """By Holm over all arms."""
    claim: Verdict
    """The verdict that holds although so many arms were tried."""


def screen(
    baseline: ArrayLike,
    others: Mapping[str, ArrayLike],
    *,
    paired: bool = True,
    lower_is_better: bool = True,
    seed: int = 0,
    resamples: int = 2000,
    alpha: float = 0.05,
    ordered: bool = True,
) -> tuple[Screened, ...]:
    """Compare each arm, by name, with the baseline as `compare` does, and pay for their number."""
    found = {
        name: compare(
            baseline,
            other,
            paired=paired,
            lower_is_better=lower_is_better,
            seed=seed,
            resamples=resamples,
            alpha=alpha,
            ordered=ordered,
        )
        for name, other in others.items()
    }
    return adjusted(found, alpha)


def adjusted(comparisons: Mapping[str, Comparison], alpha: float = 0.05) -> tuple[Screened, ...]:
    """Pay for the number of comparisons that were made with one alpha."""
    p_values = [comparison.p_value for comparison in comparisons.values()]
    q_values = false_discovery_control(p_values).tolist() if p_values else []
    return tuple(
        Screened(
            name=name,
            comparison=one,
            q_value=q,
            promising=one.verdict in ("steadier", "less steady") and q < alpha,
            p_adjusted=p,
            claim=_claim(one.verdict, p, alpha),
        )
        for (name, one), q, p in zip(comparisons.items(), q_values, holm(p_values), strict=True)
    )


def _claim(verdict: Verdict, p: float, alpha: float) -> Verdict:
    return "no difference shown" if verdict in ("steadier", "less steady") and p >= alpha else verdict
