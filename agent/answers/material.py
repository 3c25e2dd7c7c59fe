"""What belongs to a question: the facts that answer it, those that go with it, and the commands that may come next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...knowledge.passages import KnowledgePassage
from . import fact, of_known, of_terms
from .cues import Intent
from .fact import CitableFact, SuggestedCommand
from .intents import ParsedQuestion, matter
from .near import Near
from .of_run import RunFacts

MOST_OTHERS = 3
MOST_FOUND = 3
FEW = 2
FORMATS = {"cluster": "slurm", "container": "docker"}
Search = Callable[[str], Sequence[KnowledgePassage]]


@dataclass(frozen=True)
class Material:
    """Facts and commands, before those of what is known have their references."""

    direct: tuple[CitableFact, ...] = ()
    """All of them are said, whoever writes."""
    more: tuple[CitableFact, ...] = ()
    """May be said."""
    steps: tuple[SuggestedCommand, ...] = ()
    prompt: str = "answer"
    """Of a model: a template of that name."""
    most_more: int = 4
    """Facts beside the direct ones, where no model chooses."""
    leading: tuple[CitableFact, ...] = ()
    """The first of the direct ones: how what the question names stands in this run. Nothing is said before them."""


def material(asked: ParsedQuestion, run: RunFacts, search: Search, near: Near) -> Material:
    """Gather what belongs to a question; nothing direct means that the answer is not known."""
    found = _general(asked, run, search, near)
    if not asked.names or asked.intent not in NAMES_FIRST:
        return found
    first = tuple(of_known.stands(asked, run))
    rest = [one for one in found.direct if one not in first]
    keys = {name.partition(":")[2] for name in asked.names}
    rest.sort(key=lambda one: one.key not in keys)
    return replace(found, direct=(*first, *rest), leading=first)


def _general(asked: ParsedQuestion, run: RunFacts, search: Search, near: Near) -> Material:
    if asked.intent in _OF_RUN:
        return _OF_RUN[asked.intent](run)
    if asked.intent in _OF_NAMES:
        return _OF_NAMES[asked.intent](asked, run)
    return _searched(asked, run, search, near) if asked.intent == "search" else Material()


def _why(run: RunFacts) -> Material:
    """The verdict first, for many read no further; then what it rests on, and how the factor makes runs slow."""
    suspects = run.of("suspect", "contrary")
    keys = [fact.key for fact in suspects[:1] if fact.key]
    reached = (*run.of("relative", "gained", key=run.winner), *run.of("tried", key=run.winner)) if run.winner else ()
    direct = (*run.of("verdict"), *reached, *suspects[:1], *run.of("others"))
    others: tuple[CitableFact, ...] = (
        *(of_known.what(f"factor:{key}", run.evidence, short=True) for key in keys),
        *run.of("baseline", "cut"),
        *suspects[1:MOST_OTHERS],
        *run.of("not_visible")[:MOST_OTHERS],
        *run.of("hidden", "warning"),
    )
    proposed = [*map(fact.explain, keys), *_ready(run)[:1], fact.report(run.evidence)]
    return Material(direct, others, tuple(proposed), "explain", 1 if reached else FEW)


def _with_report(
    run: RunFacts, direct: Sequence[CitableFact], more: Sequence[CitableFact], most_more: int = Material.most_more
) -> Material:
    """The whole report is what may come next."""
    return Material(tuple(direct), tuple(more), (fact.report(run.evidence),), most_more=most_more)


def _where(run: RunFacts) -> Material:
    """Where slow runs take more time, in all, then by state with what it was made of; or where a gain lies."""
    direct = run.of("where", "state", "on_cpu") or run.of("gained") or run.of("no_ledger")
    return _with_report(run, direct, (*run.of("verdict"), *run.of("classes")), 1)


def _tried(run: RunFacts) -> Material:
    direct = run.of("tried", "relative", "gained") or run.of("nothing_tried")
    return _with_report(run, direct, run.of("price", "levels", "untried"))


def _sure(run: RunFacts) -> Material:
    won = run.of("tried", "relative", "gained", key=run.winner) if run.winner else ()
    direct = (*(won or run.of("verdict")), *run.of("method"), *run.of("warning"))
    seen = (*run.of("suspect"), *run.of("not_visible")[:1], *run.of("baseline", "recorded"))
    more: tuple[CitableFact, ...] = (*seen, of_known.elsewhere())
    return Material(direct, more, tuple(fact.check(run.evidence)))


def _reproduce(run: RunFacts) -> Material:
    direct = (*run.of("reproduce"), *run.of("recorded"))
    proposed = (*fact.recorded(run.evidence), *fact.check(run.evidence), fact.diagnose(run.evidence))
    return Material(direct, (*run.of("method", "machine", "planner"), of_known.elsewhere()), proposed)


def _put_back(run: RunFacts) -> Material:
    direct = (*run.of("put_back"), *run.of("told")) or run.of("nothing_tried")
    return Material(direct, run.of("recorded"), (fact.RESTORE,))


def _not_measured(run: RunFacts) -> Material:
    direct = (*run.of("absent"), *run.of("hidden")) or run.of("set_aside")
    return Material(direct, run.of("set_aside"), (fact.LAYERS,))


def _next(run: RunFacts) -> Material:
    direct = run.of("advice") or run.of("verdict")
    proposed = [*([fact.export(run.winner)] if run.winner else ()), *_ready(run), fact.diagnose(run.evidence)]
    return Material(direct, (*run.of("untried")[:MOST_OTHERS], *run.of("warning")), tuple(proposed[:MOST_FOUND]))


def _spread(run: RunFacts) -> Material:
    won = run.of("tried", key=run.winner) if run.winner else ()
    return _with_report(run, (*run.of("baseline"), *run.of("shape")), (*won, *run.of("cut")))


def _classes(run: RunFacts) -> Material:
    """How far the slow runs are from the fast ones; where none were told apart, how far all scatter."""
    told = (*run.of("classes"), *run.of("cut"))
    baseline = run.of("baseline")
    return _with_report(run, told or baseline, (*run.of("suspect")[:1], *(baseline if told else ())))


def _summary(run: RunFacts) -> Material:
    reached = run.of("relative", "gained", key=run.winner) if run.winner else ()
    direct = (*run.of("verdict"), *reached, *run.of("suspect")[:1])
    came_of_it = run.of("price", key=run.winner) if run.winner else run.of("tried")[-1:]
    more = (*run.of("baseline"), *came_of_it, *run.of("nothing_tried", "warning", "tried", "price"))
    return Material(direct, more, (fact.report(run.evidence),), "summarise", FEW)


_OF_RUN: Mapping[Intent, Callable[[RunFacts], Material]] = {
    "why": _why,
    "where": _where,
    "tried": _tried,
    "sure": _sure,
    "reproduce": _reproduce,
    "put back": _put_back,
    "not measured": _not_measured,
    "next": _next,
    "who": lambda run: Material(run.of("planner"), run.of("method", "recorded"), tuple(fact.check(run.evidence))),
    "machine": lambda run: Material((*run.of("rights"), *run.of("machine")), run.of("absent"), (fact.LAYERS,)),
    "spread": _spread,
    "classes": _classes,
    "runs": lambda run: _with_report(run, run.of("runs") or run.of("baseline"), run.of("classes", "baseline")),
    "failing": lambda run: _with_report(run, run.of("failing") or run.of("none_failed"), run.of("verdict")),
    "summary": _summary,
}
"""Kinds of questions that are about the run alone."""
NAMES_FIRST: frozenset[Intent] = frozenset({*_OF_RUN, "do", "suspect"})
"""Kinds in which what is named is answered about first; the others are about names anyway."""


def _effect(asked: ParsedQuestion, run: RunFacts) -> Material:
    """Did it help, would it help: the run where it was tried, else how it stands to what was found."""
    known = run.evidence.run.knowledge
    keys = list(asked.keys("mitigation"))
    for factor in asked.keys("factor") if not keys else ():
        keys += known.factors[factor].mitigations[:MOST_FOUND]
    keys = keys or list(run.tried)
    direct, more, proposed = list[CitableFact](), list[CitableFact](), list[SuggestedCommand]()
    for key in dict.fromkeys(keys):
        tried = run.of("tried", key=key)
        direct += (*tried, *run.of("relative", "gained", key=key)) or of_known.of_mitigation(key, run)
        if not tried:  # why it was left untried says already whether it can be tried here
            left = run.of("untried", key=key)
            here = () if left else of_known.here(known.mitigations[key], run.evidence)
            direct += (*of_known.sign(known.mitigations[key], run), *here)
        unseen = (fact for fact in run.of("hidden") if key in known.factors[fact.key].mitigations)
        rest = of_known.when(known.mitigations[key], run.evidence)
        more += (*run.of("price", key=key), *unseen, *rest, *run.of("put_back", key=key))
        proposed += _proposals(key, run)
    most = Material.most_more if len(direct) < MOST_FOUND else FEW
    return Material(tuple(direct) or run.of("nothing_tried"), tuple(more), tuple(proposed), most_more=most)


def _proposals(key: str, run: RunFacts) -> Iterator[SuggestedCommand]:
    """What to do about one mitigation: keep it where it is the answer, try it where that can be done."""
    if key == run.winner:
        yield fact.export(key)
    elif not run.of("tried", key=key):
        here = of_known.here(run.evidence.run.knowledge.mitigations[key], run.evidence)
        can = any(draft.kind == "here" for draft in here)
        yield fact.attempt(key, run.evidence) if can else fact.explain(key)


def _cost(asked: ParsedQuestion, run: RunFacts) -> Material:
    keys = asked.keys("mitigation") or ((run.winner,) if run.winner else run.tried)
    known = run.evidence.run.knowledge.mitigations
    direct = [fact for key in keys for fact in run.of("price", key=key)]
    entries = [draft for key in keys if key in known for draft in of_known.when(known[key], run.evidence)]
    hurts = [draft for draft in entries if draft.kind == "hurts"]
    back = [fact for key in keys for fact in run.of("put_back", key=key)]
    direct_all: tuple[CitableFact, ...] = (*direct, *hurts) or run.of("nothing_tried")
    return Material(direct_all, (*back, *run.of("warning")), tuple(map(fact.explain, keys[:1])))


def _do(asked: ParsedQuestion, run: RunFacts) -> Material:
    evidence, known = run.evidence, run.evidence.run.knowledge.mitigations
    kept = list(of_known.keep(known[run.winner], evidence)) if run.winner in known else []
    won = run.of("tried", "relative", "gained", key=run.winner) if run.winner else ()
    direct: list[CitableFact] = [
        *(won or run.of("verdict")),
        *(kept if "keep" in asked.contexts or not asked.contexts else ()),
    ]
    if "without root" in asked.contexts:
        direct += of_known.without_root(evidence)
    if {"cluster", "container"} & set(asked.contexts):
        direct.append(of_known.elsewhere())
    formats = [FORMATS[context] for context in asked.contexts if context in FORMATS] or [""]
    proposed = [fact.export(run.winner, one) for one in formats] if run.winner else _ready(run)
    more: tuple[CitableFact, ...] = (
        *kept,
        *run.of("advice"),
        *run.of("price", key=run.winner or None),
        *run.of("warning"),
    )
    rest = tuple(one for one in more if one not in direct)
    return Material(tuple(direct), rest, (*proposed, fact.diagnose(evidence)))


def _ready(run: RunFacts) -> list[SuggestedCommand]:
    """Propose what was found, could be tried and was not; the first only, since each takes as long as the run."""
    left = {fact.key for fact in run.of("untried")}
    ready = (key for key, one in run.evidence.candidates.items() if key in left and one.automatic and not one.unmet)
    return [fact.attempt(key, run.evidence) for key in list(ready)[:1]]


def _suspect(asked: ParsedQuestion, run: RunFacts) -> Material:
    """Whether it is what the question names; what the verdict says is the other half of the answer."""
    told = _entries(asked, run)
    more = (*(one for one in told.direct if one.kind == "what"), *told.more)
    return replace(told, direct=(*run.of("verdict"), *run.of("suspect")[:1]), more=more)


def _entries(asked: ParsedQuestion, run: RunFacts) -> Material:
    """What something is, and what this run says of it."""
    evidence, known = run.evidence, run.evidence.run.knowledge
    direct, more = list[CitableFact](), list[CitableFact]()
    for key in asked.keys("factor"):
        factor = known.factors[key]
        direct += (of_known.what(f"factor:{key}", evidence), *of_known.of_factor(factor, run))
        more += (*of_known.shows(factor, evidence), *of_known.cures(factor, evidence))
    for key in asked.keys("mitigation"):
        direct += (of_known.what(f"mitigation:{key}", evidence), *of_known.of_mitigation(key, run))
        more += of_known.when(known.mitigations[key], evidence)
    direct += (of_known.what(f"state:{key}", evidence) for key in asked.keys("state"))
    keys = [name.partition(":")[2] for name in asked.names]
    return Material(tuple(direct), tuple(more), tuple(map(fact.explain, keys[:1])))


def _terms(asked: ParsedQuestion, run: RunFacts) -> Material:
    """What a word of the report means, and where it shows in this run."""
    keys = asked.keys("term")
    direct = tuple(draft for key in keys for draft in of_terms.definition(key))
    kinds = dict.fromkeys(kind for key in keys for kind in of_terms.SHOWN.get(key, ("verdict",)))
    shown = tuple(fact for kind in kinds for fact in run.of(kind)[-1:])
    return _with_report(run, direct, shown, FEW)


def _searched(asked: ParsedQuestion, run: RunFacts, search: Search, near: Near) -> Material:
    """Anything else: what a search finds, and what this run says of it."""
    words = " ".join(matter(asked.question))
    found = [one for one in search(words) if near.fits(one, asked.question)][:MOST_FOUND] if words else []
    direct = [draft for one in found for draft in of_known.note(one, asked.question, run.evidence)]
    keys = [one.key for one in found if one.kind != "note"]
    more = [fact for key in keys for fact in run.of("suspect", "not_visible", "tried", "untried", key=key)]
    return Material(tuple(direct), tuple(more), tuple(map(fact.explain, keys[:1])))


_OF_NAMES: Mapping[Intent, Callable[[ParsedQuestion, RunFacts], Material]] = {
    "effect": _effect,
    "do": _do,
    "cost": _cost,
    "suspect": _suspect,
    "term": _terms,
    "what is": _entries,
}
"""Kinds of questions that are about what they name, or about where it is to be done."""
