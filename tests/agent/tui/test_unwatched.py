"""A worker that nobody watches ends by itself, and its run goes on later."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vgo_agent.agent.chat.session import ChatSession
from vgo_agent.agent.desk.desk import Desk
from vgo_agent.agent.record import bodies
from vgo_agent.agent.run_folder import RunFolder
from vgo_agent.agent.transcript import RunEnd, read
from vgo_agent.agent.worker.link import WorkerConnection

from .conftest import PATIENCE_S, looking, request_in, stop, until

WORK = """
import sys
from pathlib import Path
from vgo_agent.agent.run_folder import RunFolder
from vgo_agent.agent.worker.control import main
sys.exit(main(RunFolder(Path(sys.argv[1])), "step", unwatched_s=float(sys.argv[2])))
"""
ALONE_S = 1.0


def worker(folder: RunFolder, alone_s: float) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", WORK, str(folder.path), str(alone_s)])


@pytest.mark.slow
def test_a_step_that_waits_unwatched_ends_and_can_be_resumed(tmp_path: Path, desk: Desk) -> None:
    folder = request_in(tmp_path).opened()
    assert worker(folder, ALONE_S).wait(PATIENCE_S) == 143
    ends = bodies(read(folder.transcript), RunEnd)
    assert [(end.status, end.reason) for end in ends] == [
        ("interrupted", "exit 143; nobody has watched for 0.017 minutes")
    ]
    session = ChatSession(desk)
    session.open(folder)
    assert session.place == "still" and session.view.status == "interrupted"
    session.begin("step")
    asyncio.run(until(looking(session, lambda: session.state.waiting)))
    stop(session)


@pytest.mark.slow
def test_a_worker_that_is_watched_waits(tmp_path: Path) -> None:
    folder = request_in(tmp_path).opened()
    working = worker(folder, ALONE_S)
    watching: WorkerConnection | None = None
    while watching is None:
        assert working.poll() is None
        watching = WorkerConnection.to(folder)
        time.sleep(0.05)
    while not (watching.look() and watching.state.waiting):
        time.sleep(0.05)
    time.sleep(2 * ALONE_S)
    assert working.poll() is None
    watching.close()
    assert working.wait(PATIENCE_S) == 143
