"""What people say of an entry stands in one file, and names entries that exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.loader import HERE, load
from vgo_agent.knowledge.passages import LONGEST, passages, searchable
from vgo_agent.knowledge.wording import read_wording


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
        ("no_such_entry: [words]", "Correct the key"),
        ("page_faults: words", "list of texts"),
        ("page_faults: [", "Restore the file"),
    ],
)
def test_a_broken_file_is_refused_with_the_cure(copied: Path, text: str, cure: str) -> None:
    (copied / "wording.yaml").write_text(text)
    with pytest.raises(VgoError, match=cure):
        passages(load(copied), copied)


def test_knowledge_without_the_file_is_searched_all_the_same(tmp_path: Path) -> None:
    assert read_wording(tmp_path, []) == {}


def test_a_long_section_of_a_note_is_split_and_loses_nothing() -> None:
    found = passages(load(HERE)).values()
    split = [passage for passage in found if passage.kind == "note" and passage.part > 1]
    assert split
    assert all(len(passage.text) < 2 * LONGEST for passage in found if passage.kind == "note")
