"""The order of the runs is a factor only where the baseline drifts, too: a spell of the machine is not one."""

import numpy as np
import pytest

from vgo_agent.tools.rank_factors import SPELL

from .profiles import Profiled, layer

LAYERS = {"process": layer("process", ["faults"])}


def drifting(seed, slope, runs=150):
    """Runs of 0.2 s with an SD of 0.01 s that change by `slope` seconds from the first to the last."""
    rng = np.random.default_rng(seed)
    return 0.2 + slope * np.linspace(0, 1, runs) + rng.normal(0, 0.01, runs)


def ranked(baseline, profiled, seed=1):
    rng = np.random.default_rng(100 + seed)
    made = Profiled(LAYERS)
    made.measure(list(baseline))
    made.profile([(("process",), value, {"faults": float(rng.integers(50, 90))}) for value in profiled])
    return made.ranked()


@pytest.mark.parametrize("slope", [0.03, -0.03])
def test_a_drift_of_both_series_is_a_factor(slope):
    found = ranked(drifting(1, slope), drifting(2, slope))
    assert found.visible and found.factors[0].column == "run_index"
    assert SPELL not in found.warnings


@pytest.mark.parametrize("slope", [0.0, -0.03], ids=["level", "the other way"])
def test_a_drift_of_one_series_is_told_and_is_none(slope):
    found = ranked(drifting(3, slope), drifting(4, 0.03))
    order = next(factor for factor in found.factors if factor.column == "run_index")
    assert not found.visible and order.p_value > 0.05 and SPELL in found.warnings


def test_where_nothing_drifts_nothing_is_told():
    found = ranked(drifting(5, 0.0), drifting(6, 0.0))
    assert not found.visible and SPELL not in found.warnings


def test_a_baseline_that_does_not_vary_confirms_nothing():
    found = ranked([0.2] * 50, drifting(7, 0.03))
    assert not found.visible and SPELL in found.warnings


def test_without_a_baseline_nothing_speaks_against_a_drift():
    rng = np.random.default_rng(8)
    made = Profiled(LAYERS)
    made.profile([(("process",), value, {"faults": float(rng.integers(50, 90))}) for value in drifting(9, 0.03)])
    assert made.ranked().visible
