"""A profile of several hosts: runs are labelled about the level of their host, which differs by a factor."""

import numpy as np
import pytest

from vgo_agent.layers.schema import Layer
from vgo_agent.tools.findings import Findings
from vgo_agent.tools.hosts import FLEET
from vgo_agent.tools.profiled import profiled
from vgo_agent.tools.results import LabelResult

from .profiles import Profiled, layer

LAYERS: dict[str, Layer] = {"process": layer("process", ["faults"]), "fleet": FLEET}


def made(factor: float) -> Profiled:
    """Every third run of either host takes half as long again; the second host is slower by a factor."""
    chance = np.random.default_rng(1)
    runs = []
    for place in range(120):
        slow, host = place % 6 < 2, place % 2
        outcome = (1.5 if slow else 1.0) * (factor if host else 1.0) * float(chance.normal(1, 0.01))
        cells = {"faults": 100 + 50 * slow, "host": f"h{host}", "slot": 0, "machine": "m", "began_s": float(place)}
        runs.append((("process", "fleet"), outcome, cells))
    one = Profiled(LAYERS)
    one.profile(runs)
    return one


@pytest.mark.parametrize("factor", [1.0, 5.0, 100.0])
def test_a_slower_host_has_its_slow_runs_where_the_other_has(factor):
    one = made(factor)
    runs = profiled(Findings(one.record))
    assert runs.of_hosts and runs.outcome.min() > 0
    alike = profiled(Findings(made(1.0).record)).outcome
    np.testing.assert_allclose(runs.outcome / np.median(runs.outcome), alike / np.median(alike), rtol=0.05)
    labelled = one.call("label")
    assert isinstance(labelled, LabelResult)
    assert [bool(mark) for mark in labelled.classes.slow] == [place % 6 < 2 for place in range(120)]
