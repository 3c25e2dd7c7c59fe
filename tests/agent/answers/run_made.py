"""A finished run as a folder on disk: the diagnoses of the report's tests, written as the front door writes."""

from __future__ import annotations

from pathlib import Path

from vgo_agent.agent.record import FinishedRun
from vgo_agent.agent.run_folder import RunFolder
from vgo_agent.agent.transcript import (
    Approval,
    Decision,
    RunEnd,
    RunStart,
    ToolEnd,
    ToolStart,
    Transcript,
    VerdictGiven,
    canonical,
)
from vgo_agent.tools.findings import Findings
from vgo_agent.tools.verdict import title

DENIED = "not approved: "


def written(run: FinishedRun, path: Path) -> Path:
    """Write the folder that a run with these calls would have left."""
    (path / "artefacts").mkdir(parents=True)
    (path / "request.json").write_text("{}\n")
    folder = RunFolder(path)
    folder.note_time("ended", age_s=run.seconds, program_s=run.seconds - run.agent_seconds, process=1)
    transcript = Transcript.open(folder.transcript)
    transcript.append(
        RunStart(
            subject=run.subject,
            limits=run.limits,
            planner=run.planner,
            machine=folder.put(canonical(run.machine.model_dump(mode="json"))),
            knowledge=run.knowledge.digest,
            schemas="",
            plan=run.plan,
        )
    )
    for call in run.record.calls:
        arguments = dict(call.arguments)
        for digest in call.artefacts.values():
            folder.put(run.record.store.get(digest))
        transcript.append(
            Decision(
                call_id=call.call_id, tool=call.tool, arguments=arguments, why="", origin="rules", legal=(call.tool,)
            )
        )
        if call.error.startswith(DENIED):
            reason = call.error.removeprefix(DENIED)
            transcript.append(Approval(call_id=call.call_id, granted=False, by="policy", scope="system", reason=reason))
            continue
        transcript.append(ToolStart(call_id=call.call_id))
        result = dict(call.result) if call.result is not None else None
        end = ToolEnd(call_id=call.call_id, result=result, error=call.error, artefacts=dict(call.artefacts))
        transcript.append(end)
    verdict = Findings(run.record).verdict
    transcript.append(VerdictGiven(verdict=title(verdict), evidence=(transcript.events[-1].seq,)))
    transcript.append(RunEnd(status="finished", count=len(transcript.events), tip=transcript.tip))
    return path
