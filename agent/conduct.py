"""Conduct a diagnosis: survey, graph, report, end record."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..knowledge.errors import VgoError
from ..knowledge.loader import Knowledge
from ..knowledge.loader import load as load_knowledge
from ..tools.conclude import ConcludeResult
from ..tools.execution.expected import Expected
from ..tools.execution.progress import Remark
from ..tools.execution.spawn import Spawner
from ..tools.layers_here import choose
from ..tools.machine import Machine
from ..tools.verdict import Verdict, exit_code, left_for_time
from .began import process_age_s
from .clock import BudgetClock
from .closing import Status, append_end, closing
from .graph import Loop
from .interface import Interface
from .live import Live, clear_partial
from .place import ProgramBench, place
from .planning import Planning, planning
from .record import FinishedRun, bodies, limits_of, record_of
from .report.render import outputs
from .report.summary import summary, text
from .run_folder import ChildFile, RunFolder, write
from .schemas import schemas_digest
from .session import DiagnosisEnding, DiagnosisRequest
from .steering import GivenMore, Steering
from .transcript import Decision, LimitsChanged, RunEnd, RunStart, ToolEnd, Transcript, canonical, read

OUTPUTS = (
    "request.json",
    *("runs.csv", "layers.json", "runs.md", "ranks.csv", "report.md", "report.html"),
    "timing.jsonl",
)
"""Files of the run folder that the end record has the hashes of."""


@dataclass
class Conducted:
    """The parts of one diagnosis in this process."""

    folder: RunFolder
    asked: DiagnosisRequest
    spawner: Spawner
    knowledge: Knowledge
    transcript: Transcript
    clock: BudgetClock
    shown: Expected
    """By trial runs of this process."""


def conduct(
    folder: RunFolder,
    asked: DiagnosisRequest,
    spawner: Spawner,
    interface: Interface,
    steering: Steering | None = None,
    clock: BudgetClock | None = None,
    more_s: float | None = None,
    shown: Expected | None = None,
    accept: tuple[str, ...] = (),
) -> DiagnosisEnding:
    """Begin, or go on with, the diagnosis in a folder; end its transcript however it ends.

    `more_s` are seconds to go on for, after a verdict too where the budget had left something untried; `accept` are
    mitigations that may change a promise from here on. `shown` is what trial runs have shown of the program.
    """
    path = folder.transcript
    transcript = Transcript.open(path) if path.exists() else Transcript.create(path)
    clock = clock or BudgetClock()
    clock.before_s = transcript.elapsed_s
    part = Conducted(folder, asked, spawner, asked.plan.known(load_knowledge()), transcript, clock, shown or Expected())
    if more_s is not None or accept:
        steering = _given_more(part, more_s, accept, interface)
    if bodies(transcript.events, RunEnd):
        return _ending(part)  # nothing is written into a folder that is closed
    folder.note_time("conducting", age_s=process_age_s())
    with closing(partial(_close, part)):
        with planning(asked.planner, asked.model) as chosen:
            _loop(part, chosen, interface, steering)
        return _finish(part)


def _given_more(part: Conducted, more_s: float | None, accept: tuple[str, ...], interface: Interface) -> Steering:
    """Give a run more time; one that has its verdict goes on only with what the budget had kept from being tried."""
    transcript = part.transcript
    if not transcript.events:
        limits = GivenMore(more_s, accept).limits(0, part.asked.limits)
        part.asked = part.asked.model_copy(update={"limits": limits})
    more = GivenMore(None if more_s is None else transcript.elapsed_s + more_s, accept)
    if bodies(transcript.events, RunEnd):
        if left_for_time(_concluded(part)):
            limits = more.limits(0, limits_of(transcript.events))
            transcript.reopen(LimitsChanged(limits=limits, elapsed_s=round(transcript.elapsed_s, 3)))
        else:
            interface.progressed(Remark("nothing was left untried for want of time: the verdict stands"))
    return more


def _concluded(part: Conducted) -> Verdict:
    return record_of(part.transcript.events, part.folder).latest("conclude").read(ConcludeResult).verdict


def _loop(part: Conducted, chosen: Planning, interface: Interface, steering: Steering | None) -> None:
    """Drive the graph until the verdict."""
    with contextlib.ExitStack() as stack:
        child = stack.enter_context(contextlib.closing(ChildFile(part.folder.child)))
        there = stack.enter_context(
            place(
                part.asked.subject,
                part.folder.partial,
                part.spawner,
                interface,
                part.asked.limits.layers,
                on_started=child,
                conditions=True,
            )
        )
        there.bench.expect(part.shown)
        start = _start(part, chosen, there)
        machine, bench = machine_of(start, part.folder), there.bench
        live = Live(part.folder, start.subject, machine, part.knowledge, bench, interface, start.plan, part.clock)
        choose(start.limits.layers, bench)  # a layer that can show nothing here is refused before the first run
        loop = Loop(start, chosen.planner, part.transcript, live, part.folder, steering)
        if part.asked.after:
            loop.begin_with(measured_in(RunFolder(Path(part.asked.after)), part.folder))
        loop.run(interface.approve)


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
    seconds, program_s = _times(folder)
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
    """Write the report and the end record."""
    _note_end(part)
    run = finished_run(part.folder, part.transcript, part.knowledge)
    for name, content in outputs(run).items():
        write(part.folder.path / name, content)
    _note_end(part)
    clear_partial(part.folder)
    append_end(part.transcript, part.folder, part.clock, OUTPUTS)
    return _ending(part)


def _close(part: Conducted, status: Status, reason: str) -> None:
    """End the transcript of a diagnosis that did not reach a verdict; `resume` takes the end off again."""
    if not part.transcript.events or bodies(part.transcript.events, RunEnd):
        return
    _note_end(part)
    append_end(part.transcript, part.folder, part.clock, OUTPUTS, status, reason)


def _note_end(part: Conducted) -> None:
    part.folder.note_time("ended", age_s=process_age_s(), program_s=part.spawner.spent_ns / 1e9, process=os.getpid())


def _times(folder: RunFolder) -> tuple[float, float]:
    """Wall time and program time, summed over the processes that worked on a run; a killed one left only its start."""
    last = {entry["process"]: entry for entry in folder.times() if entry["what"] == "ended"}
    return (
        sum(entry["age_s"] for entry in last.values()),
        sum(entry["program_s"] for entry in last.values()),
    )


def _ending(part: Conducted) -> DiagnosisEnding:
    run = finished_run(part.folder, part.transcript, part.knowledge)
    return DiagnosisEnding(summary(run), text(run), exit_code(_concluded(part)))
