"""The statements as files: what they claim stands without numbers, which are details of the record."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import vgo_agent.prompts.render as prompts

PROSE = re.compile(r"[A-Za-z ,'/+-]+")
FILES = sorted((Path(prompts.__file__).parent / "statement").glob("*.txt.j2"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.partition(".")[0])
def test_a_statement_has_no_digit_no_bracket_and_no_quotation_mark(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if not line.startswith("{%")]
    assert lines
    for line in lines:
        plain = re.sub(r"\{\{ \w+ \}\}", "the name", line)
        assert PROSE.fullmatch(plain), line
        assert not re.search(r"\b(always|never|all|certainly|guarantee[ds]?|percent)\b", plain), line
        assert line[0] == "{" or line[0].islower(), line


def test_every_statement_is_used() -> None:
    room = Path(prompts.__file__).parent.parent / "agent" / "answers"
    source = "\n".join(path.read_text() for path in room.glob("*.py"))
    for path in FILES:
        assert f'"{path.name.partition(".")[0]}"' in source, path.name


OF_FACTORS = "aside contrary grouped hidden not_ranked not_visible suspect unmeasured"


@pytest.mark.parametrize("kind", OF_FACTORS.split())
def test_a_sentence_about_a_factor_is_right_for_one_and_for_many(kind: str) -> None:
    """No verb that has another form for many follows the name, as in `Lost packets was`."""
    text = (Path(prompts.__file__).parent / "statement" / f"{kind}.txt.j2").read_text()
    assert not re.search(r"\{\{ it \}\} (is|was|has|does|goes|shows|says|makes)\b", text)
    assert not re.search(r"\b(what|which) [\w ]+ is \{\{ it \}\}", text)
