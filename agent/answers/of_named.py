"""What the record says of the mitigations and factors that a question names, before anything else is answered.

A question may take for granted what is not so ("why did jemalloc make it worse?"); only what was tried, ranked or
measured may stand first, so that no answer about another entry reads as a yes.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...knowledge.schema import KnownFactor
from ...tools.rank_factors import RankedFactor
from ..planners.state import quoted
from . import names
from .fact import FactDraft
from .intents import ParsedQuestion
from .of_run import MOST_WORDS, RunFacts, ranked


def stands(asked: ParsedQuestion, run: RunFacts) -> Iterator[FactDraft]:
    """Say of each name how it stands in this run, mitigations first."""
    for key in asked.keys("mitigation"):
        yield from of_mitigation(key, run)
    for key in asked.keys("factor"):
        yield from of_factor(run.evidence.run.knowledge.factors[key], run)


def of_mitigation(key: str, run: RunFacts) -> tuple[FactDraft, ...]:
    """Tried, with its numbers; or not tried, with the reason."""
    tried = (*run.of("tried", "relative", key=key), *run.of("levels", key=key))
    if tried:
        return (*tried, *run.of("price", key=key))
    words = {"met": key in run.evidence.candidates}
    name, calls = names.of_mitigation(key, run.evidence), run.evidence.calls("conclude")[-1:]
    return run.of("untried", key=key) or (FactDraft("never_tried", name, calls=calls, affirmed=False, words=words),)


def of_factor(factor: KnownFactor, run: RunFacts) -> tuple[FactDraft, ...]:
    """Ranked, with its numbers; or why it was not."""
    seen = run.of("suspect", "contrary", "not_visible", key=factor.key)
    return seen or (_beyond(factor, run) or _grouped(factor, run) or _unranked(factor, run),)


def _beyond(factor: KnownFactor, run: RunFacts) -> FactDraft | None:
    """Look behind the first of the ranking, which alone are listed."""
    found = (one for one in _ranking(run) if one.factor == factor.key)
    return next((ranked(one, run.evidence) for one in found), None)


def _grouped(factor: KnownFactor, run: RunFacts) -> FactDraft | None:
    """Find its column among those that another one stands for."""
    known = run.evidence.run.knowledge
    for group in _ranking(run):
        if own := [name for name in group.members if factor.place(name)]:
            found = ranked(group, run.evidence)
            detail = f"{names.column(own[0], known)}, grouped with {found.name.shown}, {found.detail}"
            return FactDraft("grouped", names.of_factor(factor.key, known), detail, found.calls, affirmed=False)
    return None


def _unranked(factor: KnownFactor, run: RunFacts) -> FactDraft:
    """Set aside before, not measured at all, or not looked at."""
    evidence, known = run.evidence, run.evidence.run.knowledge
    name = names.of_factor(factor.key, known)
    calls = evidence.calls("rank_factors")[-1:] or evidence.calls("conclude")[-1:]
    aside = evidence.ranking.set_aside if evidence.ranking else {}
    for column, why in aside.items():
        if factor.place(column):
            detail = f"{names.column(column, known)}, {quoted(why, MOST_WORDS)}"
            return FactDraft("aside", name, detail, calls, affirmed=False)
    kind = "not_ranked" if any(factor.place(column) for column in evidence.columns) else "unmeasured"
    return FactDraft(kind, name, calls=calls, affirmed=False)


def _ranking(run: RunFacts) -> tuple[RankedFactor, ...]:
    return tuple(run.evidence.ranking.factors) if run.evidence.ranking else ()
