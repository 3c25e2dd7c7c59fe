"""The loop with a scripted planner: illegal calls mend, the gate asks, the machine is put back."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from vgo_agent.agent.graph import Loop
from vgo_agent.agent.live import Live
from vgo_agent.agent.planners.base import Choice
from vgo_agent.agent.record import bodies, record_of
from vgo_agent.agent.run_folder import ChildFile, RunFolder
from vgo_agent.agent.schemas import schemas_digest
from vgo_agent.agent.transcript import Approval, Decision, RunStart, ToolEnd, Transcript, VerdictGiven, canonical
from vgo_agent.knowledge.loader import load
from vgo_agent.tools.execution.bench import Bench
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.row_log import ProgressEvent
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.remedies import not_accepted
from vgo_agent.tools.subject import NO_PLAN, Limits, Subject, TrialPlan
from vgo_agent.tools.survey import survey

from .scripted import Scripted

PROGRAM = """
import os, time
block = b"x" * ((48 << 20) if os.urandom(1)[0] < 100 else (1 << 20))
print("cpu_ms", time.process_time_ns() / 1e6)
"""
"""Judged by its own CPU time, so that what else this machine does counts for little."""
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
TO_LOOK_UP = (
    Choice("measure", {"max_runs": 40, "max_seconds": 30.0}, ""),
    Choice("profile", {"layers": ["process"], "runs": 60, "max_seconds": 30.0}, ""),
    Choice("label", {}, ""),
    Choice("rank_factors", {}, ""),
    Choice("look_up", {"factor": "page_faults"}, ""),
)
TRY_THP = Choice("apply_mitigation", {"mitigation": "thp_always", "pairs": 10, "batch": 1}, "")


@dataclass
class Watcher:
    """Answers the gate and remembers what it was asked."""

    answer: dict[str, Any] = field(default_factory=lambda: {"granted": False, "by": "user", "reason": "not today"})
    asked: list[Mapping[str, Any]] = field(default_factory=list)

    def trying(self, command: str) -> None: ...
    def loading(self, command: str, folder: str) -> None: ...
    def decided(self, decision: Decision) -> None: ...
    def progressed(self, event: ProgressEvent) -> None: ...
    def ended(self, decision: Decision, end: ToolEnd) -> None: ...

    def approve(self, question: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append(question)
        return self.answer


@contextmanager
def loop(
    folder: Path, choices: tuple[Choice, ...], watcher: Watcher, plan: TrialPlan = NO_PLAN, **limits: Any
) -> Iterator[Loop]:
    """A live loop on a program whose slow runs fault more pages."""
    argv = (sys.executable, "-I", "-S", "-c", PROGRAM)
    subject = Subject(command=argv, argv=argv, directory=str(folder), metric="cpu_ms ([0-9.]+)", unit="ms")
    run = RunFolder.create(folder, "loop")
    knowledge = load()
    machine = survey(subject, [mitigation.applies for mitigation in knowledge.mitigations.values()])
    start = RunStart(
        subject=subject,
        limits=Limits(**limits),
        planner="scripted",
        machine=run.put(canonical(machine.model_dump(mode="json"))),
        knowledge=knowledge.digest,
        schemas=schemas_digest(),
        plan=plan,
    )
    with Spawner() as spawner:
        launch = Launch(argv=argv, directory=folder)
        bench = Bench(subject, spawner, run.partial, launch, watcher.progressed, ChildFile(run.child))
        live = Live(run, subject, machine, knowledge, bench, watcher, plan)
        yield Loop(start, Scripted(choices), Transcript.open(run.transcript), live, run)
        bench.close()


def errors(built: Loop) -> list[str]:
    return [end.error for end in bodies(built.transcript.events, ToolEnd) if end.error]


def test_an_illegal_call_becomes_an_error_that_names_what_is_legal(tmp_path):
    watcher = Watcher()
    with loop(
        tmp_path, (Choice("profile", {"layers": ["process"], "runs": 9, "max_seconds": 1}, ""),), watcher
    ) as built:
        built.run(watcher.approve)
    assert errors(built) == ["profile is not legal now; legal are measure, conclude."]
    assert bodies(built.transcript.events, VerdictGiven)[-1].verdict == "unusable"


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (Choice("measure", {"max_runs": 40}, ""), "max_seconds"),
        (Choice("measure", {"max_runs": -1, "max_seconds": 1.0}, ""), "max_runs"),
        (Choice("measure", {"max_runs": 40, "max_seconds": 1.0, "shell": "rm -rf /"}, ""), "shell"),
        (Choice("no_such_tool", {}, ""), "no_such_tool is not legal"),
    ],
)
def test_arguments_outside_the_schema_are_refused(tmp_path, choice, words):
    watcher = Watcher()
    with loop(tmp_path, (choice,), watcher) as built:
        built.run(watcher.approve)
    assert words in errors(built)[0]


def test_after_repeated_errors_the_rule_policy_takes_over(tmp_path):
    watcher = Watcher()
    nonsense = tuple(Choice("compare", {"call": "c999"}, "") for _ in range(30))
    with loop(tmp_path, nonsense, watcher, max_runs=20, allow="none") as built:
        built.run(watcher.approve)
    origins = [decision.origin for decision in bodies(built.transcript.events, Decision)]
    assert origins[:4] == ["scripted", "scripted", "scripted", "fallback"]
    assert bodies(built.transcript.events, VerdictGiven)


needs_root = pytest.mark.skipif(
    os.getuid() != 0 or not os.access(THP, os.W_OK),
    reason="writing transparent_hugepage/enabled needs root and the file",
)


@needs_root
def test_a_system_mitigation_is_asked_about_and_a_denial_leaves_the_knob_alone(tmp_path):
    before, watcher = THP.read_text(), Watcher()
    with loop(tmp_path, (*TO_LOOK_UP, TRY_THP), watcher) as built:
        built.run(watcher.approve)
    (line,) = watcher.asked[0]["would"]
    assert line.startswith(f"write always to {THP} (now ")
    approval = bodies(built.transcript.events, Approval)[-1]
    assert (approval.granted, approval.by, approval.reason) == (False, "user", "not today")
    assert THP.read_text() == before


@needs_root
def test_a_granted_system_mitigation_is_proved_measured_and_put_back(tmp_path):
    before, watcher = THP.read_text(), Watcher({"granted": True, "by": "user", "reason": "yes"})
    with loop(tmp_path, (*TO_LOOK_UP, TRY_THP), watcher) as built:
        built.run(watcher.approve)
    end = [end for end in bodies(built.transcript.events, ToolEnd) if end.result and "checks" in end.result][-1]
    assert end.result is not None
    assert all(check["passed"] for check in end.result["checks"])
    assert {check["level"] for check in end.result["checks"]} >= {1}
    assert end.result["pairs"] == 10
    assert THP.read_text() == before


IN_MEMORY = TrialPlan(mitigation="tmpfs_directory")
TRY_IN_MEMORY = (
    Choice("measure", {"max_runs": 12, "max_seconds": 30.0}, ""),
    Choice("profile", {"layers": ["process"], "runs": 2, "max_seconds": 30.0}, ""),
    Choice("apply_mitigation", {"mitigation": "tmpfs_directory", "values": {}, "pairs": 2, "batch": 1}, ""),
)


def promises_declined(built: Loop) -> dict[str, str]:
    return not_accepted(record_of(built.transcript.events, built.store), load())


def test_what_changes_a_promise_is_asked_about_though_it_touches_only_the_program(tmp_path):
    watcher = Watcher()
    with loop(tmp_path, TRY_IN_MEMORY, watcher, IN_MEMORY, min_runs=10) as built:
        built.run(watcher.approve)
    (question,) = watcher.asked
    assert "gone at a power cut" in question["changes_promise"]
    assert question["scope"] == "process" and question["accept"] == "tmpfs_directory"
    assert promises_declined(built) == {"tmpfs_directory": question["changes_promise"]}


def test_a_promise_that_was_accepted_beforehand_is_not_asked_about(tmp_path):
    watcher = Watcher()
    with loop(tmp_path, TRY_IN_MEMORY, watcher, IN_MEMORY, min_runs=10, accept=("tmpfs_directory",)) as built:
        built.run(watcher.approve)
    assert not watcher.asked
    assert promises_declined(built) == {}
    (applied,) = [
        end.result for end in bodies(built.transcript.events, ToolEnd) if end.result and "checks" in end.result
    ]
    assert applied["in_force"] and not applied["broke"]


@needs_root
@pytest.mark.slow
def test_with_allow_system_nobody_is_asked(tmp_path):
    watcher = Watcher()
    with loop(tmp_path, (*TO_LOOK_UP, TRY_THP), watcher, allow="system") as built:
        built.run(watcher.approve)
    assert watcher.asked == []
    assert bodies(built.transcript.events, Approval)[-1].by == "policy"


@pytest.mark.slow
def test_with_allow_none_nothing_is_offered(tmp_path):
    watcher = Watcher()
    with loop(tmp_path, (*TO_LOOK_UP, TRY_THP), watcher, allow="none") as built:
        built.run(watcher.approve)
    assert "apply_mitigation is not legal now" in errors(built)[0]
    assert not bodies(built.transcript.events, Approval)
