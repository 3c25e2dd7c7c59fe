"""How factors, mitigations and columns are called in an answer; what others named is quoted, and claims nothing."""

from __future__ import annotations

import re
from typing import NamedTuple

from ...knowledge.loader import Knowledge
from ..planners.state import quoted
from ..report.evidence import Evidence

PLAIN_COLUMN = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,47}")
PLAIN_UNIT = re.compile(r"[A-Za-z%/^*-]{0,12}")


class Name(NamedTuple):
    """What something is called."""

    key: str
    """Of the factor or mitigation; empty for what has none."""
    shown: str


NOBODY = Name("", "")
"""Of a fact that is about nothing with a name."""


def of_factor(key: str, known: Knowledge) -> Name:
    """Name a factor; one that is not known is a column."""
    factor = known.factors.get(key)
    if factor is None:
        return Name("", column(key, known))
    return Name(key, factor.name)


def of_mitigation(key: str, evidence: Evidence) -> Name:
    """Name a mitigation; what a file of the user calls it is not repeated."""
    own, known = evidence.run.plan.own, evidence.run.knowledge.mitigations.get(key)
    if own is not None and own.key == key:
        return Name(key, f"{key} (of your own file)")
    if known is None:
        return Name("", quoted(key))
    return Name(key, f"{key} ({known.name})")


def column(name: str, known: Knowledge) -> str:
    """Write a column as it is where something is known of it, else quoted: a program or a file has named it."""
    return name if PLAIN_COLUMN.fullmatch(name) and known.factor_of(name) else quoted(name)


def unit(words: str) -> str:
    """Give a unit that looks like one; anything else is left out."""
    return words if PLAIN_UNIT.fullmatch(words) else ""
