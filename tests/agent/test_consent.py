"""The four answers: what each records, which later questions it covers, and what it does to a whole diagnosis."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from vgo_agent.agent.answers.conversation import facts_for
from vgo_agent.agent.consent import BY_HAND, FOUR, answers_to, covered, numbered, recorded, typed
from vgo_agent.agent.graph import Loop
from vgo_agent.agent.legal import situation
from vgo_agent.agent.live import Live
from vgo_agent.agent.planners.base import Rules
from vgo_agent.agent.progress import ask, ask_program
from vgo_agent.agent.record import bodies, record_of
from vgo_agent.agent.run_folder import RunFolder
from vgo_agent.agent.schemas import schemas_digest
from vgo_agent.agent.transcript import Approval, Decision, RunStart, ToolEnd, Transcript, VerdictGiven, canonical
from vgo_agent.evals.contest.loop import Silent
from vgo_agent.evals.recorded.bench import RecordedBench
from vgo_agent.evals.recorded.recorded_case import read_case
from vgo_agent.knowledge.loader import load
from vgo_agent.tools.case import changes_system, open_candidates
from vgo_agent.tools.findings import Findings
from vgo_agent.tools.subject import NO_MORE
from vgo_agent.tools.verdict_words import headline

CASES = Path(__file__).parents[2] / "evals/cases"
MANY, ONE, FEW = CASES / "busy-disk", CASES / "memory-limit", CASES / "realtime-hog"
"""Recorded runs in which the rules come to several changes of the system, to one; with few, none is proved to help."""
WRITES = {
    "mitigation": "m",
    "scope": "system",
    "would": ["write 1 to /x (now 0)"],
    "hurts": "others wait",
    "why": "next",
    "origin": "rules",
}
STEPS = {"mitigation": "m", "scope": "code", "steps": ["do it"]}


@pytest.mark.parametrize(
    ("line", "key", "reason"),
    [
        ("1", "once", ""),
        ("yes", "once", ""),
        ("Once.", "once", ""),
        ("2", "process", ""),
        ("this, and all that need no system change", "process", ""),
        ("3", "no-system", ""),
        ("no system change at all", "no-system", ""),
        ("4", "no", ""),
        ("no", "no", ""),
        ("No, because others use this machine", "no", "others use this machine"),
        ("4 because it is shared", "no", "it is shared"),
    ],
)
def test_an_answer_is_read_as_it_is_meant(line: str, key: str, reason: str) -> None:
    assert typed(line, WRITES) == {"answer": key, "reason": reason}


@pytest.mark.parametrize(
    "line", ["", "what does it change?", "no idea what that is", "yes?", "never mind", "1 or 2?", "done", "5", "0"]
)
def test_what_is_not_wholly_an_answer_is_none(line: str) -> None:
    assert typed(line, WRITES) is None


def test_letters_are_no_answer_where_only_numbers_are() -> None:
    assert all(numbered(line, WRITES) is None for line in ("yes", "no", "once", "process", "no-system"))
    assert numbered(" 3 ", WRITES) == {"answer": "no-system", "reason": ""}


def test_a_person_who_does_it_answers_done_skip_or_never() -> None:
    assert answers_to(STEPS) == BY_HAND
    assert recorded(STEPS, {"answer": "never"})["reason"] == NO_MORE
    assert recorded(STEPS, {"answer": "done"})["granted"] and typed("1", STEPS) == {"answer": "done", "reason": ""}


def test_an_answer_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="once, process, no-system, no"):
        recorded(WRITES, {"answer": "sure"})


def lines(*typed_lines: str) -> Callable[[], str]:
    left = iter((*(f"{line}\n" for line in typed_lines), ""))
    return lambda: next(left)


def test_at_a_terminal_questions_are_answered_an_empty_line_decides_nothing_and_the_end_refuses() -> None:
    said: list[str] = []

    def say(text: str, end: str) -> None:
        said.append(text)

    answer = ask(WRITES, ["m:"], lines("", "what does it change?", "2"), say)
    assert (answer["granted"], answer["standing"]) == (True, "grant process")
    assert "  write 1 to /x (now 0)" in said
    assert sum("2. This, and all that need no system change" in line for line in said) == 2  # shown again
    refused = ask(WRITES, ["m:"], lines(""), say)
    assert (refused["granted"], refused["by"]) == (False, "policy") and "the input has ended" in said[-1]


def test_a_program_is_asked_and_answers_by_a_line_of_json_each() -> None:
    out: list[str] = []
    read = lines("", "nonsense", '{"answer": "sure"}', '{"ask": "is it safe?"}', '{"answer": "no-system"}')
    answer = ask_program(WRITES, read, out.append)
    assert (answer["granted"], answer["by"], answer["standing"]) == (False, "user", "deny system")
    question, first, second, asked = map(json.loads, out)
    assert [one["answer"] for one in question["question"]["answers"]] == [one.key for one in FOUR]
    assert "error" in first and "once, process, no-system, no" in second["error"]
    assert asked == {"told": ["The risk: others wait."]}
    assert not ask_program(WRITES, lines(), out.append)["granted"]


def test_each_part_of_what_is_known_is_told_when_it_is_asked_for() -> None:
    assert facts_for(WRITES, "what's it going to change?")[1] == "  write 1 to /x (now 0)"
    assert facts_for(WRITES, "Why?") == ["Why now: The planner (rules) chose it: next."]
    assert "journal" in facts_for(WRITES, "how do I undo it")[0]
    assert "ends with them" in facts_for({**WRITES, "would": ["set A=1"]}, "is it put back?")[-1]
    assert facts_for(WRITES, "how are you") == []


def decision(call: str, mitigation: str) -> Decision:
    arguments = {"mitigation": mitigation}
    return Decision(call_id=call, tool="apply_mitigation", arguments=arguments, why="", origin="rules", legal=())


def test_which_later_questions_an_answer_covers() -> None:
    decisions = {"c1": decision("c1", "a"), "c2": decision("c2", "b")}

    def later(key: str, mitigation: str, scope: str, own: bool = False) -> bool | None:
        body = {"kind": "approval", "call_id": "c1", "scope": "system", **recorded(WRITES, {"answer": key})}
        found = covered([Approval.model_validate(body)], decisions, decision("c2", mitigation), scope, own)
        return None if found is None else found["granted"]

    assert later("once", "a", "system") is True  # its second batch
    assert later("once", "b", "system") is None and later("no", "b", "system") is None
    assert later("process", "b", "process") is True
    assert later("process", "b", "process", own=True) is None  # it changes what the program promises
    assert later("process", "b", "cgroup") is None and later("process", "b", "system") is None
    assert later("no-system", "b", "system") is False and later("no-system", "b", "cgroup") is False
    assert later("no-system", "b", "process") is None


class Answering(Silent):
    """Gives one answer to the first question, another to those after it, and remembers all."""

    def __init__(self, first: str, then: str = "no") -> None:
        self.answers = [first]
        self.then = then
        self.asked: list[Mapping[str, Any]] = []

    def approve(self, question: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append(question)
        key = self.answers.pop() if self.answers else self.then
        if key == "killed":
            raise KeyboardInterrupt
        return recorded(question, {"answer": key})


class Unkept(Live):
    def observed(self, *_: object) -> None: ...


@contextmanager
def diagnosing(folder: RunFolder, who: Answering, of: Path) -> Iterator[Loop]:
    """The real graph over recorded runs."""
    case, knowledge = read_case(of).shown, load()
    machine = case.recording.machine
    start = RunStart(
        subject=case.recording.subject,
        limits=case.limits,
        planner="rules",
        machine=folder.put(canonical(machine.model_dump(mode="json"))),
        knowledge=knowledge.digest,
        schemas=schemas_digest(),
    )
    bench = RecordedBench(case, knowledge, 1, folder.partial)
    live = Unkept(folder, start.subject, machine, knowledge, bench, who)
    transcript = Transcript.open(folder.transcript)
    yield Loop(start, Rules(), transcript, live, folder)


def diagnosed(folder: RunFolder, who: Answering, of: Path = MANY) -> Loop:
    with diagnosing(folder, who, of) as loop:
        loop.run(who.approve)
    return loop


def asked_of_user(loop: Loop) -> list[Approval]:
    return [one for one in bodies(loop.transcript.events, Approval) if one.by == "user"]


def test_no_system_change_at_all_asks_once_offers_no_more_and_is_named_in_the_verdict(tmp_path: Path) -> None:
    folder, who = RunFolder.create(tmp_path, "case"), Answering("no-system")
    loop = diagnosed(folder, who, FEW)
    (answer,) = asked_of_user(loop)
    assert len(who.asked) == 1 and (answer.granted, answer.standing) == (False, "deny system")
    record = record_of(loop.transcript.events, folder)
    left = open_candidates(situation(record, loop.limits))
    assert record.no_system and not any(changes_system(one.scope) for one in left)
    after = loop.transcript.events[next(e.seq for e in loop.transcript.events if e.body == answer) + 1 :]
    known = load().mitigations
    tried = [one.arguments["mitigation"] for one in bodies(after, Decision) if one.tool == "apply_mitigation"]
    assert tried and all(known[key].scope == "process" for key in tried)
    reason = headline(Findings(record).verdict)
    assert "; not tried, since you wanted no system change: " in reason
    assert str(who.asked[0]["key"]) in reason


def test_after_it_a_run_that_is_cut_off_goes_on_without_asking(tmp_path: Path) -> None:
    folder, who = RunFolder.create(tmp_path, "case"), Answering("killed")
    with pytest.raises(KeyboardInterrupt):
        diagnosed(folder, who, ONE)
    again = Answering("no-system", then="killed")
    whole = diagnosed(folder, again, ONE)
    lines_then = folder.transcript.read_bytes().splitlines(keepends=True)
    cut = next(place for place, one in enumerate(lines_then) if b"deny system" in one) + 2
    folder.transcript.write_bytes(b"".join(lines_then[:cut]))
    resumed = diagnosed(folder, Answering("killed"), ONE)  # whoever is asked now ends it
    assert [e.hash for e in resumed.transcript.events] == [e.hash for e in whole.transcript.events]
    assert len(again.asked) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("key", "standing"), [("once", ""), ("process", "grant process")])
def test_a_yes_holds_for_this_mitigation_and_the_next_system_change_is_asked_about(
    tmp_path: Path, key: str, standing: str
) -> None:
    who = Answering(key)
    loop = diagnosed(RunFolder.create(tmp_path, "case"), who)
    first, *others = asked_of_user(loop)
    assert (first.granted, first.standing) == (True, standing)
    ran = {one.call_id for one in bodies(loop.transcript.events, ToolEnd)}
    assert first.call_id in ran and len(who.asked) > 1
    assert not any(one.granted for one in others if "as answered to" not in one.reason)


@pytest.mark.slow
def test_not_this_refuses_this_one_alone(tmp_path: Path) -> None:
    who = Answering("no")
    loop = diagnosed(RunFolder.create(tmp_path, "case"), who)
    answers = asked_of_user(loop)
    assert len(who.asked) > 1 and not any(one.granted or one.standing for one in answers)
    assert len({one["key"] for one in who.asked}) == len(who.asked)  # none is asked about twice
    assert bodies(loop.transcript.events, VerdictGiven)
