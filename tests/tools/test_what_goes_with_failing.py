"""Failed runs are held against the others: what goes with failing is found, and what only goes with stopping is not."""

from __future__ import annotations

import numpy as np
import pytest

from .conftest import Draws
from .levels import most
from .profiles import Profiled, layer

BEGINNING, WHOLE, END = ("b1", "b2", "b3"), ("w1", "w2", "w3", "w4", "w5"), ("e1", "e2")
"""What a run counts as it begins, all along, and only where it comes to its end."""
RARE = ("r1", "r2", "r3", "r4")
NAMES = (*BEGINNING, *WHOLE, *END, *RARE)
LAYERS = {"process": layer("process", [*NAMES, "cause"])}


def failing(seed: int, longer: float = 1.0, cause: bool = False, runs: int = 100) -> Profiled:
    """Runs of which 25 % fail by luck, after `longer` times the usual time."""
    rng = np.random.default_rng(seed)
    failed = np.flatnonzero(rng.random(runs) < 0.25).tolist()
    made = Profiled(LAYERS)

    def one(place: int) -> tuple[tuple[str, ...], float, dict[str, float]]:
        wall_s = rng.lognormal(0, 0.05) * (0.2 * longer if place in failed else 0.2)
        means = dict.fromkeys(BEGINNING, 30.0) | dict.fromkeys(WHOLE, 300 * wall_s)
        means |= dict.fromkeys(END, 1.0 if longer < 1 and place in failed else 30.0)
        means |= dict.fromkeys(RARE, wall_s)
        means["cause"] = 60.0 if cause and place in failed else 20.0
        return ("process",), wall_s, {name: float(rng.poisson(mean)) for name, mean in means.items()}

    made.profile([one(place) for place in range(runs)], failed=failed)
    return made


@pytest.mark.parametrize("longer", [1.0, 0.3, 4.0])
def test_random_failing_goes_with_nothing_however_long_a_failed_run_takes(longer: float, draws: Draws):
    found = [failing(seed, longer).ranked().failing for seed in range(draws(8, 20))]
    claimed = [one for one in found if one is None or one.factors]
    assert len(claimed) <= most(len(found), 0.05), claimed


@pytest.mark.parametrize("longer", [1.0, 0.3])
def test_what_makes_runs_fail_is_named_with_its_effect(longer: float):
    found = failing(7, longer, cause=True).ranked().failing
    assert found is not None and (found.runs, found.failed) == (100, 28)
    (factor,) = found.factors
    assert factor.column == "cause" and factor.p_value < 0.01
    assert factor.auc_low is not None and factor.auc_low > 0.8


def test_too_few_failed_runs_are_not_asked_and_leave_no_field():
    made = failing(1)
    made.calls.clear()
    cells = [dict.fromkeys([*NAMES, "cause"], float(place % 7)) for place in range(60)]
    made.profile([(("process",), 0.2 + 0.001 * place, cells[place]) for place in range(60)], failed=(3, 9, 20, 40))
    assert "failing" not in made.ranked().model_dump(mode="json")
