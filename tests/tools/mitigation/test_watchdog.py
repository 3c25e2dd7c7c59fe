"""When an agent is killed its watchdog puts everything back at once, whatever else is done to it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.tools.mitigation.journal import Journal
from vgo_agent.tools.mitigation.kernel_file import KernelFiles
from vgo_agent.tools.mitigation.restore import guarded

from .agents import PRELUDE, KnobSet, gone_soon, holding, put_back, status, watchdog_of

PATIENCE_S = 20
STAT_INTERVAL = "/proc/sys/vm/stat_interval"

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="kernel settings and real-time are for root only")


def soon(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


@as_root
def test_a_killed_agent_leaves_the_kernel_as_it_was(one: Callable[..., Mitigation], tmp_path: Path) -> None:
    kernel = KernelFiles()
    before = kernel.read(STAT_INTERVAL)
    mitigation = one(scope="system", apply={"write": [{"path": STAT_INTERVAL, "value": str(int(before) + 7)}]})
    with holding(mitigation, tmp_path) as agent:
        watchdog = watchdog_of(agent.pid)
        assert kernel.read(STAT_INTERVAL) != before
        agent.kill()
        assert soon(lambda: kernel.read(STAT_INTERVAL) == before)
    gone_soon(watchdog)
    assert put_back() == [f"{STAT_INTERVAL}: {int(before) + 7} -> {before}"], "the next agent tells it"
    assert put_back() == []


def test_what_is_meant_for_a_terminal_does_not_end_it(
    sets_knob: Mitigation, knob: Path, tmp_path: Path, journal_folder: Path
) -> None:
    with holding(sets_knob, tmp_path, tmp_path / "root") as agent:
        watchdog = watchdog_of(agent.pid)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT, signal.SIGTSTP):
            os.kill(watchdog, number)
        assert os.getsid(watchdog) == watchdog
        agent.kill()
        agent.wait()
        assert soon(lambda: knob.read_text() == "old\n")
    gone_soon(watchdog)
    assert not list(journal_folder.glob("*.json"))


def test_what_someone_else_changed_it_leaves_and_tells(sets_knob: Mitigation, knob: Path, tmp_path: Path) -> None:
    with holding(sets_knob, tmp_path, tmp_path / "root") as agent:
        watchdog = watchdog_of(agent.pid)
        knob.write_text("theirs\n")
    gone_soon(watchdog)
    assert knob.read_text() == "theirs\n"
    assert put_back() == ["/sys/knob: left at theirs, because someone else changed it; it was old before vgo-agent"]


def test_an_agent_that_ends_well_leaves_no_watchdog() -> None:
    program = """
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.mitigation.restore import guarded
from vgo_agent.tools.mitigation.journal import journal_folder
with Spawner(), Spawner(), guarded(journal_folder()) as first, guarded(journal_folder(), watch=True) as second:
    assert first == second, "one for all"
print(first)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert not Path(f"/proc/{done.stdout.strip()}").exists()


def test_one_that_was_killed_does_not_keep_the_agent_from_ending_well(
    knob_set: KnobSet, knob: Path, tmp_path: Path
) -> None:
    with knob_set() as change:
        change.on()
        (watchdog,) = new_children()
        os.kill(watchdog, signal.SIGKILL)
        os.waitid(os.P_PID, watchdog, os.WEXITED | os.WNOWAIT)  # else it may still be dying when another is asked for
    assert knob.read_text() == "old\n"
    with guarded(tmp_path / "journal") as another:
        assert another != watchdog


def new_children() -> list[int]:
    """Watchdogs among the children of this process."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in children if b"mitigation.guard" in Path(f"/proc/{pid}/cmdline").read_bytes()]


RUNNER = (
    PRELUDE
    + """
from vgo_agent.tools.execution.spawn import Spawner
with Spawner() as spawner, applied(mitigation, launch, subject, Machine(root=True), root=Path(sys.argv[3])) as change:
    change.on()
    mitigated = Launch(argv=tuple(sys.argv[4:]), scheduler=change.launch.scheduler)
    spawner.run(mitigated, on_started=lambda pid: print(pid, flush=True))
"""
)


@contextlib.contextmanager
def running(mitigation: Mitigation, tmp_path: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """An agent in the middle of a mitigated run."""
    line = [sys.executable, "-c", RUNNER, mitigation.model_dump_json(), str(tmp_path), str(tmp_path / "root"), *words]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as agent:
        try:
            assert agent.stdout is not None
            yield agent, int(agent.stdout.readline())
        finally:
            agent.kill()


@as_root
@pytest.mark.parametrize("stopped", [False, True], ids=["spinning", "stopped"])
def test_a_real_time_run_does_not_outlive_its_agent(
    stopped: bool, one: Callable[..., Mitigation], tmp_path: Path
) -> None:
    mitigation = one(apply={"spawn": {"policy": "fifo", "priority": 1}})
    with running(mitigation, tmp_path, "/bin/sh", "-c", "while :; do :; done") as (agent, run):
        assert os.sched_getscheduler(run) == os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        if stopped:
            os.kill(run, signal.SIGSTOP)
        agent.kill()
        agent.wait()
        assert soon(lambda: not status(run) or "\nState:\tZ" in status(run))
    assert put_back() == []


TREE = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setpgid(0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        time.sleep(0.001)
for closes in (False, True):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            if closes:
                os.closerange(0, 3)
                time.sleep(0.5)
                open(sys.argv[2], "w").close()
            time.sleep(1000)
        os._exit(0)
    os.waitpid(-1, 0)
time.sleep(1000)
"""
"""A session below the run, a stopped group below that, and daemons that are no descendants of the run any more.

That which has none of the run's files open is known by the agent after a tenth of a second.
"""
BASELINE = """
import sys
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
with Spawner() as spawner:
    spawner.run(Launch(argv=tuple(sys.argv[1:])), on_started=lambda pid: print(pid, flush=True))
"""


def test_of_a_killed_agent_nothing_that_its_run_started_goes_on(tmp_path: Path) -> None:
    """In the baseline as well, where no setting is to be put back."""
    mark, there = f"vgo-test-tree-{os.getpid()}", tmp_path / "there"
    words = [sys.executable, "-c", BASELINE, sys.executable, "-I", "-S", "-c", TREE, mark, str(there)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as agent:
        assert soon(there.exists)
        assert soon(lambda: len(with_word(mark)) == 6), "the agent names it too"
        agent.kill()
        agent.wait()
        assert soon(lambda: not with_word(mark))


def with_word(word: str) -> list[int]:
    """Processes that have a word in their command line and live."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if word.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(int(pid))
    return found


@as_root
def test_a_real_time_run_past_its_limit_is_ended_though_its_agent_has_no_turn(
    one: Callable[..., Mitigation], tmp_path: Path
) -> None:
    mitigation = one(apply={"spawn": {"policy": "fifo", "priority": 1}})
    limited = RUNNER.replace("spawner.run(mitigated,", "spawner.run(mitigated, timeout_s=1.0,")
    line = [sys.executable, "-c", limited, mitigation.model_dump_json(), str(tmp_path), str(tmp_path / "root")]
    with subprocess.Popen([*line, "/bin/sleep", "1000"], stdout=subprocess.PIPE, text=True) as agent:
        assert agent.stdout is not None
        run = int(agent.stdout.readline())
        agent.send_signal(signal.SIGSTOP)  # as good as starved
        assert soon(lambda: "\nState:\tZ" in status(run))
        agent.send_signal(signal.SIGCONT)
        assert agent.wait(PATIENCE_S) == 0


def test_the_run_ends_and_then_the_knob_is_back(sets_knob: Mitigation, knob: Path, tmp_path: Path) -> None:
    with running(sets_knob, tmp_path, "/bin/sleep", "60") as (agent, run):
        assert knob.read_text() == "wanted\n"
        agent.kill()
        agent.wait()
        assert soon(lambda: knob.read_text() == "old\n")
        assert not status(run) or "\nState:\tZ" in status(run)
    assert soon(lambda: not Journal(Path(os.environ["VGO_AGENT_JOURNAL"])).entries())


def test_what_needs_more_than_files_is_put_back_by_the_whole_program(
    tmp_path: Path, one: Callable[..., Mitigation], journal_folder: Path
) -> None:
    mark = tmp_path / "mark"
    program = f"""
import os, signal
from pathlib import Path
from vgo_agent.tools.mitigation.journal import Journal, new_entry
from vgo_agent.tools.mitigation.restore import guarded
journal = Journal(Path({str(journal_folder)!r}))
with journal.locked(), guarded(journal.folder):
    entry = new_entry("scripted", (), Path("/"))
    journal.record(entry.model_copy(update={{"revert": ("/bin/touch", {str(mark)!r})}}))
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", program], check=False, timeout=60)
    assert soon(mark.exists)
    assert soon(lambda: not list(journal_folder.glob("*.json")))
    assert soon(lambda: bool(list(journal_folder.glob("*.told"))))
    assert put_back() == [f"scripted: reverted by `/bin/touch {mark}`"]
