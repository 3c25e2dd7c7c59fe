"""The budget is kept by the clock: what decides it is recorded, and what it ended before is named and can go on."""

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vgo_agent.agent.cli import main
from vgo_agent.agent.clock import BudgetClock
from vgo_agent.agent.diagnosis import conduct
from vgo_agent.agent.graph import Loop
from vgo_agent.agent.legal import after_s, legal, situation
from vgo_agent.agent.live import Live
from vgo_agent.agent.place import way_of
from vgo_agent.agent.planners.base import Rules
from vgo_agent.agent.record import bodies, record_of
from vgo_agent.agent.run_folder import ChildFile, RunFolder
from vgo_agent.agent.schemas import schemas_digest
from vgo_agent.agent.step import StepRequest, begin
from vgo_agent.agent.transcript import (
    Decision,
    LimitsChanged,
    RunEnd,
    RunStart,
    ToolEnd,
    ToolStart,
    Transcript,
    VerdictGiven,
    canonical,
    elapsed_s,
    read,
)
from vgo_agent.evals.contest.loop import Silent
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.loader import load
from vgo_agent.tools.execution.bench import Bench
from vgo_agent.tools.execution.expected import Deadline, Expected
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.row_log import ProgressEvent
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.execution.way import try_once
from vgo_agent.tools.findings import Findings
from vgo_agent.tools.record import Record
from vgo_agent.tools.subject import Limits, Subject
from vgo_agent.tools.survey import survey
from vgo_agent.tools.verdict import confirmed, from_json, left_for_time
from vgo_agent.tools.verdict_words import headline

PROGRAM = """
import mmap, os, time
pages = (12 << 10) if os.urandom(1)[0] < 100 else 256
mmap.mmap(-1, pages << 12)[:: 1 << 12] = b"x" * pages
print("cpu_ms", time.process_time_ns() / 1e6)
"""
"""Judged by its own CPU time; its cause is in the counters of page faults, and no allocator is asked for the pages."""


class Hand:
    """A clock that is put on by hand."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def subject_of(folder: Path, code: str = PROGRAM, **more: Any) -> Subject:
    argv = (sys.executable, "-I", "-S", "-c", code)
    return Subject(command=argv, argv=argv, directory=str(folder), **more)


class OnRuns(Silent):
    """Lets every run take so many seconds of the clock, and every step one."""

    def __init__(self, hand: Hand, run_s: float) -> None:
        self.hand, self.run_s = hand, run_s

    def progressed(self, event: ProgressEvent) -> None:
        self.hand.now_s += self.run_s

    def decided(self, decision: Decision) -> None:
        self.hand.now_s += 1.0


@contextmanager
def loop(folder: Path, run_s: float, **limits: Any) -> Iterator[Loop]:
    """A live loop whose clock counts runs, not seconds."""
    hand = Hand()
    watcher = OnRuns(hand, run_s)
    subject = subject_of(folder, metric="cpu_ms ([0-9.]+)", unit="ms")
    run, knowledge = RunFolder.create(folder, "loop"), load()
    machine = survey(subject, [mitigation.applies for mitigation in knowledge.mitigations.values()])
    start = RunStart(
        subject=subject,
        limits=Limits(min_runs=10, **limits),
        planner="rules",
        machine=run.put(canonical(machine.model_dump(mode="json"))),
        knowledge=knowledge.digest,
        schemas=schemas_digest(),
    )
    clock = BudgetClock(0.0, now_s=hand)
    with Spawner() as spawner:
        launch = Launch(argv=subject.argv, directory=folder)
        bench = Bench(subject, spawner, run.partial, launch, watcher.progressed, ChildFile(run.child))
        live = Live(run, subject, machine, knowledge, bench, watcher, clock=clock)
        yield Loop(start, Rules(), Transcript.open(run.transcript), live, run)
        bench.close()


@pytest.mark.slow
def test_no_block_is_begun_that_does_not_fit_and_what_was_left_is_named(tmp_path):
    with loop(tmp_path, 0.3, budget_s=75.0, max_runs=60) as built:
        built.run(Silent().approve)
        events = built.transcript.events
        record = record_of(events, built.store)
    verdict = Findings(record).verdict
    assert elapsed_s(events) <= 75.0
    assert left_for_time(verdict)
    if not confirmed(verdict):
        assert "before the budget ended" in headline(verdict)
    told = [event.body.elapsed_s for event in events if isinstance(event.body, ToolStart | ToolEnd)]
    times = [one for one in told if one is not None]
    assert len(times) == len(told) and times == sorted(times)
    assert record.spent_s == elapsed_s(events) and record.program_s > 0


@pytest.mark.slow
def test_a_run_that_has_room_names_nothing(tmp_path):
    with loop(tmp_path, 0.01, budget_s=1e6, max_runs=40, max_mitigations=1) as built:
        built.run(Silent().approve)
        record = record_of(built.transcript.events, built.store)
    assert left_for_time(Findings(record).verdict) == ()


def recorded(run_s: float, took_s: float, **limits: Any) -> tuple[Record, Limits]:
    """The format_1 baseline as if a clock had run beside it: so many seconds of the program, so many by the clock."""
    events = list(read(Path(__file__).with_name("format_1.jsonl")))
    record = record_of([event for event in events if not isinstance(event.body, RunEnd)], Nothing())
    first = record.calls[0]
    runs = (first.result or {})["processes"]
    result = {**(first.result or {}), "spent_s": run_s * runs, "unusable": ""}
    return Record((replace(first, result=result, began_s=5.0, ended_s=5.0 + took_s),), record.store), Limits(**limits)


class Nothing:
    def get(self, sha256: str) -> bytes:
        raise KeyError(sha256)


def test_pairs_are_paid_for_by_what_a_run_takes_with_all_that_lies_between_two():
    lean, limits = recorded(0.01, 0.2, budget_s=100.0)
    slow, _ = recorded(0.01, 20.0, budget_s=100.0)
    assert situation(slow, limits).affordable_pairs() < situation(lean, limits).affordable_pairs() / 10
    room_s = limits.budget_s - slow.spent_s - after_s(slow, limits)
    assert situation(slow, limits).affordable_pairs() * 2 * 1.0 <= room_s
    assert situation(replace(slow, reopened_s=99.0), limits).affordable_pairs() == 0


def test_a_slow_start_keeps_more_for_the_end_and_a_long_run_does_not():
    usual, limits = recorded(0.01, 1.0, budget_s=100.0)
    slow = replace(usual, calls=(replace(usual.calls[0], began_s=20.0, ended_s=21.0),))
    assert after_s(slow, limits) > 2 * after_s(usual, limits)
    long, _ = recorded(15.0, 1.0)
    began_late = replace(long, calls=(replace(long.calls[0], began_s=20.0, ended_s=21.0),))
    assert after_s(began_late, limits) == pytest.approx(after_s(usual, limits), rel=0.01)
    before = replace(usual, calls=())
    assert after_s(before, limits, now_s=20.0) > after_s(before, limits, now_s=2.0)


def test_where_no_clock_ran_the_seconds_of_the_program_decide():
    record, limits = recorded(0.01, 20.0, budget_s=100.0)
    plain = Record(tuple(replace(call, began_s=None, ended_s=None) for call in record.calls), record.store)
    assert plain.spent_s == plain.program_s == pytest.approx(0.2)
    assert situation(plain, limits).affordable_pairs() == int((100.0 - 0.2) / (2 * 0.01))


def test_a_step_that_only_the_budget_forbids_is_named():
    record, limits = recorded(0.01, 20.0, budget_s=26.0)
    now = legal(record, limits)
    assert "profile" not in now.tools and now.ran_out == ("a profile",)
    assert legal(record, limits.model_copy(update={"budget_s": 600.0})).ran_out == ()


def measure_for(subject: Subject, seconds: float, out: Path) -> None:
    asked = {"max_runs": 9, "max_seconds": seconds}
    limits = Limits(budget_s=seconds)
    request = StepRequest(kind="measurement", subject=subject, limits=limits, arguments=asked, why="")
    begin(request, out, "slow", Silent(), BudgetClock())


def test_one_run_that_is_longer_than_the_budget_ends_in_one_sentence(tmp_path):
    subject = subject_of(tmp_path, "import time; time.sleep(3600)")
    with pytest.raises(VgoError, match="One run takes longer than the budget of 1.5 s: raise --budget, or give a shor"):
        measure_for(subject, 1.5, tmp_path)


def test_a_trial_run_is_ended_with_the_budget_whatever_the_timeout(tmp_path):
    subject = subject_of(tmp_path, "import time; time.sleep(3600)", timeout_s=3000.0)
    deadline = Deadline(0.2, Hand())
    with Spawner() as spawner, pytest.raises(VgoError, match=r"One run takes longer than the budget of 0.2 s"):
        try_once(spawner, way_of(subject), subject, deadline=deadline)
    with Spawner() as spawner, pytest.raises(VgoError, match=r"The start took the budget of 0.2 s"):
        try_once(spawner, way_of(subject), subject, deadline=deadline, before=Expected())


def test_a_later_trial_run_that_hangs_costs_a_limit_and_not_the_budget(tmp_path):
    code = "import os, time; time.sleep(3600 if os.path.exists('again') else 0); open('again', 'w').close()"
    subject = subject_of(tmp_path, code)
    with Spawner() as spawner:
        shown = try_once(spawner, way_of(subject), subject, deadline=Deadline(3600.0, Hand()))
        assert shown.longest_s > 0
        assert try_once(spawner, way_of(subject), subject, deadline=Deadline(3600.0, Hand()), before=shown) == shown


def test_a_run_that_the_budget_ends_is_no_failure_and_no_row(tmp_path):
    code = "import os, sys, time; time.sleep(3600 if os.path.exists('long') else 0); open('long', 'w').close()"
    subject = subject_of(tmp_path, code)
    with Spawner() as spawner:
        launch = Launch(argv=subject.argv, directory=tmp_path)
        bench = Bench(subject, spawner, tmp_path / "partial", launch, deadline=Deadline(0.4, Hand()))
        with bench.series("c001") as series:
            series.run("baseline", launch)
            assert not series.cut
            series.run("baseline", launch)
            assert series.cut and series.over and len(series.rows) == 1
        bench.close()


def test_a_run_that_hangs_until_the_budget_ends_is_a_failed_run_and_told_as_one(tmp_path):
    """A program that ends at once in its trial run, and in its first run of the baseline does not."""
    code = "import os, time; time.sleep(3600 if os.path.exists('again') else 0); open('again', 'w').close()"
    subject = subject_of(tmp_path, code)
    said = r"No run ended well within the budget of 6 s \(1 x did not end within .* s\); end runs that hang sooner with"
    with pytest.raises(VgoError, match=said):
        measure_for(subject, 6.0, tmp_path)


def test_the_clock_stands_still_while_a_person_is_asked():
    hand = Hand()
    clock = BudgetClock(0.0, before_s=10.0, now_s=hand)
    hand.now_s = 2.0
    with clock.waiting():
        hand.now_s = 1000.0
    assert clock.elapsed_s() == 12.0
    assert clock.deadline(60.0, kept_s=8.0).left_s == 40.0


@pytest.mark.slow
def test_a_verdict_for_want_of_time_goes_on_with_more_of_it(tmp_path, capsys, monkeypatch):
    """The whole way through the front door: diagnose, resume --budget, verify, replay."""
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "faults.py"
    program.write_text(f"#!{sys.executable} -IS{PROGRAM}")
    program.chmod(0o755)
    words = ["--json", "--quiet", "--budget", "20", "--min-runs", "10", "--max-runs", "80"]
    conduct()  # loads what a diagnosis needs, which takes its time where much else goes on
    main(["diagnose", *words, "--metric", "cpu_ms ([0-9.]+)", "--steady-cv", "0", str(program)])
    first = json.loads(capsys.readouterr().out)
    assert "error" not in first, first
    run = Path(first["run_dir"])
    assert (
        left_for_time(from_json(first["verdict"])) and first["budget_s"] == 20 and first["spent_s"] < first["elapsed_s"]
    )
    named = (run / "report.md").read_text()
    assert first["resume"] in named
    before = read(run / "transcript.jsonl")
    again = shlex.split(first["resume"])[1:]
    assert again[:1] == ["resume"] and again[-2] == "--budget" and float(again[-1]) >= 20
    assert main([*again[:-1], "15", "--json", "--quiet"]) == 0
    second = json.loads(capsys.readouterr().out)
    after = read(run / "transcript.jsonl")
    assert [event.hash for event in after[: len(before) - 1]] == [event.hash for event in before[:-1]]
    more = after[len(before) - 1].body
    assert isinstance(more, LimitsChanged) and more.limits.budget_s == pytest.approx(elapsed_s(before) + 15)
    added = [event.body.tool for event in after[len(before) :] if isinstance(event.body, Decision)]
    assert len(added) > 1 and added[-1] == "conclude" and len(bodies(after, VerdictGiven)) == 2
    assert second["budget_s"] == more.limits.budget_s and second["elapsed_s"] > first["elapsed_s"]
    assert main(["verify", str(run)]) == 0
    assert main(["verify", "--recompute", str(run)]) == 0, capsys.readouterr()
