"""The words of a report stand in one file, each name once, each formula with its source."""

from __future__ import annotations

from pathlib import Path

import pytest

from vgo_agent.knowledge.loader import HERE, check
from vgo_agent.knowledge.terms import read_terms

GOOD = "{key: a, names: [a word], text: It means this.}"


def test_the_terms_of_a_report_are_there() -> None:
    wanted = {"sd_ratio", "cv", "p95", "p99", "auc", "p_value", "family_wise_p", "interval", "pair", "batch"}
    assert wanted | {"in_force", "baseline", "cut"} <= {term.key for term in read_terms(HERE)}


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("- [", "mend the YAML there"),
        ("- {key: a, names: [b]}", "text: is missing; add it"),
        ("- {key: a, names: [b], text: c., other: d}", "not a known key"),
        ("- {key: a, names: [], text: It means this.}", "has no name"),
        ("- {key: a, names: [b], text: no stop}", "Write whole sentences"),
        ("- {key: a, names: [b], text: It is., formula: b / c}", "has a formula and no source"),
        ("- {key: a, names: [Minor page faults], text: It is.}", "name of a factor or mitigation"),
        (f"- {GOOD}\n- {GOOD}", "a stands twice"),
        (f"- {GOOD}\n- {{key: b, names: [A-Word], text: It is.}}", "a word is a name of a already"),
    ],
)
@pytest.mark.cells(3)
def test_a_broken_file_is_told_with_the_cure(copied: Path, text: str, cure: str) -> None:
    (copied / "terms.yaml").write_text(text + "\n")
    found = check(copied)
    assert any(cure in problem and "terms.yaml" in problem for problem in found), found
    (copied / "terms.yaml").write_text(f"- {GOOD}\n")
    assert check(copied) == []
