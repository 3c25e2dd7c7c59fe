"""Every mitigation that was tried, every one that was not and why, and what to try where no counter speaks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from ...knowledge.schema import KnownFactor
from ...tools.case import changes_system
from ...tools.claim import Claim, TooFew
from ...tools.claim_words import disagreement, in_a_word, interval
from ...tools.compare import confirmations, reached
from ...tools.findings import Batch
from ...tools.look_up import Candidate
from ...tools.mitigation.by_hand import command_line
from ...tools.mitigation.checks import Check
from ...tools.mitigation.preconditions import unmet
from ...tools.moved import ENOUGH
from ...tools.verdict import Diagnosis, NotVisible, confirmed, undecided
from .evidence import Evidence
from .numbers import p_value, percent, quantity
from .story import Suspect, Try, Untried

MOST_SUSPECTS = 6
MOST_TRIES = 4


def winner(evidence: Evidence) -> dict[str, Any] | None:
    """Tell of the mitigation that the verdict names, with its command as the verdict recorded it."""
    proof = confirmed(evidence.verdict)
    if proof is None:
        return None
    key = proof.mitigation
    known = evidence.candidates.get(key) or evidence.run.knowledge.mitigations.get(key)
    return {
        "key": key,
        "name": name_of(key, evidence),
        "description": known.description if known else "",
        "command": proof.command,
        "hurts": known.hurts if known else "",
        "keep": [step.removeprefix("To keep it: ") for step in known.steps] if known else [],
    }


def name_of(key: str, evidence: Evidence) -> str:
    """Name of a mitigation for people."""
    known = evidence.candidates.get(key) or evidence.run.knowledge.mitigations.get(key)
    return known.name if known else key


def tried(evidence: Evidence) -> list[dict[str, Any]]:
    """Every batch, in order."""
    return [_batch(batch, evidence) for batch in evidence.batches]


def untried(evidence: Evidence) -> tuple[Untried, ...]:
    """Every mitigation of the factors looked up that no batch ran, with the reason."""
    done = {batch.applied.mitigation for batch in evidence.batches}
    refused = {refusal.mitigation: refusal.error for refusal in evidence.refusals}
    return tuple(
        Untried(candidate, refused.get(key) or _reason(candidate, evidence))
        for key, candidate in evidence.candidates.items()
        if key not in done
    )


def suspects(evidence: Evidence) -> tuple[Suspect, ...]:
    """Factors that none of the counters read here could show, with commands that can be tried by hand."""
    unseen = isinstance(evidence.verdict, Diagnosis) and isinstance(evidence.verdict.cause, NotVisible)
    if not unseen or not evidence.profiles:
        return ()
    looks = evidence.run.record.succeeded("profile")
    read = {column.name for call in looks for column in evidence.table(call).columns}
    hidden = [f for f in evidence.run.knowledge.factors.values() if not any(f.place(column) for column in read)]
    hidden.sort(key=lambda factor: (bool(factor.signals), -factor.actionable))
    seen = {batch.applied.mitigation for batch in evidence.batches}
    found = (Suspect(factor.key, factor.name, factor.description, _tries(factor, evidence, seen)) for factor in hidden)
    return tuple(islice((suspect for suspect in found if suspect.tries), MOST_SUSPECTS))


def _batch(batch: Batch, evidence: Evidence) -> dict[str, Any]:
    found, claim = batch.compared.comparison if batch.compared else None, decided(batch, evidence)
    return {
        "applied": batch.applied,
        "name": name_of(batch.applied.mitigation, evidence),
        "checks": list(_checks(batch)),
        "outcome": _outcome(batch, evidence),
        "spread": interval(claim) if claim else "",
        "alone": f" ({percent(claim.level)}; {p_value(claim.p_value)})" if isinstance(claim, Claim) else "",
        "sd": found.shown("sd") if found else "",
        "mean": found.shown("mean") if found else "",
        "doubt": disagreement(claim, found.claims["sd"]) if claim and found else "",
    }


def _checks(batch: Batch) -> Iterator[Check]:
    yield from batch.applied.checks
    for moved in batch.compared.moved if batch.compared else ():
        seen = f"{quantity(moved.baseline, moved.unit)} → {quantity(moved.mitigated, moved.unit)} (means)"
        yield Check(level=3, what=moved.column, expected=ENOUGH, seen=f"{seen}: {moved.words}", passed=moved.fell)


def _outcome(batch: Batch, evidence: Evidence) -> str:
    if not batch.applied.in_force:
        return "not proved in force, so nothing was measured"
    if batch.applied.broke:
        return batch.applied.broke
    if batch.compared is None:
        return "not compared"
    proved = ", confirmed" if batch is evidence.confirming else ""
    claim, fails = decided(batch, evidence) or batch.compared.comparison.spread, batch.compared.failing
    return f"{in_a_word(claim)}{proved}{f'; {fails.words}' if fails else ''}"


def decided(batch: Batch, evidence: Evidence) -> Claim | TooFew | None:
    """Give the claim of the spread in a batch: of one that confirms, in its family."""
    alone = batch.compared.comparison.spread if batch.compared else None
    return confirmations(evidence.run.record).get(batch.call.call_id, alone)


def _reason(candidate: Candidate, evidence: Evidence) -> str:
    if candidate.unmet:
        return "; ".join(candidate.unmet)
    if candidate.automatic and not any(candidate in result.offered for result in evidence.looked_up):
        return "no counter points at its factor, of which only the first is tried"
    if not candidate.automatic:
        return "the tool cannot do it; a person can"
    if evidence.run.record.no_system and changes_system(candidate.scope):
        return "you wanted no system change in this diagnosis"
    if evidence.run.limits.allow == "none":
        return "--allow none forbids it"
    if reached(evidence.run.record, evidence.run.limits.target_ratio):
        return "another mitigation reached the target before its turn"
    if (left := undecided(evidence.verdict)) and left.ended_by == "planner":
        return "the planner ended before its turn"
    return "the budget or --max-mitigations ended before its turn"


def _tries(factor: KnownFactor, evidence: Evidence, seen: set[str]) -> tuple[Try, ...]:
    """Those that no suspect before has named; `seen` grows by them."""
    run = evidence.run
    busy = evidence.profiled.busy_cpus if evidence.profiled else None
    known = (run.knowledge.mitigations[key] for key in factor.mitigations)
    fresh = [m for m in known if m.apply and m.key not in seen]
    ready = [m for m in fresh if not unmet(m.applies, run.machine, run.subject, busy)][:MOST_TRIES]
    seen |= {m.key for m in ready}
    return tuple(Try(m.name, m.when, command_line(m, run.subject, run.machine)) for m in ready)
