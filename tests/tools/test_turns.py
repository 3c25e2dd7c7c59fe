"""The order of runs: each pair in random order, or blocks in turns, and what is judged then."""

from __future__ import annotations

import random
from collections import Counter
from itertools import groupby
from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.experiment.schedules import BLOCKS, Crossover, block_of, pairs_in
from vgo_agent.tools.row import BASELINE, Row
from vgo_agent.tools.run_table import read_runs, write_runs
from vgo_agent.tools.statistics.comparison.description import describe_arms

BOTH = (BASELINE, "other")


class Turn(NamedTuple):
    """One run."""

    pair: int
    condition: str


def planned(pairs: int, interleavable: bool, seed: int = 0) -> tuple[int, list[Turn]]:
    block = block_of(pairs, interleavable)
    blocks = Crossover(BOTH, pairs, seed, block).blocks(list)
    return block, [Turn(one.pair(place), condition) for one in blocks for place, condition in enumerate(one.order)]


@settings(deadline=None)
@given(st.integers(2, 400), st.booleans(), st.integers(0, 99))
def test_every_pair_runs_once_under_each_condition(pairs: int, interleavable: bool, seed: int) -> None:
    block, order = planned(pairs, interleavable, seed)
    assert Counter(order) == Counter(Turn(pair, one) for pair in range(pairs_in(pairs, block)) for one in BOTH)
    assert pairs_in(pairs, block) > pairs - 2 * block


@settings(deadline=None)
@given(st.integers(2 * BLOCKS, 400), st.integers(0, 99))
def test_blocks_take_turns_so_that_both_orders_come_equally_often(pairs: int, seed: int) -> None:
    block, order = planned(pairs, interleavable=False, seed=seed)
    firsts = [order[2 * start].condition for start in range(0, len(order) // 2, block)]
    assert len(firsts) >= BLOCKS
    assert firsts.count(BASELINE) == len(firsts) / 2
    assert all(a != b for a, b in zip(firsts[::2], firsts[1::2], strict=True))
    switches = len(list(groupby(order, key=lambda turn: turn.condition))) - 1
    assert switches <= len(firsts) / 2 * 3


def test_what_is_interleavable_is_ordered_by_the_coin_alone() -> None:
    _, order = planned(50, interleavable=True, seed=3)
    coin = random.Random(3)
    assert order == [Turn(pair, one) for pair in range(50) for one in coin.sample(BOTH, 2)]


def row(order: int, turn: Turn, outcome: float, ok: int = 1) -> Row:
    fixed = {"exit_code": 0, "survivors": 0, "wall_s": 1.0, "layers": ""}
    return {"order": order, "condition": turn.condition, "pair": turn.pair, "ok": ok, "outcome": outcome, **fixed}


def test_blocks_are_cut_to_the_length_of_the_shortest() -> None:
    _, order = planned(60, interleavable=False)
    rows = [row(at, turn, float(turn.pair), int(turn != Turn(4, "other"))) for at, turn in enumerate(order)]
    pairs = read_runs(write_runs(rows), "a table").paired("other", block=3)
    assert pairs.whole == 2
    assert len(pairs.baseline) == 40
    assert list(pairs.baseline[:6]) == [0, 1, 3, 5, 6, 7]


def test_blocks_are_exchanged_and_resampled_whole() -> None:
    """Also where runs of a block look independent; and so many blocks are enough for an interval, so for a claim."""
    rng = np.random.default_rng(1)
    block, order = planned(60, interleavable=False)
    rows = [row(at, turn, 10 + rng.normal()) for at, turn in enumerate(order)]
    x, y, whole, _ = read_runs(write_runs(rows), "a table").paired("other", block=block)
    found = describe_arms(x, y, seed=1, resamples=200, whole=whole, unit="block")
    assert (whole, found.block % block) == (block, 0)
    assert "took turns in blocks of 3" in " ".join(found.notes)
    assert found.ratio("sd").high is not None
