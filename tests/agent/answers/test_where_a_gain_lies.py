"""Where the ledger of a remedy's pairs puts its gain is told by one sentence in report, terminal, --json and chat."""

from __future__ import annotations

import dataclasses

from vgo_agent.agent.answers.answer import objections
from vgo_agent.agent.answers.conversation import Conversation
from vgo_agent.agent.render.text import markdown_page
from vgo_agent.agent.report.diagnosis import document, summary, text
from vgo_agent.agent.report.evidence import gather
from vgo_agent.knowledge.index import Index
from vgo_agent.knowledge.time_states import TimeState
from vgo_agent.tools.findings import Findings
from vgo_agent.tools.ledger.gain import Fall, LedgerGain, StateGain
from vgo_agent.tools.statistics.values import IntervalEstimate
from vgo_agent.tools.trial_results import CompareResult
from vgo_agent.tools.verdict import title

from ..report.conftest import mitigated


def fall(ms: float) -> Fall:
    return Fall(ms=ms, interval=IntervalEstimate(low=ms - 1, high=ms + 1))


def state(name: TimeState, meant: bool, ms: float) -> StateGain:
    return StateGain(state=name, meant=meant, baseline_ms=100 + ms, other_ms=100, mean=fall(ms), gain=fall(ms))


ELSEWHERE = LedgerGain(
    measure="spread",
    acts_on=(TimeState.QUEUE_OTHERS,),
    pairs=60,
    total=fall(31),
    meant=fall(2),
    beyond=fall(29),
    states=(state(TimeState.ON_CPU, False, 29), state(TimeState.QUEUE_OTHERS, True, 2)),
)


def test_a_gain_elsewhere_leaves_the_verdict_and_is_told_everywhere(index: Index) -> None:
    run = mitigated()
    calls = [
        dataclasses.replace(call, result={**(call.result or {}), "gain": ELSEWHERE.model_dump(mode="json")})
        if call.tool == "compare"
        else call
        for call in run.record.calls
    ]
    before, run = run, dataclasses.replace(run, record=dataclasses.replace(run.record, calls=tuple(calls)))
    evidence = gather(run)
    assert title(evidence.verdict) == title(gather(before).verdict) == "cause explained, remedy confirmed"
    assert evidence.confirming is not None and isinstance(evidence.confirming.compared, CompareResult)
    told = evidence.confirming.compared.by_state
    assert "of 31 ms less mean absolute deviation from the median, 29 [28, 30] are time on a CPU, which" in told
    page, answer = markdown_page(document(evidence)), summary(run)
    assert page.replace("\\", "").count(told) == 4 and "## Where the gain lies" in page
    assert told in " ".join(text(run).split())
    assert (answer["gain"]["sentence"], answer["gain"]["as_meant"]) == (told, False)
    assert summary(before)["gain"] is None
    chat = Conversation(run, run.knowledge.digest, index=index)
    for question in ("did it help?", "why is this slow?", "how sure are you?"):
        said = chat.ask(question)
        assert told.rstrip(".") in said.prose and objections(said.prose, said.facts) == []


def test_a_mitigation_without_a_claimed_gain_has_no_place_for_it() -> None:
    found = Findings(mitigated().record).comparisons
    worse = next(one for one in found if one.comparison.direction != "less")
    told = worse.model_copy(update={"gain": ELSEWHERE})
    assert not told.gained and told.by_state.startswith("Of the time that")
