"""What is known lets one say of the entries that a question names: their own words, and how they stand to this run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...knowledge.passages import KnowledgePassage, cited
from ...knowledge.schema import Citation, KnownFactor, Mitigation
from ...tools.mitigation.preconditions import unmet
from ..commands.mitigation_arguments import tried_here
from ..planners.state import quoted
from ..report.evidence import Evidence
from . import fact
from .fact import START, CitableFact, stated
from .intents import ParsedQuestion
from .near import excerpt
from .of_run import MOST_WORDS, RunFacts, numbers_of, ranked

MOST_SOURCES = 2
MOST_NAMED = 8
MOST_QUOTED = 300


def what(identity: str, evidence: Evidence, short: bool = False) -> CitableFact:
    """Say what a factor, a mitigation or a state is; `short`: in one sentence."""
    kind, _, key = identity.partition(":")
    known = evidence.run.knowledge
    entry = {"factor": known.factors, "mitigation": known.mitigations, "state": known.states}[kind][key]
    name = _name(kind, key, evidence)
    words = _own_words(entry.description, key, evidence)
    return stated("what", name, words.partition(". ")[0] if short else words, sources=_sources(entry.references, key))


def _name(kind: str, key: str, evidence: Evidence) -> fact.Name:
    known = evidence.run.knowledge
    if kind == "state":
        return fact.Name(key, f"{key} ({known.states[key].name})")
    return fact.of_factor(key, known) if kind == "factor" else fact.of_mitigation(key, evidence)


def shows(factor: KnownFactor, evidence: Evidence) -> Iterator[CitableFact]:
    """Name the columns that show a factor."""
    if factor.signals:
        listed = ", ".join(factor.signals[:MOST_NAMED])
        yield stated(
            "shows", fact.of_factor(factor.key, evidence.run.knowledge), listed, sources=_sources((), factor.key)
        )


def cures(factor: KnownFactor, evidence: Evidence) -> Iterator[CitableFact]:
    """Name what is known against a factor, in the order to try it."""
    if factor.mitigations:
        detail = ", ".join(factor.mitigations[:MOST_NAMED])
        name = fact.of_factor(factor.key, evidence.run.knowledge)
        yield stated("cures", name, detail, sources=_sources(factor.references, factor.key))


def when(mitigation: Mitigation, evidence: Evidence) -> Iterator[CitableFact]:
    """Say when a mitigation helps, and when it hurts."""
    name = fact.of_mitigation(mitigation.key, evidence)
    sources = _sources(mitigation.references, mitigation.key)
    for kind, text in (("when", mitigation.when), ("hurts", mitigation.hurts)):
        yield stated(kind, name, _own_words(text, mitigation.key, evidence), sources=sources)


def keep(mitigation: Mitigation, evidence: Evidence) -> Iterator[CitableFact]:
    """Say what makes it permanent, in the words of its entry."""
    name = fact.of_mitigation(mitigation.key, evidence)
    for step in mitigation.steps:
        words = step.removeprefix("To keep it:").strip()
        detail = _own_words(words, mitigation.key, evidence)
        yield stated("keep", name, detail, sources=_sources((), mitigation.key))


def here(mitigation: Mitigation, evidence: Evidence) -> Iterator[CitableFact]:
    """Say whether it could have been tried, by the machine and the program of this run."""
    name, key = fact.of_mitigation(mitigation.key, evidence), mitigation.key
    candidate = evidence.candidates.get(key)
    machine, subject, busy = evidence.run.machine, evidence.run.subject, evidence.busy_cpus
    by_tool, found, _ = tried_here(mitigation, machine, subject)
    reasons = candidate.unmet if candidate else (*found, *unmet(mitigation.applies, machine, subject, busy))
    sources = _sources((), key)
    if reasons:
        words = quoted("; ".join(dict.fromkeys(reasons)), MOST_QUOTED)
        yield stated("not_here", name, words, (START,), sources)
    elif not by_tool:
        yield stated("by_person", name, calls=(START,), sources=sources)
    else:
        yield stated("here", name, f"scope {mitigation.scope}", (START,), sources)


def sign(mitigation: Mitigation, run: RunFacts) -> Iterator[CitableFact]:
    """Hold what a mitigation is for against what goes with the slow runs."""
    known = run.evidence.run.knowledge
    factors = [factor for factor in known.factors.values() if mitigation.key in factor.mitigations]
    seen = [factor for factor in factors if run.of("suspect", key=factor.key)]
    name = fact.of_mitigation(mitigation.key, run.evidence)
    sources = _sources((), mitigation.key)
    calls = run.evidence.calls("rank_factors")[-1:] or run.evidence.calls("conclude")[-1:]
    if seen:
        detail = _named(seen)
        yield stated("may_help", name, detail, calls, sources)
    else:
        detail = f"it is for {_named(factors)}" if factors else ""
        yield stated("no_sign", name, detail, calls, sources)


def note(passage: KnowledgePassage, question: str, evidence: Evidence) -> Iterator[CitableFact]:
    """Cite what a search found, the sentences of it that answer best; nothing where it has none."""
    if passage.kind == "note":
        name = fact.Name("", f"the note {quoted(passage.title, 120)}")
    else:
        name = _name(passage.kind, passage.key, evidence)
    kind = "note" if passage.kind == "note" else "entry"
    sources = (passage.source,) if passage.source else _sources((), passage.key)
    if said := excerpt(passage.text, question):
        yield stated(kind, name, said.rstrip("."), sources=sources)


def without_root(evidence: Evidence) -> Iterator[CitableFact]:
    """Name what was found that touches the program only."""
    calls = evidence.calls("look_up") or evidence.calls("conclude")[-1:]
    fitting = [
        key
        for key, one in evidence.candidates.items()
        if one.scope == "process" and one.automatic and not one.unmet and key in evidence.run.knowledge.mitigations
    ]
    if fitting:
        yield stated("without_root", detail=", ".join(fitting[:MOST_NAMED]), calls=calls)
    else:
        yield stated("none_without_root", calls=calls)


def elsewhere() -> CitableFact:
    """Say how far what was proved reaches."""
    return stated("elsewhere", calls=(START,))


def other_knowledge(recorded: str, evidence: Evidence) -> Iterator[CitableFact]:
    """Say when the entries of today are not those that the run was made with."""
    if recorded and recorded != evidence.run.knowledge.digest:
        yield stated("other_knowledge", calls=(START,))


def _own_words(text: str, key: str, evidence: Evidence) -> str:
    """Give the words of an entry; those of the user's own file are quoted."""
    own = evidence.run.plan.own
    plain = " ".join(text.split()).rstrip(".")
    return quoted(plain, MOST_QUOTED) if own is not None and own.key == key else plain


def _named(factors: Sequence[KnownFactor]) -> str:
    more = f" and {len(factors) - MOST_NAMED} more" if len(factors) > MOST_NAMED else ""
    return ", ".join(factor.name for factor in factors[:MOST_NAMED]) + more


def _sources(references: Sequence[Citation], key: str) -> tuple[str, ...]:
    found = tuple(cited(reference) for reference in references[:MOST_SOURCES])
    return found or (f"what vgo-agent knows of {key}",)


def stands(asked: ParsedQuestion, run: RunFacts) -> Iterator[CitableFact]:
    """Say of each name how it stands in this run, mitigations first."""
    for key in asked.keys("mitigation"):
        yield from of_mitigation(key, run)
    for key in asked.keys("factor"):
        yield from of_factor(run.evidence.run.knowledge.factors[key], run)


def of_mitigation(key: str, run: RunFacts) -> tuple[CitableFact, ...]:
    """Tried, with its numbers; or not tried, with the reason."""
    tried = (*run.of("tried", "relative", "gained", key=key), *run.of("levels", key=key))
    if tried:
        return (*tried, *run.of("price", key=key))
    name, calls = fact.of_mitigation(key, run.evidence), run.evidence.calls("conclude")[-1:]
    return run.of("untried", key=key) or (stated("never_tried", name, calls=calls, met=key in run.evidence.candidates),)


def of_factor(factor: KnownFactor, run: RunFacts) -> tuple[CitableFact, ...]:
    """Ranked, with its numbers; or why it was not."""
    seen = run.of("suspect", "contrary", "not_visible", key=factor.key)
    beyond = (ranked(one, run.evidence) for one in run.evidence.factors if one.factor == factor.key)
    return seen or (next(beyond, None) or _grouped(factor, run) or _unranked(factor, run),)


def _grouped(factor: KnownFactor, run: RunFacts) -> CitableFact | None:
    """Find its column among those that another one stands for."""
    evidence, known = run.evidence, run.evidence.run.knowledge
    for group in run.evidence.factors:
        if own := [name for name in group.members if factor.place(name)]:
            other = fact.of_factor(group.factor, known).shown
            detail = f"{fact.column(own[0], known)}, grouped with {other}, {numbers_of(group, evidence)}"
            return stated("grouped", fact.of_factor(factor.key, known), detail, evidence.calls("rank_factors")[-1:])
    return None


def _unranked(factor: KnownFactor, run: RunFacts) -> CitableFact:
    """Set aside before, not measured at all, or not looked at."""
    evidence, known = run.evidence, run.evidence.run.knowledge
    name = fact.of_factor(factor.key, known)
    calls = evidence.calls("rank_factors")[-1:] or evidence.calls("conclude")[-1:]
    aside = evidence.ranking.set_aside if evidence.ranking else {}
    for column, why in aside.items():
        if factor.place(column):
            detail = f"{fact.column(column, known)}, {quoted(why, MOST_WORDS)}"
            return stated("aside", name, detail, calls)
    kind = "not_ranked" if any(factor.place(column) for column in evidence.columns) else "unmeasured"
    return stated(kind, name, calls=calls)
