"""What a reader sees first: the answer in plain words, the picture, what to change, what that costs, how sure."""

from __future__ import annotations

from collections.abc import Iterator

from ...tools.claim import interval
from ...tools.document import Block, Command, Figure, Headline, Note
from ...tools.remedies import price
from ...tools.verdict import Confirmed, Observed, helpful
from .evidence import Evidence


def first_screen(evidence: Evidence, picture: bool = True) -> Iterator[Block]:
    """Give the answer; ratios and identifiers come below it."""
    yield Headline("", evidence.plain)
    if picture:
        yield _picture(evidence)
    proof = helpful(evidence.verdict)
    if proof is None:
        return
    yield Command(proof.command if isinstance(proof, Confirmed) else "", "What to change")
    yield Note(" ".join(_costs(proof, evidence)), "What it costs")
    yield Note(_how_sure(proof, evidence), "How sure")


def _picture(evidence: Evidence) -> Figure:
    if evidence.confirming:
        return Figure("overlay", "Runs without and with it on one axis; right, the share of runs up to each outcome.")
    return Figure("distribution", "The runs that were looked at; slow ones are in another colour.")


def _costs(proof: Confirmed | Observed, evidence: Evidence) -> Iterator[str]:
    """The mean, what is promised no longer, who else is concerned, and when it hurts."""
    mean, known = proof.mean, evidence.candidates.get(proof.mitigation)
    if mean and mean.ratio is not None:
        none = price(mean, evidence.run.subject.lower_is_better) == "excluded"
        yield f"{'Nothing in the mean: it' if none else 'The mean'} is {interval(mean)} times the baseline's."
    if proof.promise:
        yield f"The program then no longer promises: {proof.promise}."
    if known and known.scope != "process":
        yield "It concerns every program on the machine."
    if known and known.hurts:
        yield f"{known.hurts.split('. ')[0].rstrip('.')}."


def _how_sure(proof: Confirmed | Observed, evidence: Evidence) -> str:
    batch, claim = evidence.confirming, proof.claim
    pairs = batch.compared.comparison.described.baseline_runs if batch and batch.compared else 0
    if isinstance(proof, Observed):
        return f"The {claim.measure} falls to {interval(claim)} of what it was, in one series after the other."
    return (
        f"The {claim.measure} falls to {interval(claim)} of the baseline's in {pairs} randomised pairs, a second batch "
        "that confirms the first."
    )
