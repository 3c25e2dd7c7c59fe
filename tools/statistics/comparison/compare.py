"""Did the mitigation make the runs steadier? Two paired arms, judged on spread, with the mean beside it."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ....knowledge.errors import VgoError
from ..shape.describe import describe
from ..values import FloatArray, Result
from .bootstrap import Ratio as Ratio
from .bootstrap import Statistic, ratios
from .permutation import SpreadTest, location_test, spread_tests
from .permutation import holm as holm

Verdict = Literal["steadier", "less steady", "no difference shown", "cannot tell"]
LEAST_PAIRS = 10


class Comparison(Result):
    """Two arms of pairs."""

    n: int
    """Pairs used."""
    dropped: int
    """Pairs left out because a value was not finite."""
    ratios: tuple[Ratio, ...]
    p_value: float
    """Of a difference in spread: the lesser of the two adjusted p-values."""
    tests: tuple[SpreadTest, ...]
    p_location: float
    """Of a difference in mean; it never decides the verdict."""
    modes_baseline: int
    modes_mitigated: int
    verdict: Verdict
    """cannot tell: too few pairs, a clock as coarse as the spread, or two tests that contradict each other."""

    def ratio(self, statistic: Statistic) -> Ratio:
        """Pick one ratio."""
        return next(ratio for ratio in self.ratios if ratio.statistic == statistic)


def compare(
    baseline: ArrayLike, mitigated: ArrayLike, seed: int = 0, resamples: int = 2000, alpha: float = 0.05
) -> Comparison:
    """Compare paired arms: run i of one was made next to run i of the other, in random order.

    Arms measured one after the other differ "significantly" in 10 to 40 % of cases where nothing differs.
    """
    x, y, dropped = _pairs(baseline, mitigated)
    tests = spread_tests(x, y, seed, resamples)
    shapes = describe(x), describe(y)
    coarse = any(shape.clock_too_coarse for shape in shapes)
    return Comparison(
        n=x.size,
        dropped=dropped,
        ratios=ratios(x, y, seed, resamples),
        p_value=min(test.adjusted for test in tests),
        tests=tests,
        p_location=location_test(x, y, seed, resamples),
        modes_baseline=len(shapes[0].modes),
        modes_mitigated=len(shapes[1].modes),
        verdict="cannot tell" if x.size < LEAST_PAIRS or coarse else _verdict(tests, alpha),
    )


def _pairs(baseline: ArrayLike, mitigated: ArrayLike) -> tuple[FloatArray, FloatArray, int]:
    x = np.asarray(baseline, dtype=np.float64).ravel()
    y = np.asarray(mitigated, dtype=np.float64).ravel()
    if x.size != y.size:
        raise VgoError(f"The arms have {x.size} and {y.size} runs, so they are not pairs: give as many of each.")
    whole = np.isfinite(x) & np.isfinite(y)
    if whole.sum() < 2:
        raise VgoError("Fewer than two pairs of runs are complete: measure more pairs.")
    return x[whole], y[whole], int((~whole).sum())


def _verdict(tests: tuple[SpreadTest, ...], alpha: float) -> Verdict:
    shown = [test.log_ratio for test in tests if test.adjusted < alpha]
    if not shown:
        return "no difference shown"
    if min(shown) < 0 < max(shown):
        return "cannot tell"
    return "steadier" if shown[0] < 0 else "less steady"
