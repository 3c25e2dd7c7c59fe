"""What a finished run lets one say: verdict, spread, factors, what was hidden, how it was done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ...knowledge.terms import state_words
from ...tools.claim import interval
from ...tools.ranking import RankedFactor
from ...tools.verdict import confirmed, factors_found, helpful, title
from ..planners.state import quoted
from ..record import bodies
from ..report import failing, how, ledger
from ..report.evidence import Evidence
from ..report.evidence import unit as column_unit
from ..report.factors import cut
from ..report.further import steps
from ..report.mitigations import suspects
from ..report.numbers import number, p_value, percent, quantity
from ..report.remarks import findings, warnings
from ..report.tables import absent
from ..transcript import Approval, Decision, ToolEnd
from . import fact, of_runs
from .fact import START, CitableFact, numbered, stated
from .of_runs import trials

MOST_FACTORS, MOST_STATES = 8, 4
MOST_WORDS, MOST_OF_VERDICT = 300, 500
"""Characters of one text that is quoted."""


@dataclass(frozen=True)
class RunFacts:
    """The closed list of what may be said of one run; references are the same for every question."""

    evidence: Evidence
    facts: tuple[CitableFact, ...]
    events: Mapping[str, int]
    """Where each call ended, by number of the event."""

    def of(self, *kinds: str, key: str | None = None) -> tuple[CitableFact, ...]:
        """Pick by kind, and by what they are about."""
        return tuple(fact for fact in self.facts if fact.kind in kinds and key in (None, fact.key))

    @cached_property
    def winner(self) -> str:
        """Key of the mitigation that the verdict names; empty without one."""
        proof = helpful(self.evidence.verdict)
        return proof.mitigation if proof else self.evidence.run.plan.mitigation

    @cached_property
    def tried(self) -> tuple[str, ...]:
        """Keys of the mitigations of which something was tried, in that order."""
        return tuple(dict.fromkeys(fact.key for fact in self.of("tried") if fact.key))

    @property
    def mitigations(self) -> tuple[str, ...]:
        """Keys of those that were tried or come upon, the tried ones first."""
        return tuple(dict.fromkeys((*self.tried, *self.evidence.candidates)))


def run_facts(evidence: Evidence) -> RunFacts:
    """List everything, numbered."""
    events = _events(evidence)
    return RunFacts(evidence, tuple(numbered(_drafts(evidence), "f", events)), events)


def _events(evidence: Evidence) -> dict[str, int]:
    """A call ends with its result, or with the approval that it was refused: what is not approved is not begun."""
    ends = {
        body.call_id: event.seq
        for event in evidence.run.events
        if isinstance(body := event.body, ToolEnd) or (isinstance(body, Approval) and not body.granted)
    }
    return {START: 0, **ends} if evidence.run.events else {}


def _drafts(evidence: Evidence) -> Iterator[CitableFact]:
    yield _verdict(evidence)
    yield from _baseline(evidence)
    yield from _factors(evidence)
    yield from _where(evidence)
    yield from trials(evidence)
    yield from _hidden(evidence)
    yield from _remarks(evidence)
    yield from _failing(evidence)
    yield from _manner(evidence)
    yield from _others(evidence)
    if told := cut(evidence):
        yield stated("cut", detail=quoted(told, MOST_WORDS), calls=evidence.calls("label")[-1:])
    yield from of_runs.classes(evidence)
    yield from of_runs.runs(evidence)
    root = evidence.run.machine.root
    yield stated("rights", calls=(START,), root=root)


def _verdict(evidence: Evidence) -> CitableFact:
    """Give the headline of the report, about the mitigation that it names, or else the factor."""
    verdict, known = evidence.verdict, evidence.run.knowledge
    parts, proof = factors_found(verdict), helpful(verdict)
    key = proof.mitigation if proof else evidence.run.plan.mitigation
    factor = fact.of_factor(parts[0].factor, known) if parts else fact.NOBODY
    name = fact.of_mitigation(key, evidence) if key else factor
    calls = (*evidence.calls("conclude")[-1:], *verdict.evidence)
    told = f"{title(verdict)}; {quoted(evidence.plain, MOST_OF_VERDICT)}"
    if proof:
        # Adjusted for all that was confirmed; the p-value of its batch alone stands with what was tried.
        level, p = percent(proof.claim.level), p_value(proof.claim.p_value)
        told += f"; {proof.claim.measure} ratio {interval(proof.claim)}, {level}, adjusted {p}"
    return stated("verdict", name, told, calls)


def _baseline(evidence: Evidence) -> Iterator[CitableFact]:
    measured = evidence.measured
    if measured is None:
        return
    unit, found, known = fact.unit(evidence.run.subject.unit), measured.outcome, measured.sd_interval
    between = f" [{quantity(known.low, unit)}, {quantity(known.high, unit)}]" if known else ""
    detail = (
        f"SD {quantity(found.sd, unit)}{between} beside a mean of {quantity(found.mean, unit)}, "
        f"CV {percent(found.cv)}, p95 {quantity(found.p95, unit)}, {number(found.n)} {evidence.run.subject.counted}"
    )
    calls = evidence.calls("measure")[-1:]
    yield stated("baseline", detail=detail, calls=calls, steady=measured.steady, scatter=not measured.unusable)
    for finding in findings(measured, unit):
        yield stated("shape", detail=quoted(finding, MOST_WORDS), calls=calls)


def _factors(evidence: Evidence) -> Iterator[CitableFact]:
    ranking = evidence.ranking
    if ranking is None:
        return
    yield from (ranked(factor, evidence) for factor in ranking.factors[:MOST_FACTORS])
    aside = f"{number(len(ranking.set_aside))} columns"
    yield stated("set_aside", detail=aside, calls=evidence.calls("rank_factors")[-1:])


def _where(evidence: Evidence) -> Iterator[CitableFact]:
    """Say in which states slow runs take more time, by the ledger of the profiled runs."""
    found, calls = evidence.ledger, evidence.calls("rank_factors")[-1:]
    if found is None:
        yield stated("no_ledger", calls=evidence.calls("profile")[-1:] or (START,))
        return
    yield stated("where", detail=quoted(ledger.headline(found), MOST_WORDS), calls=calls)
    for one in found.material[:MOST_STATES]:
        low, high = one.gap_interval.low, one.gap_interval.high
        largest = found.cause_of(one.state)
        made = f", most of it: {quoted(largest.words, MOST_WORDS)}" if largest else ""
        detail = (
            f"{quoted(state_words(one.state), MOST_WORDS)}, {number(one.gap_ms, 3)} ms, 95 % from {number(low, 3)} to "
            f"{number(high, 3)}, {percent(one.share, 2)} of the variance{made}"
        )
        yield stated("state", detail=detail, calls=calls)
    if found.on_cpu:
        yield stated("on_cpu", detail=quoted(found.on_cpu.sentence, MOST_OF_VERDICT), calls=calls)


def ranked(factor: RankedFactor, evidence: Evidence) -> CitableFact:
    """Say whether the slow runs go with a factor, with its numbers."""
    kind = "suspect" if factor.suspect else "contrary" if factor.visible else "not_visible"
    name = fact.of_factor(factor.factor, evidence.run.knowledge)
    calls = evidence.calls("rank_factors")[-1:]
    return stated(kind, name, numbers_of(factor, evidence), calls)


def _others(evidence: Evidence) -> Iterator[CitableFact]:
    """Name in one sentence what else may make runs slow, beside the first of the ranking."""
    found = evidence.suspects[1:]
    known = evidence.run.knowledge
    named = [
        f"{fact.of_factor(one.factor, known).shown}, AUC {number(one.auc, 3)}{_beside(one)}"
        for one in found[:MOST_FACTORS]
    ]
    if named:
        more = f"; and {len(found) - MOST_FACTORS} more" if len(found) > MOST_FACTORS else ""
        yield stated("others", detail="; ".join(named) + more, calls=evidence.calls("rank_factors")[-1:])


def numbers_of(factor: RankedFactor, evidence: Evidence) -> str:
    """Give the numbers of a factor: its column, how well it tells slow runs from fast, and its medians."""
    unit = fact.unit(column_unit(factor.column, evidence.columns))
    medians = f"{quantity(factor.slow_median, unit)} in slow runs and {quantity(factor.fast_median, unit)} in fast ones"
    shown = fact.column(factor.column, evidence.run.knowledge)
    numbers = f"AUC {number(factor.auc, 3)}, family-wise {p_value(factor.p_value)}"
    return f"{shown}, {numbers}, median {medians}{_beside(factor)}"


def _beside(factor: RankedFactor) -> str:
    return ", nothing of it left beside stronger ones" if factor.independent is False else ""


def _hidden(evidence: Evidence) -> Iterator[CitableFact]:
    """What could not be seen: sources that this machine lacks, factors that leave no counter."""
    calls = (START, *evidence.calls("profile")[-1:])
    for columns, why in absent(evidence.run):
        detail = f"{quoted(columns, 160)}, since {quoted(why, MOST_WORDS)}"
        yield stated("absent", detail=detail, calls=calls)
    for factor, _ in suspects(evidence):
        name = fact.of_factor(factor.key, evidence.run.knowledge)
        yield stated("hidden", name, calls=calls)


def _remarks(evidence: Evidence) -> Iterator[CitableFact]:
    calls = evidence.calls("conclude")[-1:]
    for text in warnings(evidence):
        yield stated("warning", detail=quoted(text, MOST_WORDS), calls=calls)
    for text in steps(evidence):
        yield stated("advice", detail=quoted(text, MOST_WORDS), calls=calls)


def _failing(evidence: Evidence) -> Iterator[CitableFact]:
    calls = tuple(call for tool in ("measure", "profile", "rank_factors") for call in evidence.calls(tool)[-1:])
    told = [*failing.sentences(evidence), *failing.of_mitigations(evidence)]
    for text in told:
        yield stated("failing", detail=quoted(text, MOST_WORDS), calls=calls)
    if not told:
        yield stated("none_failed", calls=calls or (START,))


def _manner(evidence: Evidence) -> Iterator[CitableFact]:
    """How it was done, and how it can be checked."""
    run, concluded = evidence.run, evidence.calls("conclude")[-1:]
    limits = run.limits
    detail = (
        f"alpha {number(limits.alpha)}, target spread ratio below {number(limits.target_ratio)}, seed {limits.seed}"
    )
    yield stated("method", detail=detail, calls=(START,))
    yield _planner(evidence)
    surveyed = "; ".join(f"{name} {text}" for name, text in how.machine(evidence))
    yield stated("machine", detail=quoted(surveyed, MOST_WORDS), calls=(START,))
    if proof := confirmed(evidence.verdict):
        yield stated("reproduce", fact.of_mitigation(proof.mitigation, evidence), calls=concluded)
    yield stated("recorded", detail=f"its tip is {run.tip[:16]}", calls=concluded)


def _planner(evidence: Evidence) -> CitableFact:
    """Count the steps by who chose them, resting on the decisions themselves."""
    run = evidence.run
    decided = {event.body.call_id: event for event in run.events if isinstance(event.body, Decision)}
    origins = Counter(body.origin for body in bodies(run.events, Decision)) or {run.planner: 0}
    steps = ", ".join(f"{quoted(origin)} {number(count)}" for origin, count in sorted(origins.items()))
    events = tuple(event.seq for event in decided.values())
    fact = stated("planner", detail=f"steps by planner: {steps}", calls=tuple(decided) or (START,))
    return replace(fact, events=events, decided=bool(events))
