"""What a word of the report means, and how it stands in this run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...knowledge.loader import HERE
from ...knowledge.passages import cited
from ...knowledge.terms import read_terms, spelt
from . import fact
from .fact import CitableFact, stated

ASKING = re.compile(
    r"\b(what is|what are|whats|what does|what do|what you mean|meant by|means?|meaning|define|definition|explain|"
    r"stands? for|how is|how are)\b"
)
FRAME = frozenset(
    re.findall(
        "[a-z]+",
        "and so but please what whats is are does do you mean means meant meaning define definition explain stand"
        " stands for by the a an your this me to exactly here report term word abbreviation how computed calculated"
        " defined between difference",
    )
)
"""Words that may stand around a term in a question for its meaning; any other makes it a question for more."""
SHOWN: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("sd_ratio", "mean_ratio", "cv_ratio", "p_value", "adjusted_p", "interval"), ("verdict",)),
    **dict.fromkeys(("pair", "batch", "in_force"), ("tried",)),
    **dict.fromkeys(("sd", "cv", "p95", "p99", "baseline"), ("baseline",)),
    **dict.fromkeys(("auc", "family_wise_p", "association"), ("suspect",)),
    "cut": ("classes", "cut"),
    "alpha": ("method",),
}
"""Where a term shows in what a run says, by the kind of fact; a verdict shows in the verdict."""


def meant(plain: str) -> tuple[str, ...]:
    """Give the terms of which a question asks the meaning, and nothing else: the longest names first."""
    left, found = re.sub(r"\b(meaning|definition) of\b", "meaning", f" {' '.join(plain.split())} "), list[str]()
    known = [(spelt(name), term.key) for term in read_terms(HERE) for name in term.names]
    for name, key in sorted(known, key=lambda one: (-len(one[0]), one)):
        if f" {name} " in left:
            left = left.replace(f" {name} ", " ; ")
            found.append(key)
    rest = set(left.replace(";", " ").split())
    if not found or rest - FRAME or (rest and not ASKING.search(left)):
        return ()
    return tuple(dict.fromkeys(found))


def definition(key: str) -> Iterator[CitableFact]:
    """Say what a term means, with its formula and the source of that."""
    for term in (one for one in read_terms(HERE) if one.key == key):
        formula = f" As a formula, {term.formula}" if term.formula else ""
        text = f"{term.text}{formula}".rstrip(".")
        sources = tuple(map(cited, term.references)) or (f"what vgo-agent means by {term.names[0]}",)
        yield stated("term", fact.Name("", term.names[0]), " ".join(text.split()), sources=sources)
