"""Templates: all parse, an undefined variable is an error, text from outside is never markup."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from vgo_agent.prompts.render import check, code, fence, markdown, render, ticks


def test_every_template_parses() -> None:
    assert check() == []


def test_a_missing_variable_is_an_error_and_not_a_blank() -> None:
    with pytest.raises(UndefinedError):
        render("page.html.j2", heading="Steady")


def test_a_template_says_by_its_name_how_it_is_escaped() -> None:
    with pytest.raises(ValueError, match="name it"):
        render("page.j2")


def test_code_spans_of_a_text_become_elements_and_its_markup_does_not() -> None:
    assert ticks("run `a <b>` & <i>") == "run <code>a &lt;b&gt;</code> &amp; &lt;i&gt;"


def test_markdown_text_is_not_read_as_markup_outside_code_spans() -> None:
    assert markdown("a_b <i> | `x_y`") == r"a\_b \<i\> \| `x_y`"


@given(st.text())
def test_no_text_can_end_its_fence(text: str) -> None:
    mark, *_, last = str(fence(text)).split("\n")
    assert last == mark
    assert mark not in text


@given(st.text(alphabet="`|a \n", min_size=1))
def test_no_text_can_end_its_code_span_or_its_table_cell(text: str) -> None:
    span = str(code(text))
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    mark = "`" * (longest + 1)
    inner = span.removeprefix(mark).removesuffix(mark)
    assert len(inner) == len(span) - 2 * len(mark)
    assert mark not in inner
    assert not longest or (inner[0] == inner[-1] == " ")
    assert "\n" not in span
    assert not re.search(r"(?<!\\)\|", span)


@given(st.text(alphabet="<>&`\"'a "))
def test_html_holds_no_tag_but_code(text: str) -> None:
    assert set(re.findall(r"<[^>]*>?", str(ticks(text)))) <= {"<code>", "</code>"}
