"""What is split stands for the outcome, or nothing is concluded from it."""

import numpy as np
import pytest

from vgo_agent.tools.ledger.ledger import ledger_of
from vgo_agent.tools.run_table import read_runs, write_runs
from vgo_agent.tools.subject import Subject

RUNS = 40


def table(outcome_s, wall_s, asleep_s):
    """Runs whose whole time a ledger has split into sleep and the rest, on a CPU."""
    rows = [
        {
            **{"order": place, "condition": "baseline", "pair": -1, "ok": 1, "exit_code": 0, "survivors": 0},
            **{"outcome": outcome_s[place], "wall_s": wall_s[place], "layers": "ledger", "failure": ""},
            "ledger.blocked_ms": 1e3 * asleep_s[place],
            "ledger.on_cpu_ms": 1e3 * (wall_s[place] - asleep_s[place]),
        }
        for place in range(RUNS)
    ]
    return read_runs(write_runs(rows), "t.csv")


@pytest.mark.parametrize("set_up_goes_with_it", [False, True])
def test_a_whole_run_stands_for_the_part_that_a_metric_times_only_if_it_follows_it(set_up_goes_with_it):
    chance = np.random.default_rng(3)
    asleep = 0.05 * (chance.random(RUNS) < 0.4)
    timed = 0.02 + asleep + chance.normal(0, 0.0005, RUNS)
    beside = 0.1 + (2 * asleep if set_up_goes_with_it else chance.normal(0, 0.0005, RUNS))
    subject = Subject(command=("x",), argv=("x",), directory="/", metric="t ([0-9.]+)", unit="s")
    found = ledger_of(table(timed, timed + beside, asleep), subject, seed=1)
    assert found is not None and found.whole
    assert found.fits != set_up_goes_with_it
    assert [one.state for one in found.material] == ([] if set_up_goes_with_it else ["blocked"])
