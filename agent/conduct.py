"""Conduct a diagnosis: survey, graph, report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..knowledge.errors import VgoError
from ..knowledge.loader import Knowledge
from ..knowledge.loader import load as load_knowledge
from ..tools.execution.expected import Expected
from ..tools.execution.row_log import Remark
from ..tools.findings import Findings
from ..tools.layers_here import choose
from ..tools.machine import Machine
from ..tools.verdict import Verdict, exit_code, left_for_time
from .began import process_age_s
from .diagnosis import DiagnosisEnding, DiagnosisRequest
from .graph import Loop
from .live import Live, clear_partial
from .place import ProgramBench, place
from .planning import Planning, planning
from .record import FinishedRun, bodies, limits_of, record_of
from .report.diagnosis import summary, text
from .report.report_files import outputs
from .run_folder import RunFolder, write
from .schemas import schemas_digest
from .session import UNCHANGED, Changes, RequestSession
from .steering import GivenMore, Steering
from .transcript import Decision, LimitsChanged, RunEnd, RunStart, ToolEnd, Transcript, canonical, read


@dataclass
class Conducted:
    """The parts of one diagnosis in this process."""

    session: RequestSession
    folder: RunFolder
    asked: DiagnosisRequest
    transcript: Transcript
    knowledge: Knowledge
    shown: Expected
    """By trial runs of this process."""


def conduct(
    session: RequestSession,
    folder: RunFolder,
    asked: DiagnosisRequest,
    transcript: Transcript,
    shown: Expected | None = None,
    changes: Changes = UNCHANGED,
    steering: Steering | None = None,
) -> DiagnosisEnding:
    """Begin, or go on with, the diagnosis in a folder; `shown` is what trial runs have shown of the program."""
    part = Conducted(session, folder, asked, transcript, asked.plan.known(load_knowledge()), shown or Expected())
    if changes != UNCHANGED:
        steering = _given_more(part, changes)
    if transcript.ended:
        return _ending(part)
    folder.note_time("conducting", age_s=process_age_s())
    with planning(asked.planner, asked.model) as chosen:
        _loop(part, chosen, steering)
    return _finish(part)


def _given_more(part: Conducted, changes: Changes) -> Steering:
    """Give a run more time; one that has its verdict goes on only with what the budget had kept from being tried."""
    transcript, (more_s, accept, _) = part.transcript, changes
    if not transcript.events:
        limits = GivenMore(more_s, accept).limits(0, part.asked.limits)
        part.asked = part.asked.model_copy(update={"limits": limits})
    more = GivenMore(None if more_s is None else transcript.elapsed_s + more_s, accept)
    if transcript.ended:
        if left_for_time(_concluded(part)):
            limits = more.limits(0, limits_of(transcript.events))
            transcript.reopen(LimitsChanged(limits=limits, elapsed_s=round(transcript.elapsed_s, 3)))
        else:
            part.session.interface.progressed(Remark("nothing was left untried for want of time: the verdict stands"))
    return more


def _concluded(part: Conducted) -> Verdict:
    return Findings(record_of(part.transcript.events, part.folder)).verdict


def _loop(part: Conducted, chosen: Planning, steering: Steering | None) -> None:
    session, folder, limits = part.session, part.folder, part.asked.limits
    with place(session, part.asked.subject, limits.layers, conditions=True) as there:
        there.keep_in(folder)
        there.bench.expect(part.shown)
        start = _start(part, chosen, there)
        machine, bench = machine_of(start, folder), there.bench
        live = Live(folder, start.subject, machine, part.knowledge, bench, session.interface, start.plan, session.clock)
        choose(start.limits.layers, bench)  # a layer that can show nothing here is refused before the first run
        loop = Loop(start, chosen.planner, part.transcript, live, folder, steering)
        if part.asked.after:
            loop.begin_with(measured_in(RunFolder(Path(part.asked.after)), folder))
        loop.run(session.interface.approve)


def _start(part: Conducted, chosen: Planning, there: ProgramBench) -> RunStart:
    """The start event on disk, or a new one from a survey of this machine."""
    begun = bodies(part.transcript.events, RunStart)
    if begun:
        return _same_model(begun[0], chosen)
    machine = there.described([mitigation.applies for mitigation in part.knowledge.mitigations.values()])
    return RunStart(
        subject=part.asked.subject,
        limits=part.asked.limits,
        planner=part.asked.planner,
        plan=part.asked.plan,
        machine=part.folder.put(canonical(machine.model_dump(mode="json"))),
        knowledge=part.knowledge.digest,
        schemas=schemas_digest(),
        model=chosen.model,
    )


def _same_model(start: RunStart, chosen: Planning) -> RunStart:
    """A run goes on with the model that it was begun with, or not at all."""
    if (
        start.model
        and chosen.model
        and (start.model.name, start.model.sha256) != (chosen.model.name, chosen.model.sha256)
    ):
        raise VgoError(
            f"The run was begun with the model {start.model.name}, and {chosen.model.name} there now is another file; "
            "put the first one back, or begin again."
        )
    return start


def machine_of(start: RunStart, folder: RunFolder) -> Machine:
    """Read the survey that a run began with."""
    return Machine.model_validate_json(folder.get(start.machine))


def measured_in(earlier: RunFolder, folder: RunFolder) -> ToolEnd:
    """Read the baseline that an earlier run measured first, and copy its table."""
    end = baseline_in(earlier)
    for digest in end.artefacts.values():
        folder.put(earlier.get(digest))
    return end


def baseline_in(earlier: RunFolder) -> ToolEnd:
    """Find the call that measured the baseline of a run."""
    events = read(earlier.transcript)
    first = next((d for d in bodies(events, Decision) if d.tool == "measure"), None)
    ends = [end for end in bodies(events, ToolEnd) if first and end.call_id == first.call_id and end.result is not None]
    if not ends:
        raise VgoError(f"{earlier.path} has no measured baseline; name another run (`vgo-agent runs` lists them).")
    return ends[0]


def finished_run(folder: RunFolder, transcript: Transcript, knowledge: Knowledge) -> FinishedRun:
    """Gather what readers need."""
    events = [event for event in transcript.events if not isinstance(event.body, RunEnd)]
    start = bodies(events, RunStart)[0]
    # Summed over the processes that worked on the run; a killed one left only its start.
    last = {entry["process"]: entry for entry in folder.times() if entry["what"] == "ended"}.values()
    seconds, program_s = (sum(entry[name] for entry in last) for name in ("age_s", "program_s"))
    return FinishedRun(
        events=events,
        record=record_of(events, folder),
        subject=start.subject,
        limits=limits_of(events),
        machine=machine_of(start, folder),
        knowledge=knowledge,
        planner=start.planner,
        tip=events[-1].hash,
        seconds=seconds,
        agent_seconds=seconds - program_s,
        run_dir=str(folder.path.resolve()),
        plan=start.plan,
    )


def _finish(part: Conducted) -> DiagnosisEnding:
    part.session.note_end(part.folder)
    run = finished_run(part.folder, part.transcript, part.knowledge)
    for name, content in outputs(run).items():
        write(part.folder.path / name, content)
    part.session.note_end(part.folder)
    clear_partial(part.folder)
    return _ending(part)


def _ending(part: Conducted) -> DiagnosisEnding:
    run = finished_run(part.folder, part.transcript, part.knowledge)
    return DiagnosisEnding(summary(run), text(run), exit_code(_concluded(part)))
