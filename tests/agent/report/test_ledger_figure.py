"""The pictures of a ledger hold whatever the runs are, and their bars are as long as the time that they show."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from vgo_agent.agent.report.ledger_figure import WIDTH, ledger_bars, ledger_picture
from vgo_agent.knowledge.time_states import TimeState
from vgo_agent.tools.ledger.shares import shares, slow_runs
from vgo_agent.tools.ledger.split import SplitRuns


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32), st.integers(10, 40), st.integers(1, 9))
def test_bars_are_as_long_as_the_time(seed, runs, states):
    chance = np.random.default_rng(seed)
    split = {name.value: chance.lognormal(0, 1, runs) for name in list(TimeState)[:states]}
    time = np.sum(list(split.values()), axis=0)
    split_of = SplitRuns(time, split, (), whole=True, fits=True, left_out=0)
    divided = shares(time, split, seed=1)
    assume(divided is not None)
    assert divided is not None
    fast, slow = (line.split()[1] for line in ledger_bars(split_of, divided).splitlines()[:2])
    rows, _ = slow_runs(time)
    assert abs(len(slow) - WIDTH) <= 1
    assert abs(len(fast) - WIDTH * time[~rows].mean() / time[rows].mean()) <= 1
    assert ledger_picture(split_of, divided).startswith("<svg role")
