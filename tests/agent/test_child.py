"""The run that a killed diagnosis left is ended by the next one, with all below it."""

import os
import subprocess
import sys
from pathlib import Path

from vgo_agent.agent.run_folder import ChildFile, end_orphan

TREE = "import os, time; os.fork() or os.setsid(); print(os.getpid(), flush=True); time.sleep(1000)"


def test_an_orphan_is_ended_with_what_it_started_in_sessions_of_their_own(tmp_path: Path) -> None:
    words = [sys.executable, "-I", "-S", "-c", TREE]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, process_group=0) as run:
        assert run.stdout is not None
        pids = [int(run.stdout.readline()) for _ in range(2)]
        noted = ChildFile(tmp_path / "child.pid")
        noted(run.pid)
        noted.close()
        end_orphan(tmp_path / "child.pid")
        assert run.wait(20) == -9
    assert not any(lives(pid) for pid in pids)
    end_orphan(tmp_path / "child.pid")  # a second time there is nothing to do


def lives(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_what_was_never_noted_is_no_orphan(tmp_path: Path) -> None:
    end_orphan(tmp_path / "nothing")
    (tmp_path / "child.pid").write_text(f"{os.getpid()}")
    os.utime(tmp_path / "child.pid", (1, 1))
    end_orphan(tmp_path / "child.pid")
