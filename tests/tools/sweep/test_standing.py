"""Where a cell stands: enough, not enough, or given up."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.sweep.cell import given_up, look_due, standing
from vgo_agent.tools.sweep.space import Repetitions

ASKED = Repetitions(least=5, most=60, within=1.3)


def rows(outcomes, reason="it exited with 1", begun=1):
    """One row a run; None is a run that failed."""
    return [
        {"ok": int(one is not None), "outcome": one, "begun": begun, "reason": "" if one is not None else reason}
        for one in outcomes
    ]


def normal(runs):
    return list(np.random.default_rng(1).normal(100, 5, runs))


def test_it_goes_on_until_the_sd_is_known_and_then_stops():
    asked, drawn = ASKED.model_copy(update={"most": 200}), normal(200)
    looks = [runs for runs in range(1, 201) if look_due(runs, asked)]
    at = next(runs for runs in looks if standing(rows(drawn[:runs])).enough(asked))
    stands = standing(rows(drawn[:at]))
    assert 10 < at < 200
    assert stands.enough(ASKED) and stands.known is not None and stands.known <= 1.3


def test_equal_runs_are_enough_at_the_least_number():
    assert not look_due(4, ASKED) and look_due(5, ASKED)
    assert not standing(rows([7.0] * 4)).enough(ASKED)
    assert standing(rows([7.0] * 5)).enough(ASKED)


def test_few_runs_that_scatter_leave_little_known():
    assert not standing(rows(normal(6))).enough(Repetitions(least=5, most=6))


@pytest.mark.parametrize(
    ("outcomes", "why"),
    [
        ([], ""),
        ([None, None], ""),
        ([None, None, None], "3 of 3 runs failed, the last because it exited with 1"),
        ([1.0, None, None], ""),
        ([1.0, None, None, 2.0, None], "3 of 5 runs failed, the last because it exited with 1"),
        ([1.0, 2.0, None, None, 3.0], ""),
    ],
)
def test_a_cell_whose_runs_fail_is_given_up(outcomes, why):
    assert given_up(rows(outcomes)) == why


def test_what_cannot_be_begun_is_given_up_at_once():
    assert given_up(rows([None], "there is no CPU 9", begun=0)) == "there is no CPU 9"


@settings(deadline=None)
@given(st.lists(st.none() | st.floats(1, 1e6), max_size=20), st.floats(0.001, 1000))
def test_another_unit_changes_nothing_but_the_numbers(outcomes, factor):
    scaled = [None if one is None else one * factor for one in outcomes]
    one, other = standing(rows(outcomes)), standing(rows(scaled))
    assert (one.runs, one.failed, one.reason) == (other.runs, other.failed, other.reason)
    if one.summary and other.summary:
        assert other.summary.mean == pytest.approx(one.summary.mean * factor)
