"""Waiting behind one's own threads is oversubscription only where it is no consequence of their having run longer."""

import numpy as np
import pytest

from vgo_agent.knowledge.loader import load
from vgo_agent.knowledge.time_states import TimeState
from vgo_agent.layers.probes.opened import OpenedPart, OpenedRun
from vgo_agent.layers.probes.region import FoundBy
from vgo_agent.tools.ledger.ledger import ledger_of_split
from vgo_agent.tools.ledger.split import SplitRuns

RUNS = 60
SLOW = np.arange(RUNS) % 3 == 0


@pytest.mark.parametrize(
    ("more_own_ms", "more_tasks", "factor"),
    [
        (0.0, 0, "thread_oversubscription"),  # the same work stands in its own way
        (20.0, 0, None),  # its tasks ran longer, and whoever waits for them waits longer
        (20.0, 4, "thread_oversubscription"),  # since there are more of them
    ],
)
def test_a_queue_behind_oneself_is_weighed_against_the_work(more_own_ms, more_tasks, factor):
    chance = np.random.default_rng(1)
    queue, user = 10 + chance.normal(0, 0.5, RUNS) + 20 * SLOW, 40 + chance.normal(0, 0.5, RUNS)
    own = 80 + chance.normal(0, 0.5, RUNS) + more_own_ms * SLOW
    runs = tuple(
        OpenedRun(
            (
                OpenedPart(
                    TimeState.QUEUE_OWN,
                    TimeState.CHILD,
                    "behind p (child)",
                    "p waits in wait4 for p (child)",
                    ms,
                    3,
                    (ms,),
                ),
            ),
            (),
            {},
            4 + more_tasks * bool(slow),
            0,
            own_ms=ran,
        )
        for ms, slow, ran in zip(queue.tolist(), SLOW, own.tolist(), strict=True)
    )
    split = SplitRuns(queue + user, {"queue_own": queue, "user": user}, runs, FoundBy.RUN, True, 0)
    made = ledger_of_split("stacks", split, 1, load().factors.values())
    assert made is not None
    found = made.cause_of("queue_own")
    assert found is not None and found.gap_ms == pytest.approx(20, abs=1)
    assert (found.recognised and found.recognised.factor) == factor
