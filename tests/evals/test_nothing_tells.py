"""Before it has answered, whoever answers finds no word anywhere that comes from the one who made the case."""

from __future__ import annotations

import gc
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from polars import selectors as cs

from vgo_agent.agent.planners.base import Choice, Rules, View
from vgo_agent.agent.transcript import Transcript
from vgo_agent.evals.contest.answer import ContestAnswer
from vgo_agent.evals.contest.contestants import Oracle
from vgo_agent.evals.contest.loop import PlannerContestant
from vgo_agent.evals.recorded.folders import CASE, RECORDING, TRUTH
from vgo_agent.evals.recorded.gate import load_cases
from vgo_agent.evals.recorded.recorded_case import RecordedCase, ShownCase, read_case
from vgo_agent.evals.recorded.truth import read_truth
from vgo_agent.evals.run import Contest, EvaluationPace, EvaluationTask, rows
from vgo_agent.knowledge.loader import load
from vgo_agent.tools.mitigation.preconditions import unmet

from .cases_made import HELPS, made_case, sealed

MARK = "zebra"
"""In every word of a marked case that could tell of its cause."""
NOSY = f"""
import os, sys
from pathlib import Path
from vgo_agent.evals.contest.answer import ContestAnswer

class Nosy:
    name = "nosy"
    def answer(self, case, seed):
        own = [*map(str, os.environ.items()), os.getcwd(), *sys.argv, Path("/proc/self/cmdline").read_text()]
        return ContestAnswer(verdict="remedy confirmed", causes=tuple(word for word in own if {MARK!r} in word))

CONTESTANTS = {{"nosy": lambda cases: Nosy()}}
"""


def marked(folder: Path, mark: str = MARK, **truth: Any) -> RecordedCase:
    """A made case with the mark in every word that a person, a path or the truth puts into it."""
    case = made_case(folder, key=f"{mark}-key")
    change_yaml(
        case / CASE,
        title=f"{mark} title",
        tags=[f"{mark}-tag"],
        workload=f"{mark}-workload",
        made_by=f"{mark} made it",
        history=[f"{mark} was renamed"],
    )
    change_yaml(case / TRUTH, why=f"{mark} knows", **truth)
    recording = json.loads((case / RECORDING).read_text())
    program = [f"/{mark}/bin/python", "-I", f"/{mark}/{mark}_program.py", f"/{mark}/{mark}.bin", f"--{mark}"]
    recording["subject"] |= {"command": program, "argv": program, "directory": f"/{mark}", "inputs": [program[3]]}
    recording["machine"] |= {"program_sha256": f"{mark}5ha", "libraries": ["libjemalloc.so.2"], "program_python": True}
    recording["trials"][HELPS]["told"] = [f"/{mark}/{mark}_program.py was started again"]
    recording["trials"][HELPS]["checks"][0]["seen"] = f"{mark}.bin 100%"
    recording["refused"] = {"jemalloc": f"/{mark} holds more than fits"}
    (case / RECORDING).write_text(json.dumps(recording))
    sealed(case)
    return read_case(case)


def change_yaml(path: Path, **values: Any) -> None:
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | values))


def texts(case: ShownCase) -> Iterator[str]:
    """Every word of a case that is shown."""
    yield from (case.question, str(case.limits), str(case.recording), str(case.layers), str(case.ticket))
    yield from case.table.columns
    for name in case.table.select(cs.string()).columns:
        yield from map(str, case.table[name].unique())


@dataclass
class Nosy:
    """The rule policy, with all that it could read before each decision."""

    name: str = "rules"
    read: list[str] = field(default_factory=list)

    def choose(self, view: View) -> Choice:
        self.read += [repr(view), os.getcwd()]
        folder = view.record.store.path  # type: ignore[attr-defined]
        self.read += [path.read_text() if path.is_file() else str(path) for path in folder.rglob("*")]
        transcripts = [one for one in gc.get_objects() if isinstance(one, Transcript)]
        self.read += [str(event) for transcript in transcripts for event in transcript.events]
        return Rules().choose(view)


def answered(case: ShownCase, planner: Nosy) -> ContestAnswer:
    return PlannerContestant("rules", lambda _: planner).answer(case, 1)


def test_no_word_of_the_case_reaches_whoever_answers(tmp_path: Path) -> None:
    case, nosy = marked(tmp_path), Nosy()
    assert not [text for text in texts(case.shown) if MARK in text]
    answer = answered(case.shown, nosy)
    assert answer.verdict == "cause explained, remedy confirmed" and HELPS in answer.tried
    read = "\n".join(nosy.read)
    assert "RunStart" in read and "./program" in read and "input-1 100%" in read
    assert MARK not in read


def test_a_process_that_answers_is_told_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nosy_contestants.py").write_text(NOSY)
    monkeypatch.syspath_prepend(tmp_path)
    case = marked(tmp_path / "cases")
    contest = Contest((case.folder,), "nosy_contestants:CONTESTANTS")
    [row] = rows(contest, [EvaluationTask("nosy", case.folder, 1)], EvaluationPace(jobs=1))
    assert (row.answer.verdict, row.answer.causes) == ("remedy confirmed", ())


@pytest.mark.slow
def test_another_name_and_another_truth_leave_the_whole_diagnosis_as_it_was(tmp_path: Path) -> None:
    first = marked(tmp_path / "a")
    other = marked(tmp_path / "b", "gnu", verdicts=["remedy confirmed"], causes=["io_wait"], accepted=["jemalloc"])
    assert list(texts(first.shown))[:3] == list(texts(other.shown))[:3]
    assert answered(first.shown, Nosy()) == answered(other.shown, Nosy())
    oracle = Oracle([first, other])
    assert oracle.answer(first.shown, 1).causes == ("page_faults",)
    assert oracle.answer(other.shown, 1).causes == ("io_wait",)


def test_what_may_be_tried_is_decided_as_if_the_program_had_its_name(tmp_path: Path) -> None:
    case = marked(tmp_path)
    named, shown = case.recording, case.shown.recording
    for mitigation in load().mitigations.values():
        reasons = [unmet(mitigation.applies, one.machine, one.subject, 1.0) for one in (named, shown)]
        assert reasons[0] == reasons[1]
    hash_seed, inputs = (load().mitigations[key].applies for key in ("python_hash_seed", "prewarm_inputs"))
    assert hash_seed.python and inputs.inputs and unmet(inputs, shown.machine, shown.subject, 1.0) == ()


SHIPPED = {case.file.key: case for case in load_cases() if isinstance(case, RecordedCase)}


@pytest.mark.parametrize("key", SHIPPED)
def test_a_case_that_comes_along_does_not_tell_its_program(key: str) -> None:
    case = SHIPPED[key]
    paths = [word for word in case.recording.subject.command if "/" in word]
    names = {Path(word).name for word in paths if not Path(word).name.startswith("python")}
    assert names
    told = "\n".join(texts(case.shown))
    assert not [word for word in (*paths, *names, "workloads") if word in told]


@pytest.mark.parametrize("key", SHIPPED)
def test_the_question_of_a_case_that_comes_along_does_not_name_its_cause(key: str) -> None:
    truth = read_truth(SHIPPED[key].folder)
    asked = set(re.findall(r"[a-z]+", SHIPPED[key].file.question.lower()))
    assert not [cause for cause in (*truth.causes, *truth.also_true) if asked & {*cause.split("_")}]
