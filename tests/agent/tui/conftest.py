"""A program whose slow runs fault more pages, a run of it with a verdict, and the app on a screen that is none."""

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

os.environ["TEXTUAL_ANIMATIONS"] = "none"

from textual.css.query import NoMatches
from textual.pilot import Pilot

from vgo_agent.agent.chat.session import ChatSession
from vgo_agent.agent.desk.desk import Desk
from vgo_agent.agent.diagnosis import DiagnosisRequest, NewDiagnosis
from vgo_agent.agent.planners.base import Rules
from vgo_agent.agent.run_folder import RunFolder
from vgo_agent.agent.transcript import RunEnd, Transcript
from vgo_agent.agent.transcript import line as line_of
from vgo_agent.agent.tui.app import ChatApp
from vgo_agent.agent.tui.widgets.header import PromptInput
from vgo_agent.evals.contest.loop import PlannerContestant
from vgo_agent.evals.recorded.recorded_case import read_case
from vgo_agent.tools.subject import Limits, Subject

FAULTS = """
import os, time
begun = time.process_time_ns()
block = b"x" * ((24 << 20) if os.urandom(1)[0] < 90 else (2 << 20))
print("time_ms", (time.process_time_ns() - begun) / 1e6)
"""
PATIENCE_S = 200.0
CASE = Path(__file__).parents[3] / "evals/cases/cpu-hops"


def request_in(folder: Path, **limits: object) -> NewDiagnosis:
    program = folder / "faults.py"
    program.write_text(FAULTS)
    argv = (sys.executable, "-I", "-S", str(program))
    subject = Subject(command=argv, argv=argv, directory=str(folder), metric="time_ms ([0-9.]+)", unit="ms")
    wanted = {"max_runs": 40, "max_mitigations": 1, "budget_s": 900.0} | limits
    request = DiagnosisRequest(subject=subject, limits=Limits.model_validate(wanted))
    return NewDiagnosis(request, folder / "runs", "faults.py")


@pytest.fixture(scope="session")
def desk() -> Iterator[Desk]:
    with Desk() as one:
        yield one


@pytest.fixture
def session(tmp_path: Path, desk: Desk) -> Iterator[ChatSession]:
    """A session on the program; whatever still runs at the end is stopped."""
    one = ChatSession(desk, request_in(tmp_path))
    yield one
    stop(one)


def stop(session: ChatSession) -> None:
    """End the worker of a session, if it still has one."""
    if session.folder is None:
        return
    session.open(session.folder)
    if session.place in ("ours", "elsewhere"):
        asyncio.run(until(looking(session, lambda: session.state.in_charge or session.place == "still")))
    if session.place == "ours":
        session.tell("stop")
        asyncio.run(until(looking(session, lambda: session.place == "still")))
    session.leave()


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A diagnosis over recorded runs, the same every time; whoever changes it takes a copy."""
    place = tmp_path_factory.mktemp("finished") / "20250314-092653-cpu-hops"
    case = read_case(CASE).shown
    with PlannerContestant("rules", lambda seed: Rules()).diagnosed(case, 1) as diagnosed:
        assert not diagnosed.ended
        shutil.copytree(diagnosed.folder.path, place)
        events, start = diagnosed.transcript.events, diagnosed.start
    folder = RunFolder(place)
    folder.transcript.write_bytes(b"".join(map(line_of, events)))
    count, tip = len(events), events[-1].hash
    Transcript(folder.transcript, events).append(RunEnd(status="finished", count=count, tip=tip))
    asked = DiagnosisRequest(subject=start.subject, limits=start.limits)
    (place / "request.json").write_text(asked.model_dump_json())
    (place / "report.md").write_text("# A report\n\nIt says what was found.\n")
    return folder


@pytest.fixture
def copied(finished: RunFolder, tmp_path: Path) -> RunFolder:
    return RunFolder(Path(shutil.copytree(finished.path, tmp_path / "copied")))


def looking(session: ChatSession, holds: Callable[[], object]) -> Callable[[], object]:
    """Look each time before it is asked whether something holds; with an app, the app looks."""

    def looked() -> object:
        session.look()
        return holds()

    return looked


async def until(holds: Callable[[], object]) -> None:
    """Wait for a state, however long it takes on this machine; of a screen that is not composed nothing holds.

    `Pilot.pause` is no way to wait here: it waits for all widgets, and 30 s for one that is taken off meanwhile.
    """
    for _ in range(int(PATIENCE_S / 0.05)):
        with suppress(NoMatches):
            if holds():
                return
        await asyncio.sleep(0.05)
    raise AssertionError("what was waited for did not come")


async def say(pilot: Pilot[None], line: str) -> None:
    """Type a line."""
    pilot.app.screen.query_one(PromptInput).value = line
    await pilot.press("enter")


def on_screen(
    session: ChatSession,
    talk: Callable[[Pilot[None]], Awaitable[None]],
    size: tuple[int, int] = (120, 40),
    begin: bool = False,
) -> None:
    """Open the app, do what is to be done, and leave it."""

    async def use() -> None:
        app = ChatApp(session, first="/diagnose" if begin else "")
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await talk(pilot)

    asyncio.run(use())
