"""A program whose slow runs fault more pages, a run of it with a verdict, and the app on a screen that is none."""

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

os.environ["TEXTUAL_ANIMATIONS"] = "none"

from textual.pilot import Pilot

from vgo_agent.agent.chat.session import ChatSession
from vgo_agent.agent.desk.desk import Desk
from vgo_agent.agent.run_folder import RunFolder
from vgo_agent.agent.session import Request
from vgo_agent.agent.tui.app import ChatApp
from vgo_agent.agent.tui.widgets.prompt import Line
from vgo_agent.tools.subject import Limits, Subject

FAULTS = """
import os, time
begun = time.process_time_ns()
block = b"x" * ((24 << 20) if os.urandom(1)[0] < 90 else (2 << 20))
print("time_ms", (time.process_time_ns() - begun) / 1e6)
"""
PATIENCE_S = 200.0


def request_in(folder: Path, **limits: object) -> Request:
    program = folder / "faults.py"
    program.write_text(FAULTS)
    argv = (sys.executable, "-I", "-S", str(program))
    subject = Subject(command=argv, argv=argv, directory=str(folder), metric="time_ms ([0-9.]+)", unit="ms")
    wanted = {"max_runs": 40, "max_mitigations": 1, "budget_s": 60.0} | limits
    return Request(subject, Limits.model_validate(wanted), folder / "runs", "faults.py")


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
        asyncio.run(until(lambda: session.look() or session.state.in_charge or session.place == "still"))
    if session.place == "ours":
        session.tell("stop")
        asyncio.run(until(lambda: session.look() or session.place == "still"))
    session.leave()


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, desk: Desk) -> RunFolder:
    """Diagnose once; whoever changes it takes a copy."""
    one = ChatSession(desk, request_in(tmp_path_factory.mktemp("finished")))
    one.begin()

    def ended() -> bool:
        one.look()
        if one.state.question is not None:
            one.answer(False, "not in a test")
        return one.place == "still" and (one.view.status == "finished" or bool(one.failure))

    asyncio.run(until(ended))
    assert one.folder is not None and not one.failure
    folder = one.folder
    one.leave()
    return folder


@pytest.fixture
def copied(finished: RunFolder, tmp_path: Path) -> RunFolder:
    return RunFolder(Path(shutil.copytree(finished.path, tmp_path / "copied")))


async def until(holds: Callable[[], object], pilot: Pilot[None] | None = None) -> None:
    """Wait for a state, however long it takes on this machine."""
    for _ in range(int(PATIENCE_S / 0.05)):
        if holds():
            return
        await (pilot.pause(0.05) if pilot else asyncio.sleep(0.05))
    raise AssertionError("what was waited for did not come")


async def say(pilot: Pilot[None], line: str) -> None:
    """Type a line."""
    pilot.app.screen.query_one(Line).value = line
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
