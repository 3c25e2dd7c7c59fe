"""Is every claim of a diagnosis backed? Cited events, what they say, and the numbers of the report.

Nothing here takes the word of `conclude`, which is what is judged: what a verdict rests on, and the p-value of its
claim, are worked out again from the results of the other tools. Verdicts of a mitigation that was asked for, or applied
by hand, do not come up in recorded cases; of those only the cited events and the numbers are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...agent.finished import FinishedRun
from ...agent.record import bodies
from ...agent.report.evidence import Evidence, gather
from ...agent.report.tell import tell
from ...agent.transcript import ToolEnd, VerdictGiven
from ...prompts.render import render
from ...tools.claim import Claim, TooFew, claims
from ...tools.compare import arms_in
from ...tools.comparison import Comparison
from .passages import passages
from .written import unfounded


def problems(run: FinishedRun) -> Iterator[str]:
    """Name what is not backed, a sentence each."""
    evidence = gather(run)
    yield from _cited(evidence)
    yield from _said(evidence)
    yield from misquoted(evidence, render("report.md.j2", story=tell(evidence)))


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
    conclusion = evidence.conclusion
    measured, ranked = evidence.calls("measure")[-1:], evidence.calls("rank_factors")
    tries = (*evidence.calls("look_up"), *evidence.calls("compare"))
    if conclusion.verdict == "mitigated":
        batches = [
            batch.call.call_id for batch in evidence.batches if batch.applied.mitigation == conclusion.mitigation
        ]
        confirming = [call for call in evidence.calls("compare") if call == conclusion.confirming]
        return (*ranked[-1:], *batches, *confirming)
    if conclusion.verdict == "no visible factor":
        return (*measured, *ranked, *tries)
    if conclusion.verdict in ("cause found, no mitigation helped", "inconclusive") and ranked:
        return (*ranked[-1:], *tries)
    return measured


def _said(evidence: Evidence) -> Iterator[str]:
    """What the cited results say is what the verdict claims."""
    verdict, measured, ranking = evidence.conclusion.verdict, evidence.measured, evidence.ranking
    if verdict == "mitigated":
        yield from _confirmed(evidence)
    elif verdict == "insufficient data" and measured and not measured.unusable:
        yield "the data are called insufficient, and measure says that they can be used"
    elif verdict == "nothing to reduce" and not (measured and measured.steady):
        yield "there is said to be nothing to reduce, and measure does not call the baseline steady"
    elif verdict == "no visible factor" and (ranking is None or ranking.visible):
        yield "no factor is said to be visible, and rank_factors does not say so"
    elif verdict == "cause found, no mitigation helped":
        yield from _in_vain(evidence)
    if verdict in ("cause found, no mitigation helped", "inconclusive") and evidence.conclusion.factor:
        yield from _first_factor(evidence)


def _in_vain(evidence: Evidence) -> Iterator[str]:
    for batch in evidence.batches:
        found = batch.compared.comparison if batch.compared else None
        if found and (found.direction == "less" or found.direction == "undecided" and not found.refuted):
            where = f"batch {batch.applied.batch} of {batch.applied.mitigation}"
            yield f"no mitigation is said to have helped, and {where} leaves it open: {found.shown('spread')}"


def _first_factor(evidence: Evidence) -> Iterator[str]:
    conclusion, ranking = evidence.conclusion, evidence.ranking
    first = ranking.factors[0] if ranking and ranking.visible else None
    if first is None or (first.factor, first.column) != (conclusion.factor, conclusion.column):
        yield f"{conclusion.factor} ({conclusion.column}) is named, and is not the first that rank_factors shows"


def _confirmed(evidence: Evidence) -> Iterator[str]:
    conclusion, batch = evidence.conclusion, evidence.confirming
    if batch is None or batch.compared is None:
        yield f"the verdict rests on {conclusion.confirming}, which is no finished comparison"
        return
    compared, where = batch.compared, conclusion.confirming
    if compared.mitigation != conclusion.mitigation or compared.batch != 2:
        yield f"{where} is batch {compared.batch} of {compared.mitigation}, not what is claimed"
    spread = conclusion.spread
    if spread is None or spread.direction != "less":
        yield f"the verdict claims a fall of the spread that is not less: {spread}"
    if spread != _family(evidence).get(batch.call.call_id):
        yield f"the claim of the verdict is not that of {where} in the family of all confirmations"
    yield from _same_claims(evidence, compared.comparison)
    suspects = {one.factor for one in evidence.suspects}
    offering = (one.factor for one in evidence.looked_up if compared.mitigation in [c.mitigation for c in one.offered])
    if conclusion.factor not in (suspects or set(offering)):
        yield f"{conclusion.factor} is named as the cause, and neither ranking nor look-up points at it"


def _family(evidence: Evidence) -> dict[str, Claim | TooFew]:
    """Make the claims of all batches that confirm from their tables."""
    record, limits = evidence.run.record, evidence.run.limits
    calls = [one.call for one in evidence.batches if one.compared and one.compared.batch == 2]
    return claims({call.call_id: arms_in(call, record) for call in calls}, alpha=limits.alpha, seed=limits.seed)


def _same_claims(evidence: Evidence, comparison: Comparison) -> Iterator[str]:
    conclusion = evidence.conclusion
    claimed = {"sd": conclusion.sd, "mean": conclusion.mean, "cv": conclusion.cv}
    for measure, claim in comparison.claims.items():
        if measure in claimed and claimed[measure] != (claim if isinstance(claim, Claim) else None):
            yield f"the {measure} of the verdict is not that of {conclusion.confirming}"
