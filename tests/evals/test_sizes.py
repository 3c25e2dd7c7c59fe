"""A recording is scaled down to the minutes that there are, or refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.evals.recorded.recording_plan import FLOOR, Sizes, fitted, words
from vgo_agent.knowledge.errors import VgoError

USUAL = Sizes(400, 400)
RUN_S = st.floats(0.01, 10)
MITIGATIONS = st.integers(0, 40)


@given(st.floats(0.1, 1000), RUN_S, MITIGATIONS)
def test_it_never_takes_longer_and_never_grows(minutes: float, run_s: float, mitigations: int) -> None:
    try:
        sizes = fitted(USUAL, minutes, run_s, mitigations, refuse=True)
    except VgoError as refused:
        assert f"--minutes {minutes:g}" in str(refused)
        return
    assert sizes.minutes(run_s, mitigations) <= minutes * 1.02  # whole runs
    assert sizes.runs <= USUAL.runs and FLOOR <= sizes.pairs <= USUAL.pairs


@given(RUN_S, MITIGATIONS)
def test_what_fits_stays_as_it_was(run_s: float, mitigations: int) -> None:
    enough = USUAL.minutes(run_s, mitigations)
    assert fitted(USUAL, enough, run_s, mitigations, refuse=True) == USUAL


def test_once_it_has_begun_it_goes_on_with_the_least() -> None:
    with pytest.raises(VgoError, match="fewer show nothing"):
        fitted(USUAL, 1, 1.0, 8, refuse=True)
    assert fitted(USUAL, 1, 1.0, 8, refuse=False) == Sizes(54, FLOOR)


def test_it_says_how_long_it_takes_and_what_it_can_show() -> None:
    said = words(Sizes(54, 80), 1.0, 8)
    assert (
        "About 23.5 minutes at 1 s a run: 54 runs" in said and "40 pairs a batch" in said and "below about 0.73" in said
    )
