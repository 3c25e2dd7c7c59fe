"""Seven hostile programs go through a diagnosis to a verdict; nothing of them goes on, and nothing stays changed.

They go on until the runs are made, which on a machine of its own is long before the budget: only what hangs as it is
given takes all of it.
"""

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from vgo_agent.tools.verdict import TITLES, from_json, helpful, title

from ...conftest import Vgo, entries, settings

BUDGET_S, TO_A_MITIGATION_S, PATIENCE_S = 60.0, 180.0, 60.0
"""The second where a mitigation has to be come to, on a loaded machine too."""
# Of 40 runs enough are left where a busy machine makes the first few a start-up transient.
OPTIONS = ("--allow", "system", "--max-runs", "40", "--max-mitigations", "2", "--json")
PRELUDE = """
import glob, os, signal, sys, time
block = b"x" * ((16 << 20) if os.urandom(1)[0] < 90 else (1 << 20))  # some runs are slow, by page faults
later = any(map(os.path.getsize, glob.glob("vgo-runs/*/partial/*")))  # a run is known that ended by itself
"""
PROGRAMS = {
    "a child burns the same CPU": """
cpus = os.sched_getaffinity(0)
with_it = min(cpus)
try:
    os.sched_setaffinity(0, {with_it})
except OSError:
    pass  # a deadline task may not
child = os.fork()
if child == 0:
    while True:
        pass
time.sleep(0.001)
os.kill(child, signal.SIGKILL)
os.wait()
""",
    "daemonises a child": """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 3)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        time.sleep(86399)
    os._exit(0)
os.wait()
""",
    "ignores SIGTERM": """
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_IGN)
if later and os.urandom(1)[0] < 10:
    time.sleep(86399)
""",
    "forks in a loop": """
leader = os.getpid()
os.fork()
for _ in range(4):
    os.fork() or time.sleep(86399)
while os.getpid() != leader:  # as many as before, and never the same
    if os.fork():
        os._exit(0)
""",
    "stops itself": """
if later and os.urandom(1)[0] < 10:
    os.kill(os.getpid(), signal.SIGSTOP)
""",
    "prints a gigabyte": """
line = b"noise " * 170 + b"\\n"
for _ in range(64 if later and os.urandom(1)[0] < 240 else 1024):  # a gigabyte is 1,024 times a thousand lines
    sys.stdout.buffer.write(line * 1000)
print("time_ms", 5 + os.urandom(1)[0] / 100)
""",
    "hangs only under a mitigation": """
now = repr((
    sorted(os.environ.items()), os.sched_getscheduler(0), os.nice(0), sorted(os.sched_getaffinity(0)),
    os.getsid(0) == os.getpid(), os.getcwd(), open("/proc/self/cgroup").read(),
    open("/proc/self/timerslack_ns").read(),
))
if not os.path.exists(sys.argv[2]):
    open(sys.argv[2], "w").write(now)
if open(sys.argv[2]).read() != now:
    open(sys.argv[2] + ".hung", "w").close()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(86399)
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_hostile_program_gets_a_verdict_and_leaves_nothing(
    kind: str, vgo: Vgo, script: Callable[[str, str], Path], tmp_path: Path
) -> None:
    mark = f"vgo-hostile-{os.getpid()}-{list(PROGRAMS).index(kind)}"
    program = script("hostile", PRELUDE + PROGRAMS[kind])
    metric = ("--metric", "time_ms ([0-9.]+)", "--unit", "ms") if "gigabyte" in kind else ()
    budget_s = TO_A_MITIGATION_S if "only" in kind else BUDGET_S
    words = ("diagnose", *OPTIONS, "--budget", str(budget_s), *metric, "--")
    before = settings()
    done = vgo(*words, str(program), mark, str(tmp_path / "baseline"))
    deadline = time.monotonic() + PATIENCE_S
    assert with_word(mark) == [], "of its processes none is left"
    while (settings() != before or entries()) and time.monotonic() < deadline:
        time.sleep(0.1)  # tests beside this one put theirs back
    assert settings() == before
    assert not entries()
    answer: dict[str, Any] = json.loads(done.stdout)
    assert title(from_json(answer.get("verdict"))) in TITLES, (answer, done.stderr)
    if "only" in kind:
        assert (tmp_path / "baseline.hung").exists(), f"it never came to a mitigation: {answer}"
        assert not helpful(from_json(answer["verdict"]))
        assert "made a run hang" in done.stderr or "did not end" in done.stderr


def with_word(word: str) -> list[int]:
    """Processes that have a word in their command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            if word.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(int(pid))
    return found
