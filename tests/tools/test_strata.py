"""Laws of claims over cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.claim import Arms, Claim, TooFew
from vgo_agent.tools.comparison import combined, fewest_cells, stratified

seeds = st.integers(0, 2**16)


def cells(seed: int, count: int, ratio: float, apart: float = 0.3, runs: int = 40) -> dict[str, Arms]:
    """Cells whose ratios lie around one, symmetrically on the log scale."""
    rng = np.random.default_rng(seed)
    factors = ratio * np.exp(apart * rng.normal(size=count))
    return {f"c{place}": Arms(rng.normal(size=runs), f * rng.normal(size=runs)) for place, f in enumerate(factors)}


@given(seeds, st.integers(6, 20), st.floats(0.2, 5))
@settings(deadline=None, derandomize=True)
def test_the_interval_is_the_inverted_test_and_swapped_arms_invert_it(seed: int, count: int, ratio: float) -> None:
    arms = cells(seed, count, ratio)
    together = stratified(arms).together
    assert isinstance(together, Claim) and together.high is not None
    assert (together.p_value <= 0.05) == (together.direction in ("less", "more"))
    swapped = stratified({name: Arms(one.other, one.baseline) for name, one in arms.items()}).together
    assert isinstance(swapped, Claim) and swapped.ratio and together.ratio and together.low
    assert swapped.ratio == pytest.approx(1 / together.ratio)
    assert (swapped.low, swapped.high) == pytest.approx((1 / together.high, 1 / together.low))


@pytest.mark.cells(3)
@pytest.mark.parametrize("count", [6, 10, 16])
@pytest.mark.parametrize("law", ["normal", "laplace", "uniform"])
def test_where_cells_differ_to_both_sides_alike_few_samples_claim_anything(count: int, law: str) -> None:
    rng = np.random.default_rng(7)
    logs = np.array([getattr(rng, law)(size=count) for _ in range(400)])
    logs -= 0.5 * (law == "uniform")
    found = [combined(np.exp(one), "spread", 0.05, 1) for one in logs]
    wrong = sum(isinstance(one, Claim) and one.direction in ("less", "more") for one in found)
    assert 0.015 <= wrong / 400 <= 0.08  # .05, and three standard errors


def test_few_cells_are_not_taken_together_and_those_without_runs_are_told() -> None:
    short = Arms(np.arange(5.0), np.arange(5.0))
    found = stratified({**cells(1, 5, 0.5), "short": short})
    assert found.together == TooFew(
        units=(5, 5), why="only 5 cells have a ratio, and fewer than 6 could all fall on one side by luck"
    )
    assert isinstance(found.cells["short"], TooFew)


@pytest.mark.parametrize("alpha", [0.05, 0.025, 0.001])
def test_as_many_cells_as_are_asked_for_can_claim_and_one_fewer_cannot(alpha: float) -> None:
    enough = fewest_cells(alpha)
    found = combined(np.full(enough, 0.5), "spread", alpha, 1)
    assert isinstance(found, Claim) and found.direction == "less" and found.high is not None
    assert isinstance(combined(np.full(enough - 1, 0.5), "spread", alpha, 1), TooFew)


def test_cells_that_claim_opposite_things_disagree() -> None:
    both = {**cells(1, 6, 0.3, 0.05), "other": cells(2, 1, 4.0, 0.05)["c0"]}
    found = stratified(both)
    assert found.disagree and found.of("more") == ("other",) and len(found.of("less")) == 6
    assert not stratified(cells(1, 6, 0.3, 0.05)).disagree
