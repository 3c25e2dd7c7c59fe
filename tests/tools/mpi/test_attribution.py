"""Which rank is behind slow runs: known causes are named, chance is not, and units, order and names do not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.hosts import hosts_of
from vgo_agent.tools.mpi.analyse import of_ranks
from vgo_agent.tools.mpi.attribution import beyond, explained, slowest
from vgo_agent.tools.mpi.of_record import places
from vgo_agent.tools.mpi.rank_summary import RankRows, Ranks, placed, rank_rows
from vgo_agent.tools.row import Row
from vgo_agent.tools.verdict import Diagnosis, Explained, NotTried
from vgo_agent.tools.verdict_words import headline

from ...examples import examples
from ..conftest import Draws
from ..levels import most

RUNS = 60


def rows_of(own: np.ndarray, **texts: np.ndarray) -> RankRows:
    """Ranks that meet at the end: each waits for the one that computes longest."""
    columns: dict[str, list[object]] = {}
    for rank in range(own.shape[1]):
        columns[f"mpi.{rank}.own_s"] = own[:, rank].tolist()
        columns[f"mpi.{rank}.time_s"] = (own.max(axis=1) - own[:, rank]).tolist()
        columns |= {f"mpi.{rank}.{name}": values[:, rank].tolist() for name, values in texts.items()}
    return rank_rows(columns, columns.__getitem__)


def of(own: np.ndarray, **texts: np.ndarray) -> Ranks:
    return of_ranks(rows_of(own, **texts), own.max(axis=1) + 0.01, "wall time", "s")


def even(seed: int, ranks: int = 4, runs: int = RUNS) -> np.ndarray:
    return 0.1 + np.random.default_rng(seed).normal(0, 0.003, (runs, ranks))


def late(own: np.ndarray, rank: int, seed: int = 9, share: float = 0.3) -> np.ndarray:
    slow = np.random.default_rng(seed).random(len(own)) < share
    delayed: np.ndarray = own + np.where(slow, 0.05, 0)[:, None] * (np.arange(own.shape[1]) == rank)
    return delayed


@pytest.mark.parametrize(("ranks", "rank"), [(2, 0), (2, 1), (4, 2), (32, 17)])
def test_a_rank_that_is_late_now_and_then_is_named_with_the_variance_that_it_explains(ranks: int, rank: int) -> None:
    found = of(late(even(1, ranks), rank))
    assert (found.verdict, found.rank) == ("one rank", rank)
    one = found.ranks[rank]
    assert one.p_explained < 0.01 and one.slowest_of_slow == 1
    assert 0.5 < one.explained_interval.low < one.explained <= one.explained_interval.high <= 1
    assert found.common < 0.2


def test_intervals_are_of_95_percent_whatever_chance_of_a_wrong_verdict_is_asked_for() -> None:
    own = late(even(1), 2)
    often, seldom = (of_ranks(rows_of(own), own.max(axis=1), "t", "s", alpha=alpha) for alpha in (0.05, 1e-5))
    assert seldom.verdict != often.verdict == "one rank"
    assert seldom.ranks == often.ranks


def test_ranks_that_are_late_by_turns_name_none() -> None:
    own = even(2)
    turn = np.random.default_rng(5).integers(0, 4, RUNS)
    own[np.arange(RUNS), turn] += np.random.default_rng(6).exponential(0.02, RUNS)
    found = of(own)
    assert (found.verdict, found.rank) == ("no one rank", None)


def test_seldom_late_ranks_that_take_turns_are_named_no_more_often_than_chance_allows(draws: Draws) -> None:
    named, count = 0, draws(15, 60)
    for seed in range(count):
        random = np.random.default_rng(seed)
        own = even(700 + seed)
        own[np.arange(RUNS), random.integers(0, 4, RUNS)] += np.where(random.random(RUNS) < 0.12, 0.05, 0)
        named += of(own).verdict == "one rank"
    assert named <= most(count, 0.05)


def test_what_slows_all_ranks_alike_names_none_and_is_told_as_common() -> None:
    found = of(even(3) + np.random.default_rng(4).exponential(0.03, (RUNS, 1)))
    assert found.verdict == "no one rank"
    assert found.common > 0.9


def test_a_rank_that_always_has_more_to_do_costs_time_and_not_spread() -> None:
    own = even(7) + np.random.default_rng(8).exponential(0.02, (RUNS, 1))
    own[:, 3] += 0.02
    found = of(own)
    assert (found.verdict, found.rank) == ("always the same rank", 3)
    assert found.ranks[3].slowest > 0.95 and found.ranks[3].interval.low > 0.25
    assert "another matter" in found.reason


def test_a_rank_that_is_longer_by_next_to_nothing_is_not_called_the_slowest() -> None:
    own = 0.1 + np.random.default_rng(8).normal(0, 1e-5, (RUNS, 2))
    own[:, 1] += 1e-4
    found = of_ranks(rows_of(own), 0.2 + np.random.default_rng(9).exponential(0.01, RUNS), "wall time", "s")
    assert found.ranks[1].slowest == 1
    assert found.verdict == "no one rank"


def test_chance_is_seldom_called_a_cause(draws: Draws) -> None:
    count = draws(20, 120)
    named = sum(of(even(100 + seed, 3, 25)).verdict != "no one rank" for seed in range(count))
    assert named <= most(count, 0.05)  # for the variance; a count of ranks that is odd by luck lies below the margin


def test_the_interval_of_how_often_covers_the_truth() -> None:
    missed = 0
    for seed in range(200):
        own = np.random.default_rng(seed).normal(0, 1, (40, 4))
        often = slowest(own, 0.05)
        missed += bool(((often.low > 0.25) | (often.high < 0.25)).any())
    assert missed <= 16


def test_runs_that_resemble_their_neighbours_count_as_fewer() -> None:
    steady = np.repeat(np.random.default_rng(1).normal(0, 1, (8, 2)), 10, axis=0)
    mixed = np.random.default_rng(2).permutation(steady, axis=0)
    wide, narrow = slowest(steady, 0.05), slowest(mixed, 0.05)
    assert (wide.high - wide.low > narrow.high - narrow.low).all()


def test_a_drift_that_all_share_makes_no_rank_guilty() -> None:
    drift = np.linspace(0, 0.05, RUNS)
    own = even(11) + drift[:, None]
    own[:, 1] += drift  # its share of the work grows with the order of the runs
    outcome = 0.1 + drift + np.random.default_rng(12).normal(0, 0.003, RUNS)
    assert np.corrcoef(outcome, beyond(own)[:, 1])[0, 1] > 0.9
    assert explained(outcome, beyond(own), 0.05, 1).p.min() > 0.05


@given(st.integers(0, 50), st.floats(1e-3, 1e3), st.permutations(range(3)))
@settings(deadline=None, derandomize=True, max_examples=examples(0.2))
def test_neither_the_unit_nor_the_numbers_of_the_ranks_matter(seed: int, unit: float, names: list[int]) -> None:
    own = late(even(seed, 3, 30), 2)
    once, again = of(own), of_ranks(rows_of(own[:, names]), (own.max(axis=1) + 0.01) * unit, "wall time", "s")
    assert again.verdict == once.verdict
    for place, was in enumerate(names):
        assert again.ranks[place].explained == pytest.approx(once.ranks[was].explained, abs=1e-9)
        assert again.ranks[place].p_slowest == pytest.approx(once.ranks[was].p_slowest)


def test_higher_is_better_turns_the_outcome_around() -> None:
    own = late(even(1), 2)
    found = of_ranks(rows_of(own), 1 / own.max(axis=1), "rate", "1/s", lower_is_better=False)
    assert (found.verdict, found.rank) == ("one rank", 2)


def test_the_named_rank_says_whether_it_computed_and_what_goes_with_it() -> None:
    own = late(even(1), 2)
    busy, taken = of(own, cpu_s=own.copy(), preemptions=np.rint(own * 100)), of(own, cpu_s=np.full(own.shape, 0.09))
    assert busy.on_cpu == pytest.approx(1)
    assert [one.name for one in busy.within] == ["preemptions"] and busy.within[0].p_value < 0.05
    assert taken.on_cpu == pytest.approx(0, abs=1e-9) and taken.within == ()


def test_a_slow_cpu_is_named_where_ranks_change_places() -> None:
    swap = np.random.default_rng(3).integers(0, 2, RUNS)[:, None]
    cpu = np.hstack([swap, 1 - swap])
    own = even(5, 2) * np.where(cpu == 1, 1.2, 1)
    own[:, 0] *= 1.5  # more work, wherever it runs
    found = of(own, cpu=cpu)
    first = found.placed[0]
    assert (first.factor, first.p_value < 0.01) == ("cpu", True)
    ratio = first.ratio if first.level == "1" else 1 / first.ratio
    assert ratio == pytest.approx(1.2, rel=0.03)
    assert not any("cannot be told apart" in note for note in found.notes)


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_place_that_does_nothing_is_named_no_more_often_than_chance_allows(ranks: int, draws: Draws) -> None:
    named, count = 0, draws(20, 100)
    for seed in range(count):
        cpu = np.random.default_rng(seed).permuted(np.tile(np.arange(ranks), (40, 1)), axis=1)
        named += min(one.p_value for one in placed(rows_of(even(500 + seed, ranks, 40), cpu=cpu), 1)) <= 0.05
    assert named <= most(count, 0.05)


def test_a_place_that_a_rank_never_leaves_cannot_be_told_from_the_rank() -> None:
    found = of(even(1, 2), host=np.tile(["a", "b"], (RUNS, 1)))
    assert found.placed == ()
    assert "same host" in found.notes[-1] and "cannot be told apart" in found.notes[-1]


HOSTS = np.tile(["a", "a", "b", "b", "c", "c"], (RUNS, 1))


def test_a_host_whose_ranks_are_late_together_is_named_and_no_rank_of_it() -> None:
    own = even(21, 6)
    own[np.random.default_rng(1).random(RUNS) < 0.3, 2:4] += 0.05
    found = of(own, host=HOSTS)
    assert (found.verdict, found.host, found.rank) == ("one host", "b", None)
    assert next(one for one in found.hosts if one.host == "b").ranks == (2, 3)


def test_the_rank_or_host_that_is_behind_slow_runs_is_a_part_of_the_cause_and_comes_first() -> None:
    (rank,) = places(of(late(even(1), 2)), None)
    assert rank.name == "rank 2" and rank.interval.low < rank.share <= rank.interval.high
    verdict = Diagnosis(cause=Explained(parts=(rank,)), remedy=NotTried(why="none is known"), evidence=())
    said = headline(verdict)
    assert said.startswith("Slow runs are slow because of rank 2 (") and "the others wait for it; no remedy" in said
    own = even(21, 6)
    own[np.random.default_rng(1).random(RUNS) < 0.3, 2:4] += 0.05
    assert [one.name for one in places(of(own, host=HOSTS), None)] == ["b"]
    assert places(of(even(3)), None) == places("too few runs", None) == places(None, None) == ()


def test_slow_hosts_are_a_part_of_the_cause_where_hosts_make_much_of_the_variance() -> None:
    rng = np.random.default_rng(4)
    rows: list[Row] = [
        {
            "ok": 1,
            "host": f"h{run % 4}",
            "slot": 0,
            "wall_s": 1.0,
            "outcome": rng.normal(1 + 0.3 * (run % 4 == 1), 0.01),
        }
        for run in range(80)
    ]
    hosts = hosts_of(rows, {}, lower_is_better=True, alpha=0.05)
    (place,) = places(None, hosts)
    assert place.name == "h1" and place.share > 0.5 and place.by == "node" and "1.3 times" in place.why
    alike = hosts_of(
        [{**row, "outcome": 1 + rng.normal(0, 0.01)} for row in rows], {}, lower_is_better=True, alpha=0.05
    )
    assert places(None, alike) == ()


def test_a_rank_that_is_late_alone_is_named_and_not_its_host() -> None:
    found = of(late(even(22, 6), 2), host=HOSTS)
    assert (found.verdict, found.rank, found.host) == ("one rank", 2, "")


def test_hosts_that_are_alike_are_seldom_named(draws: Draws) -> None:
    count = draws(12, 40)
    named = sum(of(even(300 + seed, 6), host=HOSTS).verdict != "no one rank" for seed in range(count))
    assert named <= most(count, 0.05)


@pytest.mark.parametrize(("ranks", "runs", "words"), [(1, 30, "one rank only"), (2, 9, "9 runs, and 10 are needed")])
def test_what_cannot_be_answered_is_refused_in_one_sentence(ranks: int, runs: int, words: str) -> None:
    with pytest.raises(VgoError, match=words):
        of(even(1, ranks, runs))


def test_runs_in_which_a_rank_did_not_tell_are_left_out_and_counted() -> None:
    own = late(even(1), 1)
    own[5, 2] = np.nan
    rows = rows_of(own)
    assert rows.incomplete == 1 and 5 not in rows.runs
    assert of_ranks(rows, np.nanmax(own, axis=1)[rows.runs], "t", "s").notes[0].startswith("1 run left out")
