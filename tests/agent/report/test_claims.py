"""What may be claimed, and what may be named as a factor, from tables in which the truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vgo_agent.agent.answers.of_runs import trials
from vgo_agent.agent.legal import legal, situation
from vgo_agent.agent.render.text import markdown_page
from vgo_agent.agent.report.diagnosis import document
from vgo_agent.agent.report.evidence import gather
from vgo_agent.knowledge.loader import load
from vgo_agent.tools.case import open_candidates
from vgo_agent.tools.findings import Findings
from vgo_agent.tools.ranking import RankResult
from vgo_agent.tools.subject import Subject
from vgo_agent.tools.verdict import factors_found, title
from vgo_agent.tools.verdict_words import headline

RNG = np.random.default_rng
CONFIRMED = "cause explained, remedy confirmed"


def two_modes(noise: float, seed: int) -> np.ndarray:
    """As wide as before where it counts: only the scatter within each mode differs."""
    return np.where(np.arange(60) % 2 == 0, 0.2, 0.3) + RNG(seed).normal(0, noise, 60)


def compared(looked_up, arms, migrations) -> None:
    for batch in (1, 2):
        call = looked_up.apply("pin_to_cpu", batch, arms, {"migrations": migrations})
        looked_up.call("compare", call=call)
    looked_up.call("conclude")


def concluded(looked_up: Any) -> Any:
    return Findings(looked_up.record).verdict


def test_a_run_far_off_may_leave_it_open(looked_up) -> None:
    wild = np.concatenate([[0.9], np.zeros(59)])
    arms = (RNG(1).normal(0.3, 0.03, 60), RNG(2).normal(0.3, 0.008, 60) + wild)
    compared(looked_up, arms, (20.0, 0.0))
    result = concluded(looked_up)
    assert title(result) == "cause explained, remedy undecided"
    assert [one.mitigation for one in result.remedy.undecided] == ["pin_to_cpu"]


@pytest.mark.parametrize(
    ("scale", "said", "of_numbers"),
    [
        (
            1.2,
            "Nothing that was tried left less spread by an amount that matters; the nearest, pin_to_cpu, left 1.",
            "came nearest",
        ),
        (0.95, "Of what was tried, pin_to_cpu left the least spread, 0.9", "what left the least spread"),
    ],
)
def test_only_what_left_less_than_the_baseline_is_said_to_have_left_the_least(
    looked_up, scale, said, of_numbers
) -> None:
    baseline = RNG(1).normal(0.3, 0.03, 12)
    call = looked_up.apply("pin_to_cpu", 1, (baseline, 0.3 + scale * RNG(4).permutation(baseline - 0.3)))
    looked_up.call("compare", call=call)
    run = looked_up.finish()
    verdict = concluded(looked_up)
    assert title(verdict) == "cause explained, remedy undecided"
    assert verdict.remedy.undecided[0].claim.direction == "undecided"
    report = markdown_page(document(gather(run))).replace("\\", "")
    assert said in report and of_numbers in report
    assert ("the least spread" in report) == (scale < 1)


def test_a_fall_that_does_not_matter_is_said_to_be_there(looked_up) -> None:
    baseline = RNG(1).normal(0.3, 0.03, 200)
    call = looked_up.apply("pin_to_cpu", 1, (baseline, 0.3 + 0.97 * RNG(4).permutation(baseline - 0.3)))
    looked_up.call("compare", call=call)
    evidence = gather(looked_up.finish())
    (compared,) = evidence.comparisons
    assert compared.comparison.direction == "equivalent"
    report = markdown_page(document(evidence)).replace("\\", "")
    assert "less spread by an amount that matters; these are the numbers of what came nearest" in report
    assert "left less spread than the baseline" not in report


def test_a_proved_harm_is_told_as_one_by_report_and_answers(looked_up) -> None:
    baseline = RNG(1).normal(0.3, 0.003, 40)
    call = looked_up.apply("pin_to_cpu", 1, (baseline, RNG(4).normal(0.3, 0.03, 40)))
    looked_up.call("compare", call=call)
    evidence = gather(looked_up.finish())
    assert "makes it less steady" in headline(evidence.verdict)
    (said,) = (fact.text for fact in trials(evidence) if fact.kind == "tried")
    assert "the runs were less steady" in said


def test_where_the_sd_tells_another_story_both_are_said(looked_up) -> None:
    far = np.concatenate([[0.5], RNG(2).normal(0.2, 0.004, 59)])
    compared(looked_up, (two_modes(0.01, 1), far), (20.0, 0.0))
    result = concluded(looked_up)
    assert (title(result), result.remedy.mitigation) == (CONFIRMED, "pin_to_cpu")
    assert result.remedy.claim.high < 1
    assert result.remedy.sd.high is None or result.remedy.sd.high > 1
    assert "(the SD does not show it (ratio 0." in headline(result)
    report = markdown_page(document(gather(looked_up.finish())))
    assert report.count("the SD does not show it (ratio 0.") == 3  # the headline, and two calls
    assert report.count("The SD does not show it (ratio 0.") == 5  # the comparisons, the table, and both batches


def test_a_spread_that_is_narrower_is_claimed(looked_up) -> None:
    compared(looked_up, (two_modes(0.01, 1), RNG(2).normal(0.2, 0.01, 60)), (20.0, 0.0))
    result = concluded(looked_up)
    assert title(result) == CONFIRMED
    assert result.remedy.claim.high is not None and result.remedy.claim.high < 1
    (part,) = factors_found(result)
    assert (part.factor, part.fell, result.remedy.mitigation) == ("cpu_migrations", True, "pin_to_cpu")
    assert "The SD" not in headline(result)
    assert "not shown to fall" not in headline(result)


def test_a_factor_that_did_not_fall_is_said_not_to_have(looked_up) -> None:
    compared(looked_up, (two_modes(0.01, 1), RNG(2).normal(0.2, 0.01, 60)), (20.0, 25.0))
    assert "not shown to fall" in headline(concluded(looked_up))


@pytest.fixture
def blind(diagnosis):
    """Runs of which no counter says anything, looked at, and a factor without a counter looked up."""
    seconds = two_modes(0.005, 7)
    diagnosis.measure(seconds)
    diagnosis.profile(seconds, {"migrations": RNG(8).integers(0, 4, 60) + 20.0})
    for tool in ("label", "rank_factors"):
        diagnosis.call(tool)
    return diagnosis


def test_where_no_counter_points_at_anything_what_has_none_may_be_looked_up_and_one_cure_of_it_tried(blind) -> None:
    ranking = Findings(blind.record).last(RankResult).result
    assert not ranking.visible and "memory_layout" in ranking.uncounted
    assert not any(load().factors[key].signals for key in ranking.uncounted)
    blind.call("look_up", factor="memory_layout")
    assert [c.mitigation for c in open_candidates(situation(blind.record, blind.limits))] == ["fixed_layout"]
    (slot,) = legal(blind.record, blind.limits).tools["look_up"]
    asked = {factor for (factor,) in slot.choices}
    assert "memory_layout" not in asked and set(asked) == {*ranking.uncounted} - {"memory_layout"}


def test_what_was_found_by_trying_is_claimed_and_said_to_have_no_counter(blind) -> None:
    blind.call("look_up", factor="memory_layout")
    for batch in (1, 2):
        arms = (two_modes(0.01, batch), RNG(batch).normal(0.2, 0.01, 60))
        blind.call("compare", call=blind.apply("fixed_layout", batch, arms, {}))
    report = markdown_page(document(gather(blind.finish())))
    result = concluded(blind)
    (part,) = factors_found(result)
    assert (title(result), part.factor, part.column) == (CONFIRMED, "memory_layout", None)
    assert headline(result).startswith("No counter shows memory layout, which was found by trying; fixed_layout brings")
    assert "No counter shows memory layout, which was found by trying" in report
    assert "of which only the first is tried" in report


def test_what_was_tried_blindly_and_did_not_help_is_named(blind) -> None:
    blind.call("look_up", factor="memory_layout")
    arms = (two_modes(0.01, 1), two_modes(0.01, 2))
    blind.call("compare", call=blind.apply("fixed_layout", 1, arms, {}))
    report = markdown_page(document(gather(blind.finish())))
    result = concluded(blind)
    assert title(result) == "cause not visible, remedy refuted"
    assert [one.mitigation for one in result.remedy.trials] == ["fixed_layout"]
    assert "fixed_layout does not help (spread ratio " in headline(result)
    suspects = report.partition("## Suspects without a counter")[2].partition("\n## ")[0]
    assert "env -i" in suspects and "setarch" not in suspects


def both(looked_up, mitigation: str, level: float, seed: int) -> None:
    for batch in (1, 2):
        arms = (two_modes(0.01, seed + batch), RNG(seed + batch).normal(level, 0.002 * level / 0.2, 60))
        looked_up.call("compare", call=looked_up.apply(mitigation, batch, arms, {"migrations": (20.0, 0.0)}))


def test_what_makes_the_mean_worse_is_claimed_only_where_nothing_else_is_confirmed(looked_up) -> None:
    both(looked_up, "sched_fifo", 0.29, 20)
    looked_up.call("conclude")
    alone = concluded(looked_up)
    assert (alone.remedy.kind, alone.remedy.mitigation, alone.remedy.mean.ratio > 1.1) == (
        "confirmed",
        "sched_fifo",
        True,
    )
    both(looked_up, "pin_to_cpu", 0.2, 10)
    looked_up.call("conclude")
    found = concluded(looked_up)
    assert (found.remedy.kind, found.remedy.mitigation) == ("confirmed", "pin_to_cpu")


def test_what_slow_runs_have_less_of_though_it_should_be_low_is_no_cause(diagnosis) -> None:
    seconds, columns = two_modes(0.005, 7), {"migrations": RNG(8).integers(0, 4, 60) + 20.0}
    columns["migrations"] -= np.where(seconds > 0.25, 15, 0)
    diagnosis.measure(seconds)
    diagnosis.profile(seconds, columns)
    for tool in ("label", "rank_factors", "conclude"):
        diagnosis.call(tool)
    ranking = Findings(diagnosis.record).last(RankResult).result
    assert (ranking.factors[0].column, ranking.factors[0].visible, ranking.visible) == ("migrations", True, False)
    result = concluded(diagnosis)
    assert title(result) == "cause not visible, remedy not tried"
    assert headline(result).startswith("Slow runs show less of migrations by more than luck (AUC 0.0")
    report = markdown_page(document(gather(diagnosis.finish())))
    assert "Slow runs show less of migrations by more than luck" in report and "| less in slow runs |" in report


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.cells(1)
def test_faults_of_which_the_time_is_made_are_named_though_their_rate_is_flat(diagnosis, seed) -> None:
    faults = RNG(seed).integers(5_000, 60_000, 120).astype(float)
    seconds = faults * 1e-6 * RNG(seed + 10).normal(1, 0.02, 120)
    diagnosis.measure(seconds)
    diagnosis.profile(seconds, {"minor_faults": faults, "irq.LOC": seconds * 250})
    for tool in ("label", "rank_factors"):
        diagnosis.call(tool)
    ranking = Findings(diagnosis.record).last(RankResult).result
    assert ranking.visible and ranking.factors[0].factor == "page_faults"


def test_the_work_of_a_throughput_is_not_named_as_its_cause(diagnosis) -> None:
    diagnosis.subject = Subject(
        command=("./ops",), argv=("/w/ops",), directory="/w", metric="ops (.*)", lower_is_better=False
    )
    work = RNG(5).integers(500, 1500, 120).astype(float)
    diagnosis.measure(work)
    diagnosis.profile(work, {"write_calls": work + 3, "minor_faults": RNG(6).integers(200, 260, 120).astype(float)})
    for tool in ("label", "rank_factors"):
        diagnosis.call(tool)
    ranking = Findings(diagnosis.record).last(RankResult).result
    assert "work" in ranking.set_aside["write_calls"]
    assert not ranking.visible
