"""What is claimed without being backed is found out: one digit, one cited event, one batch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from vgo_agent.agent.planners.base import Rules
from vgo_agent.agent.record import FinishedRun
from vgo_agent.agent.render.text import markdown_page
from vgo_agent.agent.report.diagnosis import document
from vgo_agent.agent.report.evidence import gather
from vgo_agent.agent.transcript import ToolEnd, VerdictGiven
from vgo_agent.evals.contest import loop
from vgo_agent.evals.contest.loop import PlannerContestant, misquoted, problems
from vgo_agent.evals.contest.passages import NUMBER, Passage, passages, unfounded
from vgo_agent.evals.recorded.recorded_case import read_case
from vgo_agent.tools.findings import Findings
from vgo_agent.tools.record import Record
from vgo_agent.tools.trial_results import CompareResult
from vgo_agent.tools.verdict import (
    Explained,
    Verdict,
    to_json,
)

from .cases_made import Kind, made_case

KINDS: Mapping[str, tuple[Kind, str]] = {
    "confirmed": ("faults", "glibc_hugetlb"),
    "undecided": ("faults", ""),
    "not visible": ("noise", ""),
    "steady": ("steady", ""),
}
"""By what is found: the case, and what helps."""
TITLES = {
    "confirmed": "cause explained, remedy confirmed",
    "undecided": "cause explained, remedy undecided",
    "not visible": "cause not visible, remedy not tried",
    "steady": "steady",
}
Runs = Mapping[str, FinishedRun]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """One finished run for each verdict, its files still there."""
    seen: list[FinishedRun] = []

    def kept(run: FinishedRun) -> Iterator[str]:
        _ = [run.record.runs(call) for call in run.record.calls if "runs.csv" in call.artefacts]
        files = {name: run.record.store.get(name) for call in run.record.calls for name in call.artefacts.values()}
        seen.append(replace(run, record=Record(run.record.calls, Files(files))))
        return problems(run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "problems", kept)
        for verdict, (kind, helps) in KINDS.items():
            case = read_case(made_case(tmp_path_factory.mktemp("cases"), kind, helps=helps))
            answer = PlannerContestant("rules", lambda _: Rules()).answer(case.shown, 1)
            assert (answer.verdict, answer.evidence) == (TITLES[verdict], ())
    yield dict(zip(KINDS, seen, strict=True))


class Files:
    """A store in memory."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files

    def get(self, digest: str) -> bytes:
        return self.files[digest]

    def put(self, content: bytes) -> str:
        raise NotImplementedError


def report(run: FinishedRun) -> str:
    return markdown_page(document(gather(run)))


def with_verdict(run: FinishedRun, verdict: Verdict) -> FinishedRun:
    """The same run, of which `conclude` says something else."""
    calls = tuple(
        replace(call, result={**(call.result or {}), "verdict": to_json(verdict)}) if call.tool == "conclude" else call
        for call in run.record.calls
    )
    return replace(run, record=Record(calls, run.record.store))


def said_of(run: FinishedRun) -> Any:
    return Findings(run.record).verdict


def with_remedy(run: FinishedRun, **other: Any) -> FinishedRun:
    """The same run, of whose remedy `conclude` says something else."""
    verdict = said_of(run)
    return with_verdict(run, verdict.model_copy(update={"remedy": verdict.remedy.model_copy(update=other)}))


def with_cited(run: FinishedRun, places: Sequence[int]) -> FinishedRun:
    """The same run, whose verdict cites other events."""
    events = [
        event.model_copy(update={"body": event.body.model_copy(update={"evidence": tuple(places)})})
        if isinstance(event.body, VerdictGiven)
        else event
        for event in run.events
    ]
    return replace(run, events=events)


def cited(run: FinishedRun) -> tuple[int, ...]:
    return next(event.body.evidence for event in run.events if isinstance(event.body, VerdictGiven))


def changed(text: str, place: int) -> str:
    """Another digit at this place."""
    return text[:place] + str((int(text[place]) + 5) % 10) + text[place + 1 :]


@pytest.mark.parametrize("verdict", KINDS)
def test_one_digit_that_is_another_is_found_wherever_numbers_are_looked_at(runs: Runs, verdict: str) -> None:
    looked, missed = 0, []
    for passage in passages(gather(runs[verdict]), report(runs[verdict])):
        assert not list(unfounded(passage))
        for number in NUMBER.finditer(passage.text):
            for digit in re.finditer(r"[0-9]", number["number"]):
                text = changed(passage.text, number.start("number") + digit.start())
                looked += 1
                if not list(unfounded(passage._replace(text=text))):
                    missed.append((passage.where, number[0], text[number.start() : number.end()]))
    print(verdict, looked, missed)
    assert looked >= 30
    assert len(missed) <= looked // 50, missed  # another result may happen to be just that


@pytest.mark.parametrize("verdict", KINDS)
def test_a_number_of_the_sentence_that_is_another_makes_the_evidence_fall(runs: Runs, verdict: str) -> None:
    run = runs[verdict]
    said = report(run)
    sd = re.search(r"SD (?:to )?[0.]*[1-9]", said)
    assert sd and not list(misquoted(gather(run), said))
    wrong, *_ = misquoted(gather(run), changed(said, sd.end() - 1))
    assert wrong.startswith("the verdict says ") and wrong.endswith(", which no tool gave")


@pytest.mark.slow
@pytest.mark.parametrize("verdict", KINDS)
def test_one_cited_event_that_is_another_makes_the_evidence_fall(runs: Runs, verdict: str) -> None:
    run = runs[verdict]
    ends = [event.seq for event in run.events if isinstance(event.body, ToolEnd)]
    for place in cited(run):
        for other in (0, 10_000, *(end for end in ends if end != place)):
            assert list(problems(with_cited(run, [other if one == place else one for one in cited(run)])))


def test_the_batch_that_chose_a_mitigation_does_not_confirm_it(runs: Runs) -> None:
    run = runs["confirmed"]
    first, second = (ended.call for ended in Findings(run.record).ended(CompareResult)[-2:])
    found = " ".join(problems(with_remedy(run, comparison=first.call_id)))
    assert f"{first.call_id} is batch 1 of glibc_hugetlb, not what is claimed" in found
    assert f"the sd of the verdict is not that of {first.call_id}" in found
    assert f"the verdict rests on {second.call_id}" not in found


@pytest.mark.parametrize("name", ["claim", "sd", "mean", "cv"])
def test_a_ratio_in_the_verdict_has_to_be_that_of_the_confirmation(runs: Runs, name: str) -> None:
    run = runs["confirmed"]
    claimed = getattr(said_of(run).remedy, name)
    other = claimed.model_copy(update={"ratio": 0.9 * claimed.ratio})
    assert list(problems(with_remedy(run, **{name: other})))


def test_conclude_is_no_witness_of_itself(runs: Runs) -> None:
    """What only `conclude` says is not known: its numbers and its p-value."""
    run = runs["confirmed"]
    verdict = said_of(run)
    part = verdict.cause.parts[0]

    def naming(**other: Any) -> FinishedRun:
        cause = Explained(parts=(part.model_copy(update=other),))
        return with_verdict(run, verdict.model_copy(update={"cause": cause}))

    assert "the headline says 0.12, which no tool gave" in " ".join(problems(naming(p_value=0.123)))
    claim = verdict.remedy.claim
    halved = claim.model_copy(update={"p_value": claim.p_value / 2})
    assert list(problems(with_remedy(run, claim=halved)))


@pytest.mark.parametrize(
    ("text", "values", "wrong"),
    [
        ("0.3 and 0.30", (0.301,), []),
        ("0.3", (0.31,), ["0.3"]),
        ("12.3 ms, 12,300 us", (0.0123,), []),
        ("12.3 us", (0.0123,), ["12.3 us"]),
        ("12.3 %", (0.123,), []),
        ("12.3", (0.123,), ["12.3"]),
        ("7 runs", (70.0, 0.07, 7000.0), ["7"]),
        ("0", (0.004,), ["0"]),
        ("p95 of glibc-2.36, 10.0.0.1 and x_3", (), []),
        ("1.2e-05", (1.2e-5,), []),
    ],
)
def test_a_number_is_backed_in_its_unit_and_at_its_digits(
    text: str, values: tuple[float, ...], wrong: Sequence[str]
) -> None:
    found = [re.sub(r"^it says (.*), which .*", r"\1", one) for one in unfounded(Passage("it", text, values, "s"))]
    assert found == list(wrong)
