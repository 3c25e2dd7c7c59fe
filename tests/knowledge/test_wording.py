"""What people say of an entry stands in one file, and names entries that exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.loader import HERE, check, load
from vgo_agent.knowledge.passages import LONGEST, by_thought, passages, searchable
from vgo_agent.knowledge.terms import read_wording


def test_the_words_of_a_factor_are_searched_and_not_shown(copied: Path) -> None:
    known = load(copied)
    found = passages(known, copied)
    said, shown = found["factor:page_faults~2"], found["factor:page_faults"]
    assert "clear_page_erms" in searchable(said, known)
    assert said.text == shown.text
    assert "clear_page_erms" not in shown.text


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("no_such_entry: [words]", "correct the key"),
        ("page_faults: words", "page_faults: is no list; write one"),
        ("page_faults: [", "mend the YAML there"),
        ("page_faults: []", "page_faults: has too few entries; give at least 1"),
        ("page_faults: [' ']", "page_faults.0: is too short"),
        ("- page_faults", "is no mapping; write `key: value` lines"),
        ("page_faults: [words, words]", "line 1: page_faults: says twice: words; keep one"),
        ("page_faults: [one]\npage_faults: [two]", "line 2: page_faults: the key stands twice; keep one"),
    ],
)
def test_a_broken_file_is_refused_with_the_cure(copied: Path, text: str, cure: str) -> None:
    (copied / "wording.yaml").write_text(text)
    with pytest.raises(VgoError, match=cure):
        passages(load(copied), copied)


def test_the_check_names_the_line_of_an_unknown_key(copied: Path) -> None:
    assert check(copied) == []
    (copied / "wording.yaml").write_text("page_faults: [words]\nno_such_entry: [words]\n")
    (problem,) = check(copied)
    assert "wording.yaml, line 2: no_such_entry: is neither" in problem


def test_every_entry_has_words_of_users_and_each_is_searched_by_itself() -> None:
    known = load(HERE)
    found = passages(known)
    assert {f"factor:{key}~2" for key in known.factors} <= found.keys()
    assert {f"mitigation:{key}~2" for key in known.mitigations} <= found.keys()
    texts = by_thought(found, known)
    thoughts = found["factor:page_faults~2"].said
    assert len(thoughts) > 5
    assert [text for text in texts if text.startswith("factor:page_faults~2")] == [
        f"factor:page_faults~2~{nth}" if nth else "factor:page_faults~2" for nth in range(len(thoughts))
    ]
    assert all(thought in texts[f"factor:page_faults~2~{nth}"] for nth, thought in enumerate(thoughts) if nth)


def test_knowledge_without_the_file_is_searched_all_the_same(tmp_path: Path) -> None:
    assert read_wording(tmp_path, []) == {}


def test_a_long_section_of_a_note_is_split_and_loses_nothing() -> None:
    found = passages(load(HERE)).values()
    split = [passage for passage in found if passage.kind == "note" and passage.part > 1]
    assert split
    assert all(len(passage.text) < 2 * LONGEST for passage in found if passage.kind == "note")
