"""What a line typed into the chat asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.agent.talk.understand import LONGEST, completions, told, understand
from vgo_agent.agent.talk.verbs import VERBS, Said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/measure ./bench.sh --fast", Said("measure", "./bench.sh --fast")),
        ("  /TRY   pin_to_cpu ", Said("try", "pin_to_cpu")),
        ("/help", Said("help")),
        ("why is ./bench.sh so slow?", Said("diagnose", "./bench.sh")),
        ("diagnose python bench.py", Said("diagnose", "python bench.py")),
        ("please try thp_always", Said("try", "thp_always")),
        ("set the cut at p90", Said("label", "p90")),
        ("show me the tree", Said("tree")),
        ("compare a.csv with b.csv", Said("compare", "a.csv b.csv")),
        ("explain page faults", Said("explain", "page faults")),
        ("budget 5 minutes", Said("budget", "5 minutes")),
        ("copy the winning command line", Said("copy")),
        ("save the report to /tmp/out", Said("save", "/tmp/out")),
        ("export the table as runs.parquet", Said("export", "runs.parquet")),
        ("take a screenshot", Said("screenshot")),
        ("stop", Said("stop")),
        ("would huge pages help?", Said("ask", "would huge pages help?")),
        ("why are the slow runs slow?", Said("ask", "why are the slow runs slow?")),
        ("/usr/bin/true varies, why?", Said("ask", "/usr/bin/true varies, why?")),
        ("yes", Said("ask", "yes")),
        ("", Said("")),
    ],
)
def test_slash_commands_and_plain_words_ask_for_the_same_things(line: str, said: Said) -> None:
    assert understand(line) == said


def test_yes_and_no_answer_only_while_something_is_asked() -> None:
    assert understand("yes", asking=True) == Said("approve")
    assert understand("No, because others use this machine", asking=True) == Said("deny", "others use this machine")
    assert understand("what is the risk?", asking=True).verb == "ask"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/mesure ./x", "Did you mean /measure?"),
        ("/zzz", "/help lists"),
        ("/try", "/try MITIGATION"),
        ("/open", "/open RUN|FILE"),
        ("a" * (LONGEST + 1), f"say it in {LONGEST}"),
    ],
)
def test_what_cannot_be_done_says_how_it_can(line: str, words: str) -> None:
    said = understand(line)
    assert said.verb == "" and words in said.problem


def test_completion_offers_verbs_then_names() -> None:
    assert completions("/re") == ["/report", "/resume"]
    assert completions("/try pin", ("pin_to_cpu", "sched_fifo")) == ["/try pin_to_cpu"]
    assert completions("hello") == [] and completions("/nothing pin", ("pin_to_cpu",)) == []


def test_the_help_names_every_verb_and_one_alone() -> None:
    assert all(f"/{name}" in told() for name in VERBS)
    assert told("try").startswith("/try MITIGATION: ") and told("/try") == told("try")


@given(st.sampled_from(sorted(VERBS)), st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=20))
def test_every_verb_with_any_word_is_understood_as_itself(verb: str, rest: str) -> None:
    assert understand(f"/{verb} {rest}") == Said(verb, rest)


@given(st.text(max_size=200))
def test_any_line_is_understood_or_says_why_not(line: str) -> None:
    said = understand(line)
    assert said.verb in VERBS or said.problem or not line.split()
