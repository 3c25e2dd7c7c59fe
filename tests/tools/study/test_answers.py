"""What a study says, where the truth is known: drawn numbers in place of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.claim import Claim
from vgo_agent.tools.study.design import StudyDesign, Wished, design
from vgo_agent.tools.study.effects import Effect, effects, reservation
from vgo_agent.tools.study.factors import Core, StudyEnvironment, Topology, read_factors
from vgo_agent.tools.study.spreads import LIMIT, outcomes, spreads
from vgo_agent.tools.study.study import answered, runs_for, settings_to_run
from vgo_agent.tools.study.warm_up import Spoken, WarmUpRun, ignores_threads
from vgo_agent.tools.subject import Subject

from ...examples import examples

SUBJECT = Subject(command=("./solver", "1"), argv=("/solver", "1"), directory="/")
Scale = Callable[[Mapping[str, str]], float]


def plan(cores: int = 4, *factors: str) -> StudyDesign:
    machine = Topology(cores=tuple(Core(cpus=(core,)) for core in range(cores)))
    return design(
        read_factors(), StudyEnvironment(machine), Wished(factors=factors or ("binding", "threads", "wait"), most=500)
    )


def well(found: StudyDesign) -> tuple[WarmUpRun, ...]:
    return tuple(
        WarmUpRun(setting=one.name, spoken=Spoken(runtime="libgomp", threads=one.threads or 4))
        for one in found.settings
    )


def drawn(found: StudyDesign, rounds: int, scale: Scale, seed: int = 1) -> list[dict[str, Any]]:
    """Rounds of every setting: normal, about 1 s, the SD being 10 ms times the scale; a round shares some noise."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(rounds):
        shared = rng.normal() * 0.004
        for one in found.settings:
            value = 1 + shared + rng.normal() * 0.01 * scale(one.levels)
            rows.append({"condition": one.name, "pair": number, "ok": 1, "outcome": value, "wall_s": value})
    return rows


def effect(found: tuple[Effect, ...], **levels: str) -> Effect:
    return next(one for one in found if dict(zip(one.factors, one.levels, strict=True)) == levels)


def judged(found: StudyDesign, rows: list[dict[str, Any]], seed: int = 1) -> tuple[Effect, ...]:
    return effects(found, outcomes(rows), runs_for(found, well(found)), seed)


def test_a_factor_that_doubles_the_spread_is_found_with_its_size() -> None:
    found = plan()
    effects_found = judged(found, drawn(found, 40, lambda levels: 2.0 if levels.get("wait") == "passive" else 1.0))
    passive = effect(effects_found, wait="passive")
    assert passive.spread.low < 2.0 < passive.spread.high
    assert passive.spread.low > 1.3
    assert passive.p_value < 0.001
    assert passive.settings == 6
    assert effect(effects_found, wait="active").p_value > 0.05
    assert passive.mean.low < 1.0 < passive.mean.high


def test_an_interaction_is_told_from_two_main_effects() -> None:
    found = plan()

    def both_together(levels: Mapping[str, str]) -> float:
        return 6.0 if levels.get("wait") == "passive" and levels.get("threads") == "3" else 1.0

    together = effect(judged(found, drawn(found, 40, both_together)), threads="3", wait="passive")
    assert together.spread.low < 6.0 < together.spread.high
    assert together.p_value < 0.001

    def each_alone(levels: Mapping[str, str]) -> float:
        return (2.0 if levels.get("wait") == "passive" else 1.0) * (3.0 if levels.get("threads") == "3" else 1.0)

    alone = effect(judged(found, drawn(found, 40, each_alone)), threads="3", wait="passive")
    assert alone.spread.low < 1.0 < alone.spread.high
    assert alone.p_value > 0.05


def test_where_nothing_differs_hardly_any_study_claims_an_effect() -> None:
    found = plan()
    claims = [
        any(one.p_value < 0.05 for one in judged(found, drawn(found, 20, lambda _: 1.0, seed))) for seed in range(40)
    ]
    assert sum(claims) <= 6
    covered = [one.spread.low <= 1 <= one.spread.high for one in judged(found, drawn(found, 20, lambda _: 1.0, 99))]
    assert sum(covered) >= 0.8 * len(covered)


@settings(derandomize=True, deadline=None, max_examples=examples(0.25))
@given(st.floats(1e-6, 1e6), st.integers(0, 50))
def test_the_unit_changes_no_effect(unit: float, seed: int) -> None:
    found = plan(2)
    rows = drawn(found, 12, lambda _: 1.0, seed)
    other = [row | {"outcome": row["outcome"] * unit} for row in rows]
    for one, same in zip(judged(found, rows), judged(found, other), strict=True):
        assert same.spread.value == pytest.approx(one.spread.value, rel=1e-6)
        assert same.mean.high == pytest.approx(one.mean.high, rel=1e-6)


def test_settings_that_failed_leave_their_cells_out() -> None:
    found = plan()
    tried = [
        its.model_copy(update={"failure": "the program exited with 1"})
        if "passive" in its.setting and "spread" in its.setting
        else its
        for its in well(found)
    ]
    rows = drawn(found, 20, lambda _: 1.0)
    run = {one.name for one in settings_to_run(found, tried)}
    kept = [row for row in rows if row["condition"] in run]
    passive = effect(effects(found, outcomes(kept), runs_for(found, tried), 1), wait="passive")
    assert passive.settings == 4


def test_alike_settings_share_their_runs_and_have_no_effect() -> None:
    found = plan(2)
    alike = {one.name: one.name.replace("spread", "close") for one in found.settings if one.name.startswith("spread")}
    tried = [its.model_copy(update={"alike": alike.get(its.setting, "")}) for its in well(found)]
    assert not any(one.name.startswith("spread") for one in settings_to_run(found, tried))
    rows = [row for row in drawn(found, 20, lambda _: 1.0) if row["condition"] not in alike]
    names = {one.levels for one in effects(found, outcomes(rows), runs_for(found, tried), 1)}
    assert ("spread",) not in names
    assert ("free",) in names


def test_the_smallest_reservation_that_is_enough_is_named_and_the_rest_is_over_reservation() -> None:
    found = plan(16, "threads")
    rows = drawn(found, 60, lambda levels: 4.0 if levels.get("threads", "16") in ("16", "15") else 1.0)
    answer = reservation(found, outcomes(rows), runs_for(found, well(found)), 0.05)
    assert answer.enough == 2
    assert "Leaving 2 cores to the system is enough" in answer.answer
    assert "over-reservation" in answer.answer
    assert [step.cores for step in answer.steps] == [1, 2, 4, 8, 12, 14, 15, 16]


def test_no_reservation_is_claimed_by_luck() -> None:
    found = plan(16, "threads")
    answer = reservation(found, outcomes(drawn(found, 30, lambda _: 1.0)), runs_for(found, well(found)), 0.05)
    assert answer.enough is None
    assert answer.answer == "Leaving cores to the system is not shown to make it steadier than using all of them."
    few = reservation(found, outcomes(drawn(found, 6, lambda _: 1.0)), runs_for(found, well(found)), 0.05)
    assert few.answer.endswith("cannot be said: there are 6 of each, and each arm needs at least 10.")


def test_a_steadier_setting_is_recommended_only_when_its_own_batch_confirms_it() -> None:
    found = plan()

    def bound(levels: Mapping[str, str]) -> float:
        return 1.0 if levels.get("binding") == "close" and levels["wait"] == "active" else 6.0

    rows = drawn(found, 40, bound)
    chosen = answered(found, well(found), rows, (), SUBJECT, 40)
    assert chosen.chosen is not None and chosen.chosen.startswith("close/")
    pair = [row for row in drawn(found, 40, bound, 7) if row["condition"] in ("baseline", chosen.chosen)]
    confirmed = answered(found, well(found), rows, pair, SUBJECT, 40)
    assert confirmed.advice is not None
    assert "had no part in the choice confirm it" in confirmed.verdict
    nothing = [row for row in drawn(found, 40, lambda _: 1.0, 7) if row["condition"] in ("baseline", chosen.chosen)]
    refuted = answered(found, well(found), rows, nothing, SUBJECT, 40)
    assert refuted.advice is None
    assert "did not confirm it. No setting is steadier" in refuted.verdict


def one_thread_takes_twice_as_long(found: StudyDesign, scale: float, four: float = 1.02) -> list[dict[str, Any]]:
    """Its spread has this scale, where that of three threads has .11 and of all others 1; `four`: mean of those."""
    rng = np.random.default_rng(5)
    scales, means = {"1": scale, "3": 0.11, "4": 1.0}, {"1": 2.0, "3": 1.0, "4": four}
    return [
        {"condition": one.name, "pair": number, "ok": 1, "outcome": value, "wall_s": value}
        for number in range(40)
        for one in found.settings
        for threads in (one.levels.get("threads", "4"),)
        for value in (means.get(threads, four) + rng.normal() * 0.05 * scales.get(threads, 1.0),)
    ]


def test_of_settings_that_are_as_steady_the_fastest_is_recommended_with_its_price() -> None:
    found = plan(4, "threads")
    rows = one_thread_takes_twice_as_long(found, 0.1)
    study = answered(found, well(found), rows, (), SUBJECT, 40)
    assert study.advice is not None
    assert "export OMP_NUM_THREADS=3" in study.advice.shell
    assert "of the CV 0." in study.verdict and "of the mean 0.97" in study.verdict


def test_one_thread_is_recommended_for_three_only_where_a_limit_allows_its_time() -> None:
    found = plan(4, "threads")
    rows = one_thread_takes_twice_as_long(found, 0.02)  # so that three threads are shown to vary more
    study = answered(found, well(found), rows, (), SUBJECT, 40)
    assert study.advice is not None and "export OMP_NUM_THREADS=3" in study.advice.shell
    allowed = found.model_copy(update={"subject_to": "mean <= 3 * best"})
    limited = answered(allowed, well(found), rows, (), SUBJECT, 40)
    assert limited.advice is not None and "export OMP_NUM_THREADS=1" in limited.advice.shell


def test_what_the_recommended_setting_costs_is_told_with_the_fastest_and_the_option_that_chooses_otherwise() -> None:
    found = plan(4, "threads")
    rows = one_thread_takes_twice_as_long(found, 0.1, four=0.5)  # whose spread is that of the environment
    study = answered(found, well(found), rows, (), SUBJECT, 40)
    assert study.advice is not None and "export OMP_NUM_THREADS=3" in study.advice.shell
    assert study.price is not None and study.price.mean.ratio == pytest.approx(0.5, rel=0.05)
    told = f"{study.price.fastest} is faster, its mean 0."
    assert "It has a price: " in study.verdict and told in study.verdict and told in study.headline
    assert "--subject-to 'mean<=1.05*best' recommends only" in study.verdict
    limited = answered(found.model_copy(update={"subject_to": LIMIT}), well(found), rows, (), SUBJECT, 40)
    assert limited.advice is None and limited.price is None and "price" not in limited.verdict + limited.headline


@pytest.mark.parametrize(
    ("limit", "threads", "says"),
    [
        ("mean <= 1.05 * best", "3", "4 of 5 settings keep to mean <= 1.05 * best"),
        ("mean <= 3 * best", "1", "5 of 5 settings keep to mean <= 3 * best"),
        ("cv <= 0.0001", None, "0 of 5 settings keep to cv <= 0.0001"),
    ],
)
def test_where_a_limit_is_stated_the_steadiest_that_keeps_to_it_is_recommended(
    limit: str, threads: str | None, says: str
) -> None:
    found = plan(4, "threads").model_copy(update={"subject_to": limit})
    rows = one_thread_takes_twice_as_long(found, 0.05)
    study = answered(found, well(found), rows, (), SUBJECT, 40)
    if threads is None:
        assert study.advice is None
        assert study.verdict == (
            f"No setting that keeps to {limit} is steadier than the environment as given by more than luck."
        )
    else:
        assert study.advice is not None and f"export OMP_NUM_THREADS={threads}" in study.advice.shell
    assert any(says in note for note in study.notes)


def test_a_limit_that_speaks_of_what_is_not_known_is_refused_before_any_run() -> None:
    with pytest.raises(VgoError, match=r"--subject-to: .* names p99, .*: use mean, sd, cv, best"):
        design(read_factors(), StudyEnvironment(Topology(cores=())), Wished(subject_to="p99 < 3"))


def test_leaving_a_core_of_two_to_the_system_says_that_the_program_is_serial_then() -> None:
    found = plan(2, "threads")
    rows = drawn(found, 40, lambda levels: 0.1 if levels.get("threads") == "1" else 1.0)
    answer = reservation(found, outcomes(rows), runs_for(found, well(found)), 0.05)
    assert "which runs in a single thread then" in answer.answer


def test_no_setting_is_a_good_answer() -> None:
    found = plan()
    study = answered(found, well(found), drawn(found, 20, lambda _: 1.0), (), SUBJECT, 20)
    assert study.verdict == "No setting is steadier than the environment as given by more than luck."
    assert study.advice is None
    assert all(one.against is None or isinstance(one.against.mean, Claim) for one in study.spreads)


def test_what_many_settings_hide_is_told_with_the_cure() -> None:
    found = plan()
    rows = drawn(found, 16, lambda levels: 0.45 if levels.get("binding") == "free" else 1.0)
    study = answered(found, well(found), rows, (), SUBJECT, 16)
    hidden = [one for one in study.spreads if one.against and one.against.hidden]
    assert hidden
    assert any(f"not among so many: {len(hidden)} (" in note for note in study.notes)


def test_a_job_of_ours_beside_it_is_never_recommended() -> None:
    found = plan(2, "neighbour")
    rows = drawn(found, 40, lambda levels: 0.1 if levels.get("neighbour") == "compute" else 1.0)
    assert answered(found, well(found), rows, (), SUBJECT, 40).chosen is None


def test_normalised_extremes_are_those_of_the_paper() -> None:
    rows = [
        {"condition": "baseline", "pair": place, "ok": int(value > 0), "outcome": value or None, "wall_s": 1.0}
        for place, value in enumerate((8.0, 10.0, 12.0, 0.0))
    ]
    (one,) = spreads(rows, 0.05, 1)
    assert (one.minimum, one.maximum, one.runs, one.failed) == (0.8, 1.2, 3, 1)
    assert one.cv == pytest.approx(0.2)


def test_the_recommended_lines_name_cores_for_slurm_and_tell_of_the_step() -> None:
    found = plan(4)
    rows = drawn(found, 40, lambda levels: 0.1 if levels.get("threads") == "3" else 1.0)
    study = answered(found, well(found), rows, (), SUBJECT, 40)
    assert study.advice is not None
    assert "export OMP_NUM_THREADS=3" in study.advice.shell
    assert study.advice.shell[-1] == "./solver 1"
    slurm = "\n".join(study.advice.slurm)
    assert "#SBATCH --cpus-per-task=4" in slurm
    assert "srun --cpus-per-task=4 --hint=nomultithread" in slurm
    assert "{" not in slurm
    assert any("does not inherit" in note for note in study.advice.notes)
    assert any("--core-spec=1" in note for note in study.advice.notes)


def test_a_program_that_ignores_the_number_of_threads_is_told() -> None:
    found = plan()
    stubborn = [its.model_copy(update={"spoken": Spoken(runtime="libgomp", threads=4)}) for its in well(found)]
    assert "ignores OMP_NUM_THREADS: its teams have 4 threads" in ignores_threads(found.settings, stubborn)
    assert ignores_threads(found.settings, well(found)) == ""
