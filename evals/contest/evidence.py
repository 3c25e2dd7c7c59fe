"""Is every claim of a diagnosis backed? Cited events, the confirmation that is claimed, and the numbers of the report.

Which verdict follows from which results is decided by `conclude` alone, which its own tests judge. Here its most
important claim is worked out again: that a mitigation was confirmed by a batch that did not choose it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...agent.record import FinishedRun, bodies
from ...agent.render.markdown import markdown_page
from ...agent.report.diagnosis import document
from ...agent.report.evidence import Evidence, gather
from ...agent.transcript import ToolEnd, VerdictGiven
from ...tools.claim import Claim, claims
from ...tools.compare import arms_in
from ...tools.conclude import FINDING
from ...tools.verdict import Confirmed, confirmed
from .passages import passages, unfounded


def problems(run: FinishedRun) -> Iterator[str]:
    """Name what is not backed, a sentence each."""
    evidence = gather(run)
    proof = confirmed(evidence.verdict)
    yield from _cited(evidence, proof)
    if proof:
        yield from _confirmed(proof, evidence)
    yield from misquoted(evidence, markdown_page(document(evidence)))


def misquoted(evidence: Evidence, report: str) -> Iterator[str]:
    """Name the numbers of a report that no result holds; `passages` says which of them are looked at."""
    for passage in passages(evidence, report):
        yield from unfounded(passage)


def _cited(evidence: Evidence, proof: Confirmed | None) -> Iterator[str]:
    """Every event that is cited is the end of a call with a result; what the verdict rests on is among them."""
    ends = {event.seq: event.body for event in evidence.run.events}
    cited = set[str]()
    for place in (place for verdict in bodies(evidence.run.events, VerdictGiven) for place in verdict.evidence):
        body = ends.get(place)
        if not isinstance(body, ToolEnd) or body.result is None:
            yield f"event {place} is cited and is no end of a call with a result"
        else:
            cited.add(body.call_id)
    grounds = [*evidence.calls("measure")[-1:]]
    if proof:
        batches = (batch for batch in evidence.batches if batch.applied.mitigation == proof.mitigation)
        grounds = [*evidence.calls("rank_factors")[-1:], *(batch.call.call_id for batch in batches), proof.comparison]
    elif evidence.measured and not (evidence.measured.steady or evidence.measured.unusable):
        grounds = [*evidence.calls(*FINDING)]
    yield from (f"the verdict rests on {call} and does not cite it" for call in grounds if call not in cited)


def _confirmed(proof: Confirmed, evidence: Evidence) -> Iterator[str]:
    """The claim is that of a second batch of this mitigation, in the family of all confirmations, and a fall."""
    batch, where = evidence.confirming, proof.comparison
    if batch is None or batch.compared is None:
        yield f"the verdict rests on {where}, which is no finished comparison"
        return
    compared, run = batch.compared, evidence.run
    if compared.mitigation != proof.mitigation or compared.batch != 2:
        yield f"{where} is batch {compared.batch} of {compared.mitigation}, not what is claimed"
    if proof.claim.direction != "less":
        yield f"the verdict claims a fall of the spread that is not less: {proof.claim}"
    seconds = [one for one in evidence.batches if one.compared and one.compared.batch == 2]
    arms = {one.call.call_id: arms_in(one, run.record) for one in seconds}
    if proof.claim != claims(arms, alpha=run.limits.alpha, seed=run.limits.seed).get(batch.call.call_id):
        yield f"the claim of the verdict is not that of {where} in the family of all confirmations"
    claimed = {"sd": proof.sd, "mean": proof.mean, "cv": proof.cv}
    for measure, claim in compared.comparison.claims.items():
        if measure in claimed and claimed[measure] != (claim if isinstance(claim, Claim) else None):
            yield f"the {measure} of the verdict is not that of {where}"
