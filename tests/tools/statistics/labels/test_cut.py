"""What a user may say about the cut."""

from __future__ import annotations

import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.statistics.labels.cut_search import AUTOMATIC, CutRule, parse


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("auto", AUTOMATIC),
        (" Median ", CutRule("median")),
        ("between-modes", CutRule("between-modes")),
        ("search", CutRule("search")),
        ("1.5", CutRule("given", (1.5,))),
        ("-2e-3", CutRule("given", (-0.002,))),
        ("3,1, 2,2", CutRule("given", (1.0, 2.0, 3.0))),
        ("p90", CutRule("percentile", (90.0,))),
        ("P99.5,p50", CutRule("percentile", (50.0, 99.5))),
    ],
)
def test_what_is_understood(text: str, cut: CutRule) -> None:
    assert parse(text) == cut


@pytest.mark.parametrize("text", ["", "p0", "p100", "p90,3", "nan", "inf", "90%", "modes", "1,,2", "1 s"])
def test_anything_else_is_refused_with_the_choices(text: str) -> None:
    with pytest.raises(VgoError, match=r"pNN.*between-modes.*search"):
        parse(text)
