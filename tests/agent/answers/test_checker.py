"""The checker: true sentences stand; whatever is added, left out, turned round or moved is rejected."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from vgo_agent.agent.answers.answer import objections, sentences
from vgo_agent.agent.answers.fact import CitableFact, sentence
from vgo_agent.agent.answers.of_run import RunFacts, run_facts
from vgo_agent.agent.report.evidence import gather
from vgo_agent.knowledge.loader import load

from ..report.conftest import MAKERS

KNOWN = load()
RUN: RunFacts = run_facts(gather(MAKERS["confirmed"]()))
FACTS = RUN.facts
KEYS = sorted({*KNOWN.factors, *KNOWN.mitigations})


def said(fact: CitableFact) -> str:
    return sentence(fact)


def why(text: str) -> str:
    found = objections(text, FACTS)
    return found[0].why if found else ""


def one(kind: str, key: str | None = None) -> CitableFact:
    return RUN.of(kind, key=key)[0]


HELPED = one("tried", "pin_to_cpu")
NOT_SHOWN = one("tried", "own_autogroup")
facts = st.sampled_from(FACTS)


@pytest.mark.parametrize("verdict", MAKERS)
def test_every_fact_of_every_run_stands(verdict: str) -> None:
    found = run_facts(gather(MAKERS[verdict]())).facts
    text = " ".join(map(said, found))
    assert objections(text, found) == []


def test_what_a_run_says_of_its_mitigations_is_what_the_record_says() -> None:
    assert "confirmed" in HELPED.text
    assert "not proved to help" in NOT_SHOWN.text
    assert one("tried", "sched_fifo").text.endswith("so that nothing was measured with it")
    assert "SD ratio 0.1" in HELPED.text and "p < 0.001" in HELPED.text


@given(facts)
def test_without_a_reference_nothing_stands(fact: CitableFact) -> None:
    assert why(fact.text + ".") == "it has no reference"


@given(facts, st.integers(1000, 10**6))
def test_a_reference_to_nothing_is_rejected(fact: CitableFact, number: int) -> None:
    assert why(said(fact).replace(f"[{fact.tag}]", f"[f{number}]")) == f"there is no f{number}"


@given(facts, st.integers(0, 10**9).map(str) | st.floats(0, 1e6, allow_nan=False).map(lambda x: f"{x:.7f}"), st.data())
def test_a_number_of_its_own_is_rejected(fact: CitableFact, number: str, data: st.DataObject) -> None:
    words = said(fact).split(" ")
    assume(number not in re.findall(r"[\w.]+", fact.text))
    words.insert(data.draw(st.integers(0, len(words) - 1)), number)
    assert why(" ".join(words))


@given(facts, st.sampled_from(["ninety percent", "half", "twice", "ten", "a dozen", "three quarter"]), st.data())
def test_a_number_in_words_is_rejected(fact: CitableFact, words: str, data: st.DataObject) -> None:
    assume(not set(words.split()) & set(fact.text.lower().split()))
    placed = said(fact).split(" ")
    placed.insert(data.draw(st.integers(0, len(placed) - 1)), words)
    assert why(" ".join(placed))


@given(facts, st.sampled_from(KEYS), st.booleans())
def test_a_name_that_is_not_listed_is_rejected(fact: CitableFact, key: str, in_full: bool) -> None:
    name = (KNOWN.factors.get(key) or KNOWN.mitigations[key]).name if in_full else key
    assert why(f"Besides {name}, {fact.text} [{fact.tag}].")
    assert why(f"{fact.text} with {name} [{fact.tag}].")


@given(
    facts, st.sampled_from(["not", "never", "always", "because", "therefore", "certainly", "all", "only", "no longer"])
)
def test_a_word_that_changes_the_claim_is_rejected(fact: CitableFact, word: str) -> None:
    words = said(fact).split(" ")
    for place in range(len(words)):
        assert why(" ".join([*words[:place], word, *words[place:]])), place


@given(facts, st.data())
def test_a_word_that_claims_cannot_be_left_out(fact: CitableFact, data: st.DataObject) -> None:
    words = fact.text.split(" ")
    place = data.draw(st.integers(0, len(words) - 1))
    left = words[:place] + words[place + 1 :]
    assert why(f"{' '.join(left)} [{fact.tag}].")


@given(facts, facts)
def test_a_statement_cannot_be_moved_to_another_reference(fact: CitableFact, other: CitableFact) -> None:
    assume(fact.text != other.text)
    assert why(f"{fact.text} [{other.tag}].")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"pin_to_cpu (Pin to one CPU) is not proved to help [{HELPED.tag}].", "says something else"),
        (f"own_autogroup made the runs steadier [{NOT_SHOWN.tag}].", "says something else"),
        (f"The SD fell to 12 percent [{HELPED.tag}].", "says something else"),
        ("It always helps.", "it has no reference"),
        ("", ""),
    ],
)
def test_what_is_wrong_is_said(text: str, reason: str) -> None:
    assert reason in why(text)


def test_a_false_sentence_does_not_hide_before_a_true_one() -> None:
    assert why(f"Everything got ten times faster. {said(HELPED)}")
    assert why(f"{said(HELPED)} Everything is fine now.") == "it has no reference"


def test_a_text_is_taken_apart_behind_its_references() -> None:
    text = f"- {said(HELPED)}\n- {said(NOT_SHOWN)}"
    assert [part[-len(HELPED.tag) - 3 :] for part in sentences(text)][0].endswith("].")
    assert len(list(sentences(text))) == 2
