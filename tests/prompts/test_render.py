"""Templates: all parse, an undefined variable is an error, a name says how values are escaped."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from vgo_agent.prompts.render import check, render


def test_every_template_parses() -> None:
    assert check() == []


def test_a_missing_variable_is_an_error_and_not_a_blank() -> None:
    with pytest.raises(UndefinedError):
        render("page.html.j2", heading="Steady")


def test_a_template_says_by_its_name_how_it_is_escaped() -> None:
    for name in ("page.j2", "page.md.j2"):
        with pytest.raises(ValueError, match="name it"):
            render(name)
    assert "<h1>a &lt;b&gt;</h1>" in render("page.html.j2", title="t", heading="a <b>", kind="study", body="")
