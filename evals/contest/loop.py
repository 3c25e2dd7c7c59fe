"""A planner in the real graph over recorded runs."""

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
from ...agent.report.evidence import gather
from ...agent.report.remarks import warnings
from ...agent.run_folder import RunFolder
from ...agent.schemas import schemas_digest
from ...agent.transcript import Approval, Decision, RunStart, ToolEnd, Transcript, canonical
from ...knowledge.errors import VgoError
from ...knowledge.loader import Knowledge, load
from ...layers.wrapper import own_folder
from ...tools.ranking import RankedFactor
from ...tools.record import Record
from ...tools.verdict import Verdict, confirmed, factors_found, title
from ..recorded.bench import RecordedBench
from ..recorded.recorded_case import ShownCase
from .answer import PRICE, ContestAnswer
from .evidence import problems


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
        return RunStart(
            subject=case.recording.subject,
            limits=case.limits.model_copy(update={"seed": seed, "accept": promising(knowledge)}),
            planner=self.name,
            machine=folder.put(canonical(case.recording.machine.model_dump(mode="json"))),
            knowledge=knowledge.digest,
            schemas=schemas_digest(),
        )


class _Served(Live):
    """Keeps no files up to date: nobody reads them, and nothing has to survive a crash."""

    def observed(self, end: ToolEnd, record: Record) -> None:
        """Write nothing."""


def promising(knowledge: Knowledge) -> tuple[str, ...]:
    """Mitigations that change a promise: nobody relies on one of recorded runs, so all are accepted."""
    return tuple(key for key, one in knowledge.mitigations.items() if one.changes_promise)


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
    calls = [(decision.tool, json.dumps(decision.arguments, sort_keys=True)) for decision in decisions]
    denied = {approval.call_id for approval in bodies(transcript.events, Approval) if not approval.granted}
    errors = [call.error for call in record.calls if call.error and call.call_id not in denied]
    return ContestAnswer(
        verdict="",
        tried=tuple(dict.fromkeys(str(c.arguments["mitigation"]) for c in measured if "mitigation" in c.arguments)),
        runs=sum(_rows(folder.get(call.artefacts["runs.csv"])) for call in measured if "runs.csv" in call.artefacts),
        program_s=record.spent_s,
        calls=len(decisions),
        illegal=sum(not was_legal(record, number, start.limits, start.plan) for number in range(len(record.calls))),
        repeated=len(calls) - len(set(calls)),
        tokens=sum(d.said.prompt_tokens + d.said.tokens for d in decisions if d.said),
        fallbacks=sum(decision.origin == FALLBACK.name for decision in decisions),
        not_recorded=tuple(error for error in errors if error.startswith("not recorded: ")),
    )


def _rows(table: bytes) -> int:
    return table.count(b"\n") - 1
