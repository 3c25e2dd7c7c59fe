"""Recorded runs in place of the program: any order of calls, drawn by seed, and nothing that was not recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from vgo_agent.agent.planners.base import Choice, Planner, Rules, View
from vgo_agent.evals.contest.answer import ContestAnswer
from vgo_agent.evals.contest.loop import PlannerContestant
from vgo_agent.evals.recorded.bench import FIRST, NotRecorded, RecordedBench
from vgo_agent.evals.recorded.recorded_case import RecordedCase, definition, read_case
from vgo_agent.knowledge.loader import load
from vgo_agent.tools.row import BASELINE, Row

from ..agent.scripted import Scripted
from .cases_made import HELPS, Kind, made_case


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[Kind, RecordedCase]:
    folder = tmp_path_factory.mktemp("cases")
    kinds: tuple[Kind, ...] = ("faults", "noise", "steady")
    return {kind: read_case(made_case(folder, kind, runs=160, pairs=240)) for kind in kinds}


def answered(case: RecordedCase, planner: Planner | None = None, seed: int = 1) -> ContestAnswer:
    return PlannerContestant("tried", lambda _: planner or Rules()).answer(case.shown, seed)


def bench(case: RecordedCase, folder: Path, seed: int = 1) -> RecordedBench:
    return RecordedBench(case.shown, load(), seed, folder)


def served(one: RecordedBench, runs: int, layers: Sequence[str] = ()) -> Sequence[Row]:
    with one.series("c001", layers) as series:
        for _ in range(runs):
            series.run(BASELINE, one.launch)
        return series.rows


def paired(one: RecordedBench, case: RecordedCase, mitigation: str, pairs: int) -> Sequence[Row]:
    with one.change(load().mitigations[mitigation], case.recording.machine) as change, one.series("c005") as series:
        for pair in range(pairs):
            for condition in (BASELINE, mitigation):
                series.run(condition, change.launch, pair)
        return series.rows


def test_the_rule_policy_finds_the_cause_and_the_cure(cases: dict[Kind, RecordedCase]) -> None:
    answer = answered(cases["faults"])
    assert answer.verdict == "cause explained, remedy confirmed"
    assert (answer.causes[0], answer.mitigation) == ("page_faults", HELPS)
    assert answer.evidence == () and answer.ended == "" and answer.illegal == answer.fallbacks == 0


@pytest.mark.parametrize(("kind", "verdict"), [("noise", "cause not visible"), ("steady", "steady")])
def test_where_nothing_was_put_in_nothing_is_found(cases: dict[Kind, RecordedCase], kind: Kind, verdict: str) -> None:
    answer = answered(cases[kind])
    assert (answer.verdict.partition(", ")[0], answer.causes, answer.mitigation) == (verdict, (), "")
    assert answer.evidence == ()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_transcript_and_another_one_other_runs(cases: dict[Kind, RecordedCase]) -> None:
    first, again, other = (answered(cases["faults"], seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.transcript != other.transcript


def test_runs_are_served_in_their_order_and_the_first_ones_always(
    cases: dict[Kind, RecordedCase], tmp_path: Path
) -> None:
    recorded = [row["outcome"] for row in cases["faults"].shown.rows("baseline")]
    drawn = [row["outcome"] for row in served(bench(cases["faults"], tmp_path), 100)]
    places = [recorded.index(outcome) for outcome in drawn]
    assert places[:FIRST] == list(range(FIRST)) and places == sorted(places) and places != list(range(100))


def test_when_the_runs_have_run_out_that_is_said(cases: dict[Kind, RecordedCase], tmp_path: Path) -> None:
    with pytest.raises(NotRecorded, match="no further run of baseline"):
        served(bench(cases["faults"], tmp_path), 161)


def test_batches_share_no_pair_and_a_third_is_not_recorded(cases: dict[Kind, RecordedCase], tmp_path: Path) -> None:
    one = bench(cases["faults"], tmp_path)
    first, second = (paired(one, cases["faults"], HELPS, 120) for _ in range(2))
    outcomes = [{row["outcome"] for row in rows} for rows in (first, second)]
    assert not outcomes[0] & outcomes[1]
    with pytest.raises(NotRecorded, match="a third batch"):
        paired(one, cases["faults"], HELPS, 1)
    with pytest.raises(NotRecorded, match="only 120 pairs a batch"):
        paired(bench(cases["faults"], tmp_path), cases["faults"], HELPS, 121)


def test_both_runs_of_a_pair_were_made_together(cases: dict[Kind, RecordedCase], tmp_path: Path) -> None:
    recorded = {(a["outcome"], b["outcome"]) for a, b in cases["faults"].shown.pairs(HELPS)}
    rows = paired(bench(cases["faults"], tmp_path), cases["faults"], HELPS, 50)
    assert {(a["outcome"], b["outcome"]) for a, b in zip(rows[::2], rows[1::2], strict=True)} <= recorded


def test_only_columns_of_the_layers_that_were_asked_for_are_served(
    cases: dict[Kind, RecordedCase], tmp_path: Path
) -> None:
    one = bench(cases["faults"], tmp_path)
    with one.series("c002", ("process",)) as series:
        series.run(BASELINE, one.launch)
        series.run(BASELINE, one.launch, layers=())
    assert "minor_faults" in series.rows[0] and series.rows[0]["layers"] == "process"
    assert "minor_faults" not in series.rows[1] and series.rows[1]["layers"] == ""


def test_what_was_not_recorded_is_counted_apart_and_the_planner_goes_on(cases: dict[Kind, RecordedCase]) -> None:
    @dataclass(frozen=True)
    class TriesAnother:
        name: str = "tries another"

        def choose(self, view: View) -> Choice:
            tried = [call for call in view.record.calls if call.tool == "apply_mitigation"]
            choice = Rules().choose(view)
            if choice.tool == "apply_mitigation" and not tried:
                return Choice("apply_mitigation", {"mitigation": "jemalloc", "batch": 1, "pairs": 40}, "another one")
            return choice

    case = cases["faults"]
    offered = "jemalloc" in {key for key in load().factors["page_faults"].mitigations}
    assert offered and "jemalloc" not in case.recording.trials
    machine = case.recording.machine.model_copy(update={"libraries": ("libjemalloc.so.2",)})
    recording = case.recording.model_copy(update={"machine": machine})
    answer = answered(RecordedCase(case.folder, case.file, recording, case.layers), TriesAnother())
    assert answer.not_recorded == ("not recorded: no pairs with jemalloc; choose another.",)
    assert answer.illegal == 0 and answer.verdict == "cause explained, remedy confirmed"


@pytest.mark.parametrize("kept", ["", "as it is", "as it was"])
def test_pairs_of_a_mitigation_that_does_something_else_by_now_are_not_recorded(
    cases: dict[Kind, RecordedCase], tmp_path: Path, kept: str
) -> None:
    case, now = cases["faults"], definition(load().mitigations[HELPS])
    trial = case.recording.trials[HELPS].model_copy(update={"definition": now if kept == "as it is" else kept})
    trials = {**case.recording.trials, HELPS: trial}
    older = RecordedCase(case.folder, case.file, case.recording.model_copy(update={"trials": trials}), case.layers)
    one = bench(older, tmp_path)
    if kept == "as it was":
        with pytest.raises(NotRecorded, match="as it is defined now"):
            paired(one, older, HELPS, 1)
    else:
        assert paired(one, older, HELPS, 1)


def test_illegal_and_repeated_calls_are_counted(cases: dict[Kind, RecordedCase]) -> None:
    measure = Choice("measure", {"max_runs": 60, "max_seconds": 100}, "")
    script = Scripted([measure, measure, Choice("fit_tree", {}, "too early")])
    answer = answered(cases["faults"], script)
    assert (answer.illegal, answer.repeated, answer.calls) == (2, 1, 4)
