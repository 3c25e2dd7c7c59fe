"""A planner in the real graph over recorded runs, and whether every claim of its diagnosis is backed.

Which verdict follows from which results is decided by `conclude` alone, which its own tests judge. Here its most
important claim is worked out again: that a mitigation was confirmed by a batch that did not choose it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...agent.legal import was_legal
from ...agent.live import Live
from ...agent.planners.base import Planner
from ...agent.record import FinishedRun, bodies, record_of
from ...agent.render.text import markdown_page
from ...agent.report.diagnosis import document
from ...agent.report.evidence import Evidence, gather
from ...agent.report.remarks import warnings
from ...agent.run_folder import RunFolder
from ...agent.schemas import schemas_digest
from ...agent.transcript import Approval, Decision, RunStart, ToolEnd, Transcript, VerdictGiven, canonical
from ...knowledge.errors import VgoError
from ...knowledge.loader import Knowledge, load
from ...layers.wrapper import own_folder
from ...tools.claim import Claim, claims
from ...tools.ranking import RankedFactor
from ...tools.record import Record
from ...tools.steps.compare import arms_in
from ...tools.steps.conclude import FINDING
from ...tools.verdict import Confirmed, Verdict, confirmed, factors_found, title
from ..recorded.bench import RecordedBench
from ..recorded.recorded_case import ShownCase
from .answer import PRICE, ContestAnswer
from .passages import passages, unfounded


@dataclass(frozen=True)
class Diagnosed:
    """A diagnosis that has ended."""

    transcript: Transcript
    folder: RunFolder
    start: RunStart
    knowledge: Knowledge
    ended: str
    """Why it has no verdict; empty where it has one."""

    @property
    def finished(self) -> FinishedRun:
        """What a report is written from."""
        from ...agent.conduct import finished_run

        return finished_run(self.folder, self.transcript, self.knowledge)


@dataclass(frozen=True)
class PlannerContestant:
    """Answers by a diagnosis whose runs come from the tables; everything else really happens."""

    name: str
    planner: Callable[[int], Planner]
    """Makes the planner for a seed."""

    def answer(self, case: ShownCase, seed: int) -> ContestAnswer:
        """Diagnose one case."""
        with self.diagnosed(case, seed) as one:
            return _contest_answer(one) if not one.ended else _spent(one).model_copy(update={"ended": one.ended})

    @contextmanager
    def diagnosed(self, case: ShownCase, seed: int) -> Iterator[Diagnosed]:
        """Diagnose one case, and keep its folder meanwhile."""
        from ...agent.graph import Loop  # langgraph takes a second to load, which no answer without a diagnosis needs

        knowledge = load()
        with own_folder("eval") as place:
            folder = RunFolder.create(Path(place), "case")
            start = self._start(case, seed, folder, knowledge)
            bench = RecordedBench(case, knowledge, seed, folder.partial)
            live = _Served(folder, start.subject, case.recording.machine, knowledge, bench, Silent())
            transcript, ended = Transcript.in_memory(), ""
            try:
                Loop(start, self.planner(seed), transcript, live, folder).run(Silent().approve)
            except VgoError as error:
                ended = str(error)
            yield Diagnosed(transcript, folder, start, knowledge, ended)

    def _start(self, case: ShownCase, seed: int, folder: RunFolder, knowledge: Knowledge) -> RunStart:
        # That change a promise: nobody relies on one of recorded runs, so all are accepted.
        promising = tuple(key for key, one in knowledge.mitigations.items() if one.changes_promise)
        return RunStart(
            subject=case.recording.subject,
            limits=case.limits.model_copy(update={"seed": seed, "accept": promising}),
            planner=self.name,
            machine=folder.put(canonical(case.recording.machine.model_dump(mode="json"))),
            knowledge=knowledge.digest,
            schemas=schemas_digest(),
        )


class _Served(Live):
    """Keeps no files up to date: nobody reads them, and nothing has to survive a crash."""

    def observed(self, end: ToolEnd, record: Record) -> None:
        """Write nothing."""


class Silent:
    """Tells nobody; what changes the system is refused unless the limits of the case allow it."""

    def trying(self, *_: Any, **__: Any) -> None:
        """Show nothing, of whatever an interface is told."""

    loading = decided = progressed = ended = trying

    def approve(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Nobody is there to ask."""
        return {"granted": False, "by": "policy", "reason": "it changes the system, and the case does not allow that"}


def _contest_answer(one: Diagnosed) -> ContestAnswer:
    finished = one.finished
    evidence = gather(finished)
    verdict, factors = evidence.verdict, evidence.factors
    proof = confirmed(verdict)
    return _spent(one).model_copy(
        update={
            "verdict": title(verdict),
            "causes": _claimed(verdict, factors),
            "ranked": tuple(dict.fromkeys(factor.factor for factor in factors)),
            "mitigation": proof.mitigation if proof else "",
            "price_told": any(PRICE in warning for warning in warnings(evidence)),
            "evidence": tuple(problems(finished)),
            "transcript": finished.tip,
        }
    )


def _claimed(verdict: Verdict, factors: Sequence[RankedFactor]) -> tuple[str, ...]:
    """Factors as the user is told them: those that the verdict names, then the other suspects as ranked.

    A factor of which the report says that it is gone beside those above it is not claimed.
    """
    suspects = (factor.factor for factor in factors if factor.suspect and factor.independent is not False)
    return tuple(dict.fromkeys((*(part.factor for part in factors_found(verdict)), *suspects)))


def _spent(one: Diagnosed) -> ContestAnswer:
    """Count what was spent, whether or not there is a verdict."""
    from ...agent.graph import FALLBACK

    transcript, folder, start = one.transcript, one.folder, one.start
    record = record_of(transcript.events, folder)
    decisions = bodies(transcript.events, Decision)
    measured = [call for call in record.calls if call.result is not None and "spent_s" in call.result]
    tables = [folder.get(call.artefacts["runs.csv"]) for call in measured if "runs.csv" in call.artefacts]
    calls = [(decision.tool, json.dumps(decision.arguments, sort_keys=True)) for decision in decisions]
    denied = {approval.call_id for approval in bodies(transcript.events, Approval) if not approval.granted}
    errors = [call.error for call in record.calls if call.error and call.call_id not in denied]
    return ContestAnswer(
        verdict="",
        tried=tuple(dict.fromkeys(str(c.arguments["mitigation"]) for c in measured if "mitigation" in c.arguments)),
        runs=sum(table.count(b"\n") - 1 for table in tables),
        program_s=record.spent_s,
        calls=len(decisions),
        illegal=sum(not was_legal(record, number, start.limits, start.plan) for number in range(len(record.calls))),
        repeated=len(calls) - len(set(calls)),
        tokens=sum(d.said.prompt_tokens + d.said.tokens for d in decisions if d.said),
        fallbacks=sum(decision.origin == FALLBACK.name for decision in decisions),
        not_recorded=tuple(error for error in errors if error.startswith("not recorded: ")),
    )


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
