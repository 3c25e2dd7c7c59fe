"""Is every claim of a diagnosis backed? Cited events, what they say, and the numbers of the report.

Nothing here takes the word of `conclude`, which is what is judged: what a verdict rests on, and the p-value of its
claim, are worked out again from the results of the other tools. Verdicts of a mitigation that was asked for, or applied
by hand, do not come up in recorded cases; of those only the cited events and the numbers are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from ...agent.record import FinishedRun, bodies
from ...agent.render.markdown import markdown_page
from ...agent.report.diagnosis import document
from ...agent.report.evidence import Evidence, gather
from ...agent.transcript import ToolEnd, VerdictGiven
from ...tools.claim import Claim, TooFew, claims
from ...tools.compare import arms_in
from ...tools.comparison import Comparison
from ...tools.verdict import (
    Cause,
    Confirmed,
    Diagnosis,
    Explained,
    Found,
    NotSought,
    NotTried,
    NotVisible,
    Observed,
    Refuted,
    Remedy,
    Steady,
    Undecided,
    Unusable,
)
from .passages import passages, unfounded


def problems(run: FinishedRun) -> Iterator[str]:
    """Name what is not backed, a sentence each."""
    evidence = gather(run)
    yield from _cited(evidence)
    yield from _said(evidence)
    yield from misquoted(evidence, markdown_page(document(evidence)))


def misquoted(evidence: Evidence, report: str) -> Iterator[str]:
    """Name the numbers of a report that no result holds; `passages` says which of them are looked at."""
    for passage in passages(evidence, report):
        yield from unfounded(passage)


def _cited(evidence: Evidence) -> Iterator[str]:
    """Every event that is cited is the end of a call with a result, and what the verdict rests on is among them."""
    run = evidence.run
    ends = {event.seq: event.body for event in run.events}
    cited: set[str] = set()
    for verdict in bodies(run.events, VerdictGiven):
        for place in verdict.evidence:
            body = ends.get(place)
            if not isinstance(body, ToolEnd):
                yield f"event {place} is cited and is no end of a call"
            elif body.result is None:
                yield f"event {place} is cited and has no result"
            else:
                cited.add(body.call_id)
    for call in _grounds(evidence):
        if call not in cited:
            yield f"the verdict rests on {call} ({evidence.record.call(call).tool}) and does not cite it"


def _grounds(evidence: Evidence) -> Sequence[str]:
    """Calls without which the verdict could not be given."""
    verdict = evidence.verdict
    measured, ranked = evidence.calls("measure")[-1:], evidence.calls("rank_factors")
    tries = (*evidence.calls("look_up"), *evidence.calls("compare"))
    match verdict:
        case Diagnosis(remedy=Confirmed(mitigation=key, comparison=confirming)):
            batches = [batch.call.call_id for batch in evidence.batches if batch.applied.mitigation == key]
            compared = [call for call in evidence.calls("compare") if call == confirming]
            return (*ranked[-1:], *batches, *compared)
        case Diagnosis():
            return (*measured, *ranked, *tries)
        case Steady() | Unusable():
            return measured
        case _:
            assert_never(verdict)


def _said(evidence: Evidence) -> Iterator[str]:
    verdict, measured = evidence.verdict, evidence.measured
    match verdict:
        case Diagnosis(cause=cause, remedy=remedy):
            yield from _of_cause(cause, evidence)
            yield from _of_remedy(remedy, evidence)
        case Steady():
            if not (measured and measured.steady):
                yield "there is said to be nothing to reduce, and measure does not call the baseline steady"
        case Unusable():
            if measured and not measured.unusable:
                yield "the data are called unusable, and measure says that they can be used"
        case _:
            assert_never(verdict)


def _of_cause(cause: Cause, evidence: Evidence) -> Iterator[str]:
    ranking = evidence.ranking
    match cause:
        case Explained(parts=parts):
            suspects = [(one.factor, one.column) for one in ranking.factors if one.suspect] if ranking else []
            offering = {one.factor for one in evidence.looked_up}
            for part in parts:
                by_trying = isinstance(part, Found) and part.column is None and not suspects and part.factor in offering
                if isinstance(part, Found) and not by_trying and (part.factor, part.column) not in suspects:
                    yield f"{part.factor} ({part.column}) is named, and neither ranking nor look-up points at it"
        case NotVisible():
            if ranking is None or ranking.visible:
                yield "no factor is said to be visible, and rank_factors does not say so"
        case NotSought():
            if ranking and ranking.visible:
                yield "no factor is said to have been sought, and rank_factors shows one"
        case _:
            assert_never(cause)


def _of_remedy(remedy: Remedy, evidence: Evidence) -> Iterator[str]:
    match remedy:
        case Confirmed():
            yield from _confirmed(remedy, evidence)
        case Refuted():
            yield from _in_vain(evidence)
        case Undecided(undecided=undecided):
            named = {one.mitigation for one in undecided}
            strangers = named - {batch.applied.mitigation for batch in evidence.batches if batch.compared}
            yield from (f"{key} is called undecided, and was not compared" for key in sorted(strangers))
        case NotTried():
            if any(batch.compared for batch in evidence.batches):
                yield "no mitigation is said to have been tried, and one was compared"
        case Observed():  # none in recorded cases
            return
        case _:
            assert_never(remedy)


def _in_vain(evidence: Evidence) -> Iterator[str]:
    for batch in evidence.batches:
        found = batch.compared.comparison if batch.compared else None
        if found and (found.direction == "less" or found.direction == "undecided" and not found.refuted):
            where = f"batch {batch.applied.batch} of {batch.applied.mitigation}"
            yield f"no mitigation is said to have helped, and {where} leaves it open: {found.shown('spread')}"


def _confirmed(proof: Confirmed, evidence: Evidence) -> Iterator[str]:
    batch, where = evidence.confirming, proof.comparison
    if batch is None or batch.compared is None:
        yield f"the verdict rests on {where}, which is no finished comparison"
        return
    compared = batch.compared
    if compared.mitigation != proof.mitigation or compared.batch != 2:
        yield f"{where} is batch {compared.batch} of {compared.mitigation}, not what is claimed"
    if proof.claim.direction != "less":
        yield f"the verdict claims a fall of the spread that is not less: {proof.claim}"
    if proof.claim != _family(evidence).get(batch.call.call_id):
        yield f"the claim of the verdict is not that of {where} in the family of all confirmations"
    yield from _same_claims(proof, compared.comparison)


def _family(evidence: Evidence) -> dict[str, Claim | TooFew]:
    record, limits = evidence.run.record, evidence.run.limits
    calls = [one.call for one in evidence.batches if one.compared and one.compared.batch == 2]
    return claims({call.call_id: arms_in(call, record) for call in calls}, alpha=limits.alpha, seed=limits.seed)


def _same_claims(proof: Confirmed, comparison: Comparison) -> Iterator[str]:
    claimed = {"sd": proof.sd, "mean": proof.mean, "cv": proof.cv}
    for measure, claim in comparison.claims.items():
        if measure in claimed and claimed[measure] != (claim if isinstance(claim, Claim) else None):
            yield f"the {measure} of the verdict is not that of {proof.comparison}"
