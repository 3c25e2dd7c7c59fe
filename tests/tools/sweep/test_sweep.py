"""The walk through a space: rounds, blocks, budgets, and going on; with an executor that runs nothing."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vgo_agent.tools.execution.expected import NEVER, Deadline
from vgo_agent.tools.execution.row_log import ProgressEvent, RowsInMemory
from vgo_agent.tools.execution.series import BARRIER, LOCAL, Block, Series
from vgo_agent.tools.row import Row
from vgo_agent.tools.sweep.cell import Cell
from vgo_agent.tools.sweep.cell_runs import refused
from vgo_agent.tools.sweep.space import Space
from vgo_agent.tools.sweep.sweep import Sweep


@dataclass
class Decreed:
    """Gives runs by decree: 10 a + n mod 3 for the n-th run of a cell; one of `forbidden` cannot begin."""

    forbidden: frozenset[int] = frozenset()
    ran: Counter[str] = field(default_factory=Counter)

    def run(self, cell: Cell) -> Row:
        a = int(cell.values["a"])
        if a in self.forbidden:
            return refused("no such CPU")
        self.ran[cell.id] += 1
        outcome = 10.0 * a + self.ran[cell.id] % 3
        return {**refused(""), "ok": 1, "begun": 1, "exit_code": 0, "outcome": outcome, "wall_s": 0.25}


@dataclass(frozen=True)
class DecreedConditions:
    """Cells as conditions whose runs are decreed."""

    decreed: Decreed
    cell: Callable[[str], Cell]

    def run(self, series: Series, key: str, pair: int) -> None:
        row = self.decreed.run(self.cell(key))
        series.log.append({"order": len(series.rows), "condition": key, "pair": pair, **row})

    def shown(self, series: Series, key: str) -> tuple[str, str]:
        return key, ""


def space(levels=4, **more):
    repetitions = {"least": 6, "most": 9, **more.pop("repetitions", {})}
    return Space.model_validate(
        {"parameters": {"a": {"levels": list(range(levels))}}, "repetitions": repetitions, **more}
    )


def walked(
    asked: Space, seed: int, runs: Decreed, drawn: RowsInMemory, ran: RowsInMemory, deadline: Deadline = NEVER
) -> Sweep:
    """Go through a space on this machine, or go on."""
    sweep = Sweep(asked, seed, drawn, ran, deadline=deadline)
    bench = SimpleNamespace(executor=LOCAL, deadline=deadline, subject=SimpleNamespace(on=""))
    sweep.go(cast(Any, bench), DecreedConditions(runs, sweep.cell))
    return sweep


def dealt_out(asked: Space, dealt: Dealt, seed: int = 1) -> Sweep:
    """Go through a space on hosts."""
    sweep = Sweep(asked, seed, RowsInMemory(), RowsInMemory(), hosts=True)
    bench = SimpleNamespace(executor=dealt, deadline=NEVER, subject=SimpleNamespace(on="hosts"))
    sweep.go(cast(Any, bench), DecreedConditions(dealt.runs, sweep.cell))
    return sweep


def order(sweep):
    return [(row["condition"], row["pair"]) for row in sweep.ran.rows]


def test_every_live_cell_runs_once_a_round():
    sweep = walked(space(), 1, Decreed(), RowsInMemory(), RowsInMemory())
    assert sweep.ended == "every cell is known well enough, or has all its runs"
    assert Counter(order(sweep)) == Counter((f"c000{cell}", number) for cell in range(1, 5) for number in range(9))
    assert [number for _, number in order(sweep)] == sorted(number for _, number in order(sweep))


def test_another_seed_is_another_order_and_the_same_seed_the_same():
    orders = {}
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        sweep = walked(space(), seed, Decreed(), RowsInMemory(), RowsInMemory())
        orders[name] = order(sweep)
    assert orders["one"] == orders["again"] != orders["other"]


def test_in_blocks_a_cell_runs_several_times_in_a_row():
    sweep = walked(space(repetitions={"block": 3}), 1, Decreed(), RowsInMemory(), RowsInMemory())
    cells = [cell for cell, _ in order(sweep)]
    assert len(cells) == 36
    assert all(len(set(cells[start : start + 3])) == 1 for start in range(0, 36, 3))


def test_an_impossible_cell_is_tried_once_and_the_others_go_on():
    sweep = walked(space(), 1, Decreed(frozenset({2})), RowsInMemory(), RowsInMemory())
    assert Counter(cell for cell, _ in order(sweep)) == {"c0001": 9, "c0002": 9, "c0003": 1, "c0004": 9}
    assert sweep.standing(sweep.cells[2]).reason == "no such CPU"
    assert (sweep.runs, sweep.impossible) == (27, False)


def test_in_blocks_too_an_impossible_cell_is_tried_once():
    sweep = walked(space(repetitions={"block": 3}), 1, Decreed(frozenset({2})), RowsInMemory(), RowsInMemory())
    assert Counter(cell for cell, _ in order(sweep)) == {"c0001": 9, "c0002": 9, "c0003": 1, "c0004": 9}


def test_what_was_given_up_before_is_not_told_again() -> None:
    drawn, ran = RowsInMemory(), RowsInMemory()
    told = []
    for budget in (4, 27):
        asked, heard = space(budget={"runs": budget}), list[ProgressEvent]()
        sweep = Sweep(asked, 1, drawn, ran, listener=heard.append)
        bench = SimpleNamespace(executor=LOCAL, deadline=NEVER, subject=SimpleNamespace(on=""))
        sweep.go(cast(Any, bench), DecreedConditions(Decreed(frozenset({2})), sweep.cell))
        told.append([str(event) for event in heard])
    assert len(ran.rows) == 28
    assert [len(heard) for heard in told] == [1, 0] and "c0003 (a=2) is given up: no such CPU" in told[0][0]


def test_where_all_are_impossible_it_ends():
    sweep = walked(space(), 1, Decreed(frozenset(range(4))), RowsInMemory(), RowsInMemory())
    assert (sweep.runs, len(sweep.ran.rows), sweep.impossible) == (0, 4, True)


def test_seconds_end_it_too():
    sweep = walked(space(budget={"seconds": 2}), 1, Decreed(), RowsInMemory(), RowsInMemory())
    assert sweep.ended == "the budget of 2 s is spent"
    assert sweep.runs == 8


def test_where_a_clock_runs_its_seconds_end_it():
    ran = RowsInMemory()
    deadline = Deadline(2.0, lambda: 0.5 * len(ran.rows))
    sweep = walked(space(budget={"seconds": 2}), 1, Decreed(), RowsInMemory(), ran, deadline)
    assert sweep.ended == "the budget of 2 s is spent"
    assert sweep.runs == 4


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(1, 4), st.integers(0, 99), st.sampled_from(["grid", "lhs"]))
def test_stopped_after_any_run_it_goes_on_as_it_would_have_gone(stopped, block, seed, kind):
    asked = space(repetitions={"block": block}, design={"kind": kind, "cells": 4})
    whole = walked(asked, seed, Decreed(), RowsInMemory(), RowsInMemory())
    drawn, ran = RowsInMemory(), RowsInMemory()
    budget = asked.budget.model_copy(update={"runs": stopped})
    executor = Decreed()
    if stopped:
        walked(asked.model_copy(update={"budget": budget}), seed, executor, drawn, ran)
    assert len(ran.rows) <= stopped
    walked(asked, seed, executor, drawn, ran)
    assert ran.rows == whole.ran.rows
    assert drawn.rows == whole.drawn.rows


def test_an_adaptive_sweep_goes_on_with_the_cells_it_had_chosen():
    parameters = {"a": {"range": {"low": 1, "high": 50, "integer": True}}}
    asked = Space.model_validate(
        {
            "parameters": parameters,
            "repetitions": {"least": 3, "most": 3},
            "design": {"kind": "adaptive", "cells": 7, "start": 4, "batch": 2, "response": "mean"},
        }
    )
    whole = walked(asked, 1, Decreed(), RowsInMemory(), RowsInMemory())
    executor, drawn, ran = Decreed(), RowsInMemory(), RowsInMemory()
    short = asked.model_copy(update={"budget": asked.budget.model_copy(update={"runs": 14})})
    walked(short, 1, executor, drawn, ran)
    walked(asked, 1, executor, drawn, ran)
    assert (ran.rows, drawn.rows) == (whole.ran.rows, whole.drawn.rows)
    assert [cell.batch for cell in whole.cells] == [0, 0, 0, 0, 1, 1, 2]
    assert min(int(cell.values["a"]) for cell in whole.cells[4:]) < min(
        int(cell.values["a"]) for cell in whole.cells[:4]
    )


class Dealt:
    """Hosts by decree: rounds land late and in any order, and each host has a speed of its own."""

    def __init__(self, speeds: dict[str, float], seed: int = 1) -> None:
        self.runs, self.speeds, self.chance = Decreed(frozenset({3})), speeds, random.Random(seed)
        self.rounds: list[tuple[str, ...]] = []

    def carry_out(self, series, blocks, conditions, enough) -> None:
        flying: list[Block] = []
        source: Iterator[Block | None] = iter(blocks)
        block: Block | None = BARRIER
        while (block is not None or flying) and not enough():
            while block is not None and len(flying) < len(self.speeds):
                block = next(source, None)
                if block and block.order:
                    flying.append(block)
                elif block == BARRIER:
                    break
            while flying and (block in (BARRIER, None) or len(flying) == len(self.speeds)):
                self.land(flying.pop(self.chance.randrange(len(flying))), series, conditions)

    def land(self, block: Block, series, conditions) -> None:
        host = self.chance.choice(sorted(self.speeds))
        self.rounds.append(block.order)
        for key in block.order:
            row = {**self.runs.run(conditions.cell(key)), "host": host, "slot": 0, "began_s": len(series.rows)}
            if row["outcome"] is not None:
                row["outcome"] = (10 + row["outcome"]) * self.speeds[host]
            series.log.append({"order": 0, "condition": key, "pair": block.number, **row})


@settings(deadline=None)
@given(st.integers(1, 4), st.integers(0, 99), st.integers(1, 3), st.sampled_from(["grid", "lhs"]))
@example(hosts=3, seed=40, block=1, kind="grid")
def test_on_hosts_every_cell_has_its_runs_in_whole_rounds_however_they_land(hosts, seed, block, kind):
    asked = space(repetitions={"block": block}, design={"kind": kind, "cells": 4})
    dealt = Dealt({f"m{number}": 1.0 for number in range(hosts)}, seed)
    sweep = dealt_out(asked, dealt, seed)
    assert sweep.ended == "every cell is known well enough, or has all its runs"
    runs = Counter(row["condition"] for row in sweep.ran.rows if row["begun"])
    impossible = {cell.id for cell in sweep.cells if cell.values["a"] == 3}
    assert runs == {cell.id: 9 for cell in sweep.cells if cell.id not in impossible}
    for cells in dealt.rounds:
        assert len({cells.count(cell) for cell in cells}) == 1
        assert {cell.id for cell in sweep.cells} - set(cells) <= impossible


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(2, 4))
def test_on_hosts_no_more_runs_are_drawn_than_the_budget_has(most, hosts):
    sweep = dealt_out(space(budget={"runs": most}), Dealt(dict.fromkeys(map(str, range(hosts)), 1.0)))
    assert sweep.runs == min(most, 27)


def test_a_slow_host_adds_nothing_to_the_spread_of_a_cell():
    spreads = {}
    for name, speed in (("alike", 1.0), ("one slow", 5.0)):
        dealt = Dealt({"m1": 1.0, "m2": speed})
        sweep = dealt_out(space(repetitions={"least": 60, "most": 60}), dealt)
        spreads[name] = [standing.summary.cv for cell in sweep.cells if (standing := sweep.standing(cell)).summary]
    assert len(spreads["alike"]) == 3
    assert spreads["one slow"] == pytest.approx(spreads["alike"], rel=0.2)
