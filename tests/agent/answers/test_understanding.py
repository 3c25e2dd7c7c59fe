"""What a question is taken for: a tested list of what people type."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from vgo_agent.agent.answers.cues import CUES
from vgo_agent.agent.answers.intents import ParsedQuestion, Sources, understood
from vgo_agent.agent.answers.near import Near
from vgo_agent.knowledge.index import Index
from vgo_agent.knowledge.loader import load
from vgo_agent.knowledge.passages import KnowledgePassage

KNOWN = load()
NEAR = Near(KNOWN)
OF_RUN = ("pin_to_cpu", "sched_fifo", "reserve_cores")
QUESTIONS = [
    ("why is this slow?", "why"),
    ("Why do my runs vary so much?", "why"),
    ("what is the cause?", "why"),
    ("what's wrong with my program", "why"),
    ("why?", "why"),
    ("where does the jitter come from", "why"),
    ("where did the milliseconds go?", "where"),
    ("where does the time go in slow runs", "where"),
    ("what is it waiting for?", "where"),
    ("is it page faults?", "suspect"),
    ("could it be CPU migrations", "suspect"),
    ("is the slowness due to cpu migrations?", "suspect"),
    ("what did you try?", "tried"),
    ("which mitigations have you tested", "tried"),
    ("what helped?", "tried"),
    ("how much steadier is it now", "tried"),
    ("did pin_to_cpu help?", "effect"),
    ("would huge pages help?", "effect"),
    ("Would jemalloc make a difference?", "effect"),
    ("does pinning to one CPU help", "effect"),
    ("what about sched_fifo?", "effect"),
    ("should I use jemalloc", "effect"),
    ("what should I do on the cluster?", "do"),
    ("what should I do in a container?", "do"),
    ("and without root?", "do"),
    ("how do I make it permanent?", "do"),
    ("what do you recommend", "do"),
    ("how do I fix this", "do"),
    ("what should I change?", "do"),
    ("how sure are you?", "sure"),
    ("how do you know it is not just luck?", "sure"),
    ("is it noise?", "sure"),
    ("can I trust this", "sure"),
    ("how do I reproduce it?", "reproduce"),
    ("can I check this myself?", "reproduce"),
    ("did you put everything back?", "put back"),
    ("what did you change on my machine", "put back"),
    ("is my system as it was?", "put back"),
    ("what is page_faults?", "what is"),
    ("what are CPU migrations", "what is"),
    ("explain minor_faults", "what is"),
    ("what was not measured?", "not measured"),
    ("what could you not see", "not measured"),
    ("what did you miss?", "not measured"),
    ("what next?", "next"),
    ("what now", "next"),
    ("what does it cost?", "cost"),
    ("what are the risks of sched_fifo", "cost"),
    ("is it safe?", "cost"),
    ("who decided what to try next?", "who"),
    ("Did you run it as root?", "machine"),
    ("were you root?", "machine"),
    ("does it need root", "machine"),
    ("which kernel was it?", "machine"),
    ("how large is the spread?", "spread"),
    ("what is the standard deviation of the baseline", "spread"),
    ("how many runs did you make", "runs"),
    ("how often did you run it?", "runs"),
    ("how much slower is the slow half?", "classes"),
    ("how slow are the slow runs?", "classes"),
    ("how many runs are slow?", "classes"),
    ("what fraction of the runs is slow", "classes"),
    ("where is the cut?", "classes"),
    ("why are the slow runs slow?", "why"),
    ("what goes with the slow runs?", "why"),
    ("how much slower is it with jemalloc?", "tried"),
    ("summarise the run", "summary"),
    ("what did you find?", "summary"),
    ("what happened", "summary"),
    ("help", "nothing"),
    ("???", "nothing"),
    ("なぜ遅いのですか", "nothing"),
    ("Warum ist das so langsam?", "search"),
    ("why is the sky blue", "search"),
    ("who won the world cup", "search"),
]


def taken(question: str, index: Index, before: ParsedQuestion | None = None) -> ParsedQuestion:
    def search(asked: str) -> Sequence[KnowledgePassage]:
        return index.search(asked, 8)

    return understood(question, Sources(KNOWN, OF_RUN, search, NEAR), before)


@pytest.mark.parametrize(("question", "intent"), QUESTIONS)
def test_a_question_is_taken_for_what_it_is(index: Index, question: str, intent: str) -> None:
    assert taken(question, index).intent == intent


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("did pin_to_cpu help?", "mitigation:pin_to_cpu"),
        ("would jemalloc help?", "mitigation:jemalloc"),
        ("is it page faults?", "factor:page_faults"),
        ("what is minor_faults?", "factor:page_faults"),
        ("Would Transparent huge pages always help?", "mitigation:thp_always"),
        ("is it CPU migrations?", "factor:cpu_migrations"),
    ],
)
def test_what_is_named_outright_is_meant(index: Index, question: str, name: str) -> None:
    found = taken(question, index)
    assert name in found.names and not found.guessed


def test_what_is_paraphrased_is_searched_for_and_that_is_told(index: Index) -> None:
    found = taken("would pinning the program to a single core help?", index)
    assert found.guessed and "mitigation:pin_to_cpu" in found.names


@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("would huge pages help?", "thp_always"),
        ("should I disable swap?", "swap_off"),
        ("would turning off hyperthreading help?", "disable_smt"),
        ("what are the risks of real-time priority?", "sched_fifo"),
    ],
)
def test_what_the_run_did_not_come_upon_is_found_in_all_that_is_known(index: Index, question: str, key: str) -> None:
    assert f"mitigation:{key}" in taken(question, index).names


def test_a_bare_name_is_asked_what_was_asked_before(index: Index) -> None:
    before = taken("did pin_to_cpu help?", index)
    found = taken("and jemalloc?", index, before)
    assert (found.intent, found.names) == ("effect", ("mitigation:jemalloc",))


def test_it_is_what_was_spoken_of_before(index: Index) -> None:
    before = taken("what is sched_fifo?", index)
    found = taken("did it help?", index, before)
    assert (found.intent, found.names) == ("effect", ("mitigation:sched_fifo",))


def test_ten_thousand_characters_are_read_at_their_start(index: Index) -> None:
    found = taken("why is this slow? " + "x" * 10_000, index)
    assert found.intent == "why" and found.cut and len(found.question) <= 2000


def test_every_cue_is_written_as_questions_are_read() -> None:
    for cues in CUES.values():
        for cue in cues:
            assert cue == " ".join(cue.lower().split()) and cue.replace(" ", "").isalpha(), cue
