"""A neighbour that comes and goes: one event, however many runs it slows, and however many counters it moves."""

from __future__ import annotations

import numpy as np

from vgo_agent.tools.statistics.association.factors import Association, Columns, associate

from ...conftest import Draws

FEW, MANY = 12, 30
NAMES = ("wait", "moves", "rare", "others")


def visited(seed: int, period: int = 75) -> Association:
    """A hundred runs of which a visitor slows two fifths in a row; it also moves some of them to another CPU."""
    rng = np.random.default_rng(seed)
    here = (np.arange(100) + rng.integers(period)) % period < 0.4 * period
    wait = 0.4 + 8 * here * rng.uniform(0.9, 1.1, 100) + rng.gamma(2, 0.1, 100)
    moves = rng.random(100) < np.where(here, 0.65, 0.05)
    rare = rng.random(100) < 0.03
    columns = np.column_stack((wait, moves, rare, rng.integers(5, size=100))).astype(np.float64)
    time = 18 + wait + rng.gamma(2, 0.2, 100)
    return associate(Columns(NAMES, columns), here, time, per=time, permutations=400, seed=seed)


def test_what_tells_less_of_a_spell_is_no_cause_where_what_tells_more_is_none(draws: Draws) -> None:
    set_aside, beside = 0, 0
    for seed in range(draws(FEW, MANY)):
        found = visited(seed, 75 if seed % 2 else 20)
        visible = {factor.name: factor for factor in found.factors if factor.visible}
        if "moves" not in visible:
            set_aside += "tells nothing beside wait" in found.set_aside.get("moves", "")
            continue
        assert "wait" in visible, f"seed {seed}"
        assert next(iter(visible)) == "wait", f"seed {seed}"
        assert visible["moves"].independent is False, f"seed {seed}"
        beside += 1
    assert set_aside, "no draw shows the first case"
    assert beside, "no draw shows the second"


def test_one_or_two_runs_make_no_pair(draws: Draws) -> None:
    pairs = [pair for seed in range(draws(FEW, MANY)) for pair in visited(seed).interactions]
    assert all(min(pair.runs) >= 5 for pair in pairs)
    assert len(pairs) <= 2
