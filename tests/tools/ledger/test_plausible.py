"""A counter is no cause where it cannot fill the time that slow runs spend more in the states it acts on."""

import numpy as np
import pytest

from vgo_agent.knowledge.time_states import TimeState
from vgo_agent.layers.probes.region import FoundBy
from vgo_agent.layers.schema import Column
from vgo_agent.tools.ledger.ledger import ledger_of_split
from vgo_agent.tools.ledger.split import SplitRuns
from vgo_agent.tools.ranking import elsewhere

RUNS = 40
SLOW = np.arange(RUNS) % 2 == 1


def ledger(**more_ms):
    """Runs of 50 ms in the program, of which the slow ones take so much more in each state."""
    chance = np.random.default_rng(1)
    states = {name: chance.normal(10, 0.1, RUNS) + more * SLOW for name, more in more_ms.items()}
    states = {**states, "user": states.get("user", 0) + chance.normal(40, 0.1, RUNS)}
    made = ledger_of_split(
        "stacks", SplitRuns(sum(states.values()), states, (), FoundBy.CLOCK, True, 0, (), ()), seed=1
    )
    assert made is not None
    return made


def column(**more):
    return Column.model_validate({"name": "c", "description": "C.", "unit": "count", "source": "x", **more})


@pytest.mark.parametrize(
    ("its", "fast", "more", "cause"),
    [
        ({}, 1000, 500, True),  # half as many again, beside twice the time
        ({}, 2500, 3, False),
        ({}, 0, 400, True),
        ({"most_us": 5}, 0, 4, False),  # 20 us beside 10 ms
        ({"unit": "ms"}, 3, 9, True),
        ({"unit": "ms"}, 3, 0.2, False),
        ({"unit": "us"}, 0, 9000, True),
        ({"unit": "C", "level": True}, 60, 1, True),  # neither counts nor times: nothing is known
        ({"unit": "1/s", "rate": True}, 60, 1, True),
        ({"counts_waits": True}, 0, 4000, False),
    ],
)
def test_a_counter_has_to_move_as_its_states_do(its, fast, more, cause):
    why = elsewhere(ledger(page_fault=10.0), (TimeState.PAGE_FAULT,), column(**its), fast + more * SLOW, SLOW)
    assert (why == "") == cause
    assert cause or "of the 10" in why or "off a CPU" in why


def test_a_factor_of_other_states_is_elsewhere():
    why = elsewhere(ledger(page_fault=10.0), (TimeState.DISK,), column(), 100.0 * SLOW, SLOW)
    assert why.startswith("what it acts on holds 0 of ")
