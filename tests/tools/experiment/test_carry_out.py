"""Experiments with a scripted program: every schedule goes on after a kill as if there had been none."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vgo_agent.tools.execution.expected import NEVER, Deadline
from vgo_agent.tools.execution.row_log import RowLog, RowsInMemory, rows_in
from vgo_agent.tools.execution.series import (
    BARRIER,
    LOCAL,
    OUTSIDE,
    Block,
    Executor,
    ExperimentConditions,
    PlannedRun,
    Series,
)
from vgo_agent.tools.experiment.conditions import AppliedConditions, Condition
from vgo_agent.tools.experiment.experiment import Experiment, Limit, Schedule, Stop, carry_out, never
from vgo_agent.tools.experiment.race import Elimination, Race
from vgo_agent.tools.experiment.schedules import Complete, Crossover, Repeat, Rotation
from vgo_agent.tools.row import BASELINE, Row

from ...examples import examples

KEYS = (BASELINE, "a", "b", "c")
SCALES = {BASELINE: 1.0, "a": 0.1, "b": 1.0, "c": 5.0}
BREAKS = "b"
"""Fails from its fifth run on."""


class Killed(Exception):
    """The process ended before a run."""


@dataclass
class Script:
    """A bench whose rows are a function of condition, pair and how often they were made; it dies before a run."""

    executor: Executor = LOCAL
    deadline: Deadline = NEVER
    dies_after: int = 10**9
    launch: Any = None
    on: str = ""

    @property
    def subject(self) -> Any:
        return SimpleNamespace(on=self.on)

    def run_once(self, series: Series, planned: PlannedRun) -> None:
        if len(series.rows) >= self.dies_after:
            raise Killed
        series.log.append({**row(series.rows, planned.condition, planned.pair), "order": series.next_order})


def row(rows: Sequence[Row], condition: str, pair: int) -> Row:
    made = sum(one["condition"] == condition for one in rows)
    outcome = 100 + SCALES[condition] * random.Random(f"{condition} {pair} {made}").gauss(0, 1)
    ok = int(condition != BREAKS or made < 5)
    fixed = {"exit_code": 0 if ok else 3, "survivors": 0, "layers": "", "failure": "" if ok else "exit 3"}
    return {
        "order": len(rows),
        "condition": condition,
        "pair": pair,
        "ok": ok,
        "outcome": outcome,
        "wall_s": 1,
        **fixed,
    }


@dataclass
class Half:
    """Stops at a look in about half of all cases."""

    after: int | None

    def stops(self, rows: Sequence[Row]) -> bool:
        assert Counter(one["condition"] for one in rows) == dict.fromkeys((BASELINE, "a"), self.after)
        return bool(sum(abs(one["outcome"] - 100) for one in rows if one["condition"] == "a") < 0.08 * len(rows) / 2)


def breaking(rows: Sequence[Row]) -> set[str]:
    return {one["condition"] for one in rows if not one["ok"]}


def broke(level: str, rows: Sequence[Row]) -> str:
    return "breaks" if level in breaking(rows) else ""


def race(rounds: int, seed: int) -> Race:
    return Race(KEYS[1:], "p", rounds, f"{seed}", Elimination("sd", True, 0.01, seed), broke)


def rotation(runs: int, seed: int) -> Rotation:
    order = random.Random(seed).choices(KEYS, k=runs)
    return Rotation(tuple(order), breaking)


SCHEDULES: dict[str, Callable[[int, int], Schedule]] = {
    "repeat": lambda size, seed: Repeat(size),
    "complete": lambda size, seed: Complete(KEYS, size, f"{seed}"),
    "pairs": lambda size, seed: Crossover((BASELINE, "a"), size, seed),
    "pairs with a look": lambda size, seed: Crossover((BASELINE, "a"), size, seed, looks=Half(size // 2 or None)),
    "blocks": lambda size, seed: Crossover((BASELINE, "a"), size, seed, block=3),
    "rotation": rotation,
    "race": race,
}


def made(schedule: Schedule, journal: RowsInMemory, bench: Script, stop: Stop = never) -> tuple[str, list[Row]]:
    """Carry out, or go on with what the journal has."""
    series = Series(cast(Any, bench), "c001", (), journal, 0)
    conditions = AppliedConditions(cast(Any, bench), {key: Condition(name=key) for key in KEYS})
    return carry_out(Experiment(conditions, schedule, stop), series), journal.rows


@pytest.mark.parametrize("name", SCHEDULES)
@settings(deadline=None, max_examples=examples(0.05))
@given(size=st.integers(1, 24), seed=st.integers(0, 99))
@example(size=22, seed=1)
def test_killed_after_any_row_it_goes_on_to_the_same_table(name: str, size: int, seed: int) -> None:
    _, whole = made(SCHEDULES[name](size, seed), RowsInMemory(), Script())
    for kept in range(len(whole) + 1):
        journal = RowsInMemory()
        with pytest.raises(Killed) if kept < len(whole) else nullcontext():
            made(SCHEDULES[name](size, seed), journal, Script(dies_after=kept))
        assert made(SCHEDULES[name](size, seed), journal, Script())[1] == whole


def test_a_pair_torn_by_a_kill_is_made_again_whole_and_one_torn_by_the_budget_stays_until_there_is_time() -> None:
    journal = RowsInMemory()
    with pytest.raises(Killed):
        made(Complete(KEYS, 5, ""), journal, Script(dies_after=6))
    torn = [one["condition"] for one in journal.rows[4:]]
    made(Complete(KEYS, 5, ""), journal, Script(deadline=Deadline(1.0, lambda: 2.0)))
    assert [one["condition"] for one in journal.rows[4:]] == torn
    with pytest.raises(Killed):
        made(Complete(KEYS, 5, ""), journal, Script(dies_after=4))
    assert len(journal.rows) == 4
    made(Complete(KEYS, 5, ""), journal, Script())
    assert len(journal.rows) == 20


@settings(deadline=None)
@given(st.sets(st.sampled_from(KEYS), min_size=1), st.sets(st.sampled_from(KEYS), min_size=1), st.integers(0, 20))
@example({BASELINE, "a"}, {BASELINE, "c"}, 8)
@example({BASELINE, "a"}, set(KEYS), 8)
def test_with_other_keys_than_before_no_run_is_lost_but_those_of_torn_blocks(
    before: set[str], after: set[str], kept: int
) -> None:
    def schedule(keys: set[str]) -> Complete:
        return Complete(tuple(sorted(keys)), 5, "")

    journal = RowsInMemory()
    with suppress(Killed):
        made(schedule(before), journal, Script(dies_after=kept))
    old = list(journal.rows)
    made(schedule(after), journal, Script())
    runs = Counter((one["pair"], one["condition"]) for one in journal.rows)
    assert set(runs.values()) == {1} and {(pair, key) for pair in range(5) for key in after} <= runs.keys()
    orders = [one["order"] for one in journal.rows]
    assert orders == sorted(set(orders))
    left = {id(one) for one in journal.rows}
    blocks = {pair: {one["condition"] for one in old if one["pair"] == pair} for pair in range(5)}
    torn = {pair for pair, made in blocks.items() if made & after and not after <= made}
    lost = [(one["pair"], one["condition"]) for one in old if id(one) not in left]
    assert set(lost) == {(pair, key) for pair in torn for key in blocks[pair] & after}


def test_what_is_dropped_is_dropped_from_the_file(tmp_path: Path) -> None:
    with closing(RowLog(tmp_path / "log.jsonl")) as journal:
        made(Complete((BASELINE, "a"), 5, ""), journal, Script())
    with closing(RowLog(tmp_path / "log.jsonl")) as journal:
        made(Complete((BASELINE, "c"), 5, ""), journal, Script())
    assert rows_in(tmp_path / "log.jsonl") == journal.rows
    assert Counter(one["condition"] for one in journal.rows) == {BASELINE: 5, "a": 5, "c": 5}


def test_a_race_drops_what_breaks_and_what_is_worse_and_ends_with_the_one_that_is_left() -> None:
    schedule = race(40, 1)
    _, rows = made(schedule, RowsInMemory(), Script())
    assert schedule.dropped["b"] == "breaks" and "clearly worse than p=a" in schedule.dropped["c"]
    assert schedule.left == ("a",)
    assert Counter(one["condition"] for one in rows) == {BASELINE: 20, "a": 20, "b": 6, "c": 20}


def test_a_stop_ends_it_and_says_why_also_after_the_last_run() -> None:
    def ten(series: Series) -> str:
        return "ten" if len(series.rows) >= 10 else ""

    assert made(Repeat(50), RowsInMemory(), Script(), ten)[0] == "ten"
    assert made(Repeat(10), RowsInMemory(), Script(), ten)[0] == "ten"
    assert made(Repeat(9), RowsInMemory(), Script(), ten)[0] == ""


def test_a_block_that_is_not_likely_to_fit_is_not_begun_and_a_single_run_is() -> None:
    journal = RowsInMemory()
    deadline = Deadline(10.5, lambda: float(len(journal.rows)))
    made(Complete(KEYS, 9, ""), journal, Script(deadline=deadline))
    assert len(journal.rows) == 8
    journal.rows.clear()
    made(Repeat(99), journal, Script(deadline=deadline))
    assert len(journal.rows) == 11


@dataclass
class Hosts:
    """An executor over hosts by decree: blocks land whole, in any order, a block after a barrier when all are there."""

    chance: random.Random
    dies_after: int = 10**9
    beside: Mapping[str, bytes] = field(default_factory=dict)
    lost: Sequence[str] = ()

    def carry_out(
        self, series: Series, blocks: Iterable[Block], conditions: ExperimentConditions, enough: Callable[[], bool]
    ) -> None:
        flying: list[Block] = []
        for block in blocks:
            if block != BARRIER:
                flying.append(block)
            while flying and (block == BARRIER or len(flying) == 3):
                self.land(flying.pop(self.chance.randrange(len(flying))), series)
        while flying:
            self.land(flying.pop(self.chance.randrange(len(flying))), series)

    def land(self, block: Block, series: Series) -> None:
        for place, key in enumerate(block.order):
            if len(series.rows) >= self.dies_after:
                raise Killed
            series.log.append(row(series.rows, key, block.pair(place)))


@settings(deadline=None)
@given(
    st.sampled_from(["complete", "pairs", "blocks", "repeat"]),
    st.integers(1, 12),
    st.integers(0, 99),
    st.lists(st.integers(0, 40), max_size=4),
)
def test_on_hosts_every_block_is_made_whole_however_often_it_is_killed(
    name: str, size: int, seed: int, kills: list[int]
) -> None:
    journal, chance = RowsInMemory(), random.Random(seed)
    for kept in [*sorted(kills), 10**9]:
        bench = Script(Hosts(chance, kept), on="hosts.yaml")
        try:
            made(SCHEDULES[name](size, seed), journal, bench)
        except Killed:
            continue
    planned = [block for block in SCHEDULES[name](size, seed).blocks(list)]
    pairs = Counter(one["pair"] for one in journal.rows)
    if name == "repeat":
        assert pairs == {OUTSIDE: size}
        return
    conditions = {one: Counter(r["condition"] for r in journal.rows if r["pair"] == one) for one in pairs}
    full = Counter(set(planned[0].order)) if planned else Counter()
    whole = [pair for pair, found in conditions.items() if found == full]
    wanted = sum(block.pairs for block in planned)
    assert len(whole) >= wanted if name == "blocks" else len(whole) == wanted
    assert all(found <= full for found in conditions.values())


@pytest.mark.parametrize(
    ("runs", "elapsed_s", "ends"), [(29, 29.9, ""), (29, 30.0, "time cap"), (30, 10.0, "time cap")]
)
def test_there_is_three_times_the_time_for_the_fewest_runs_that_say_anything(
    runs: int, elapsed_s: float, ends: str
) -> None:
    series = SimpleNamespace(processes=runs, outcomes=[1.0] * runs, elapsed_s=elapsed_s, over=False)
    assert Limit(seconds=10, least=30).reached(cast(Series, series)) == ends
