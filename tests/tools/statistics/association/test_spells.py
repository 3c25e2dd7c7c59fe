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


def test_what_tells_less_of_a_spell_comes_after_what_tells_more(draws: Draws) -> None:
    beside = 0
    for seed in range(draws(FEW, MANY)):
        found = visited(seed, 75 if seed % 2 else 20)
        visible = {factor.name: factor for factor in found.factors if factor.visible}
        if "moves" not in visible:
            continue
        assert next(iter(visible)) == "wait", f"seed {seed}"
        assert visible["moves"].independent is False, f"seed {seed}"
        beside += 1
    assert beside, "no draw shows it"


def in_spells(seed: int, runs: int, period: int) -> Association:
    """Two fifths of each period are slow by what one column tells best, and all columns are measured with noise."""
    rng = np.random.default_rng(seed)
    here = (np.arange(runs) + rng.integers(period)) % period < 0.4 * period
    load = here * rng.uniform(0.7, 1.3, runs)
    told = (
        np.exp(1.5 * load + 0.3 * rng.normal(size=runs)),
        rng.poisson(1 + 3 * here),
        rng.random(runs) < np.where(here, 0.6, 0.05),
    )
    noise = rng.normal(size=(runs, 20))
    time = 10 + 6 * load + rng.gamma(2, 0.5, runs)
    columns = Columns(
        ("load", "count", "moved", *(f"n{place}" for place in range(20))), np.column_stack((*told, noise))
    )
    return associate(columns, time > 12.5, time, per=time, permutations=400, seed=seed, explain=False)


def test_no_weaker_column_is_claimed_where_the_one_that_makes_the_spells_is_set_aside(draws: Draws) -> None:
    """Both have noise of their own, so that each tells a little beside the other."""
    set_aside = 0
    for seed in range(20, 20 + draws(8, 20)):
        for runs, period in ((100, 25), (60, 30)):
            found = in_spells(seed, runs, period)
            if "load" in found.set_aside:
                assert not any(factor.visible for factor in found.factors), f"seed {seed}"
                set_aside += any("tells nothing sure beside load" in why for why in found.set_aside.values())
    assert set_aside, "no draw shows it"


def test_one_or_two_runs_make_no_pair(draws: Draws) -> None:
    pairs = [pair for seed in range(draws(FEW, MANY)) for pair in visited(seed).interactions]
    assert all(min(pair.runs) >= 5 for pair in pairs)
    assert len(pairs) <= 2
