"""The questions to the search: complete, honest, divided by a coin, and refused with a cure where broken."""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.loader import load

from .retrieval.loader import Half, identities, load_questions
from .retrieval.question import Kind, RetrievalQuestion, place

README = (Path(__file__).parent / "retrieval" / "README.md").read_text()
KNOWN = load()
HALVES = {half: load_questions(half) for half in get_args(Half)}
TUNED, HELD_OUT = HALVES["tuned"], HALVES["held_out"]
QUESTIONS = sorted((*TUNED, *HELD_OUT), key=lambda question: question.number)
WRITTEN = 150
SEED = 5
HELD_OUT_TEXTS = "eaa66e28056952ea6880e6518afac123f20547acb2bbea9a368ead0e289c0f03"
"""SHA-256 over numbers and texts of the half that is left alone; the keys of right entries may be renamed."""
NAMING_SHARE = 0.05
"""Of the questions may say the name of a right entry, as those who quote a tool do."""

answers = st.lists(st.sampled_from(sorted(identities())), max_size=10)
asked = st.sampled_from(QUESTIONS)


def test_there_are_two_halves_of_75_and_the_readme_tells_how_many_came_later() -> None:
    assert len(HELD_OUT) == 75
    later = [question for question in TUNED if question.number > WRITTEN]
    assert len(TUNED) - len(later) == 75
    assert re.findall(r"and (\d+) more", README) == [str(len(later))]
    assert re.findall(r"[Tt]he (\d+) after them", README) == [str(len(later))]


def test_each_number_and_each_text_stands_once_over_both_halves() -> None:
    assert [question.number for question in QUESTIONS] == list(range(1, len(QUESTIONS) + 1))
    assert [text for text, often in Counter(plain(q.text) for q in QUESTIONS).items() if often > 1] == []


def test_every_factor_is_asked_for() -> None:
    missing = {f"factor:{key}" for key in KNOWN.factors} - named()
    assert missing == set(), "add a question for each to questions/tuned.yaml, with the next number"


def test_at_least_50_mitigations_and_5_notes_are_right_somewhere() -> None:
    kinds = Counter(identity.partition(":")[0] for identity in named())
    assert kinds["mitigation"] >= 50
    assert kinds["note"] >= 5


def test_questions_about_papers_are_answered_by_notes_and_only_they() -> None:
    assert {q.number for q in QUESTIONS if any(name.startswith("note:") for name in q.right)} == {
        q.number for q in QUESTIONS if q.kind == "paper"
    }


def test_the_coin_decided_which_half_a_question_went_to() -> None:
    drawn: set[int] = set()
    coin = random.Random(SEED)
    for kind in get_args(Kind):
        numbers = [q.number for q in QUESTIONS if q.kind == kind and q.number <= WRITTEN]
        drawn |= set(sorted(numbers, key=lambda _: coin.random())[: len(numbers) // 2])
    assert {question.number for question in HELD_OUT} == drawn


@pytest.mark.parametrize("kind", get_args(Kind))
def test_the_halves_are_alike_and_the_readme_tells_how_many_of_each_kind(kind: Kind) -> None:
    held_out = sum(question.kind == kind for question in HELD_OUT)
    assert sum(q.kind == kind and q.number <= WRITTEN for q in TUNED) == held_out > 0
    [row] = [line for line in README.splitlines() if line.startswith(f"| `{kind}` |")]
    assert row.endswith(f"| {2 * held_out} |")


def test_the_half_that_is_held_out_was_left_alone() -> None:
    written = "\n".join(f"{q.number} {q.text}" for q in HELD_OUT)
    assert hashlib.sha256(written.encode()).hexdigest() == HELD_OUT_TEXTS, "put the questions back as they were"


def test_few_questions_say_the_name_of_what_they_ask_for() -> None:
    telling = [question.text for question in QUESTIONS if names_its_answer(question)]
    assert len(telling) <= NAMING_SHARE * len(QUESTIONS), telling


@given(asked, answers, answers)
def test_what_follows_the_first_right_entry_does_not_matter(
    question: RetrievalQuestion, before: list[str], rest: list[str]
) -> None:
    first = place(question, before)
    if first is not None:
        assert place(question, [*before, *rest]) == first
        assert before[first - 1] in question.right
    else:
        assert place(question, [*before, question.right[0], *rest]) == len(before) + 1


def test_a_section_of_a_note_counts_as_the_note() -> None:
    question = RetrievalQuestion(number=1, kind="paper", text="who measured?", right=("note:vgo-icpe26",))
    assert place(question, ["note:vgo-icpe26-slides#method", "note:vgo-icpe26#method"]) == 2
    assert place(question, ["factor:swap", "note:vgo-icpe26x"]) is None
    assert place(question, []) is None


def test_a_question_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        TUNED[0].text = "another"  # type: ignore[misc]


GOOD = """\
- number: 1
  kind: symptom
  text: why is it slow
  right: [factor:swap]
"""


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("factor:swap", "factor:swapp", r"line 1: question 1: factor:swapp is unknown\. .*could be factor:swap\."),
        (
            "factor:swap",
            "mitigation:zzzzzzzzzzzzzzzzzzzzzzzz",
            r"mitigation:z{24} is unknown\. .*names of the files in knowledge/\.",
        ),
        ("factor:swap", "note:vgo-icpe62", r"note:vgo-icpe62 is unknown\. .*could be note:vgo-icpe26\."),
        ("factor:swap", "factor:swap, factor:swap", r"question 1: right names an entry twice\. Keep the first\."),
        ("factor:swap", "swap", r"line 1: right\.0: .*\. Write factor:KEY, mitigation:KEY or note:STEM\."),
        ("[factor:swap]", "[]", r"line 1: right: .*\. Name at least one entry\."),
        ("[factor:swap]", f"[{', '.join(['factor:swap'] * 6)}]", r"line 1: right: .*\. Keep the best five\."),
        ("kind: symptom", "kind: sympton", r"line 1: kind: .*'symptom'.*\. Correct that value\."),
        ("kind:", "knid:", r"line 1: knid: is not a known key\. Known are: number, kind, text, right\."),
        ("  kind: symptom\n", "", r"line 1: kind: is missing\. Add it\."),
        ("  kind: symptom\n", "  kind: cure\n  kind: symptom\n", r"question 1: the key kind stands twice\. Keep one\."),
        ("number: 1", "number: 0", r"line 1: number: .*\. Correct that value\."),
        ("text: why is it slow", "text: ''", r"line 1: text: .*\. Correct that value\."),
        (GOOD, GOOD + GOOD, r"line 5: question 1: its number stands twice\. Give it the next free one\."),
        (
            GOOD,
            GOOD + GOOD.replace("1", "2").replace("why is", "Why  IS"),
            r"line 5: question 2: its text stands twice\.",
        ),
        (GOOD, GOOD + "- only words\n", r"line 5: the entry: .*\. Correct that value\."),
        (GOOD, "", r"tuned\.yaml: is not a list of questions\. Begin each with `- number:`\."),
        (GOOD, "number: 1\n", r"is not a list of questions\."),
        ("[factor:swap]", "[factor:swap", r"line \d+: not YAML \(.*\)\. Correct that line\."),
        ("slow", "slow\x07", r"not YAML \(.*\)\. Remove the character that it names\."),
        ("slow", "sl\udcf6w", r"cannot be read as UTF-8 text .*\. Restore the file\."),
    ],
)
def test_a_broken_file_is_refused_with_the_place_and_the_cure(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    broken = GOOD.replace(old, new)
    assert broken != GOOD
    (tmp_path / "tuned.yaml").write_text(broken, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(VgoError, match=complaint) as error:
        load_questions("tuned", tmp_path)
    assert str(error.value).startswith(str(tmp_path / "tuned.yaml"))


def test_a_good_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "held_out.yaml").write_text(GOOD)
    [question] = load_questions("held_out", tmp_path)
    assert question == RetrievalQuestion(number=1, kind="symptom", text="why is it slow", right=("factor:swap",))


def test_a_missing_file_and_an_unknown_half_are_named(tmp_path: Path) -> None:
    with pytest.raises(VgoError, match=r"held_out\.yaml: cannot be read .*\. Restore the file\."):
        load_questions("held_out", tmp_path)
    with pytest.raises(VgoError, match=r"^There is no half 'all' of the questions; choose one of tuned, held_out\.$"):
        load_questions("all")  # type: ignore[arg-type]


def named() -> set[str]:
    return {identity for question in QUESTIONS for identity in question.right}


def plain(text: str) -> str:
    """Give the words alone, so that `CPU-Migrations` and `cpu migrations` are the same."""
    return f" {' '.join(re.findall('[a-z0-9]+', text.lower()))} "


def names_its_answer(question: RetrievalQuestion) -> bool:
    """Tell whether the name or the key of a right entry stands in the question."""
    text = plain(question.text)
    entries = {"factor": KNOWN.factors, "mitigation": KNOWN.mitigations, "note": {}}
    for identity in question.right:
        kind, _, key = identity.partition(":")
        name = entries[kind][key].name if key in entries[kind] else key
        if plain(name) in text or plain(key.replace("_", " ")) in text:
            return True
    return False
