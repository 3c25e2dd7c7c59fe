"""Each condition shows in the program, and nothing of it stays on the harness."""

import mmap
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.execution.conditions import ConditionRefused
from vgo_agent.tools.execution.launch import SCHED_DEADLINE, Launch, Scheduler
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.execution.system_calls import (
    PR_GET_THP_DISABLE,
    PR_GET_TIMERSLACK,
    deadline_of,
    io_priority,
    prctl,
    resident_share,
)

LONG_S = 60.0
root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may raise a priority")
LAST_CPU = max(os.sched_getaffinity(0))


@pytest.fixture(scope="module")
def spawner():
    with Spawner() as opened:
        yield opened


def said(spawner, line, **conditions):
    run = spawner.run(Launch(("/bin/sh", "-c", line), **conditions), capture=True, timeout_s=LONG_S)
    assert run.exit_code == 0, run
    return run.output.decode().strip()


def field(spawner, name, **conditions):
    return said(spawner, f"grep {name}: /proc/self/status", **conditions).split()[1]


def python_says(spawner, expression, **conditions):
    launch = Launch((sys.executable, "-S", "-c", f"import os; print({expression})"), **conditions)
    return spawner.run(launch, capture=True).output.decode().strip()


def test_affinity(spawner):
    assert field(spawner, "Cpus_allowed_list", affinity=frozenset({LAST_CPU})) == str(LAST_CPU)


@root
@pytest.mark.parametrize("policy", [os.SCHED_FIFO, os.SCHED_RR])
def test_realtime_policy_and_priority(spawner, policy):
    asked = "os.sched_getscheduler(0), os.sched_getparam(0).sched_priority"
    assert python_says(spawner, asked, scheduler=Scheduler(policy, 7)) == f"{policy | os.SCHED_RESET_ON_FORK} 7"


@pytest.mark.parametrize("policy", [os.SCHED_BATCH, os.SCHED_IDLE])
def test_policy_that_posix_spawn_does_not_know(spawner, policy):
    wait_for_it = f"""
import os
while os.sched_getscheduler(0) != {policy}:
    os.sched_yield()
"""
    launch = Launch((sys.executable, "-S", "-c", wait_for_it), scheduler=Scheduler(policy))
    assert spawner.run(launch, timeout_s=LONG_S).exit_code == 0


def test_nice(spawner):
    said(spawner, "until [ $(nice) = 5 ]; do :; done", nice=5)


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this kernel has no CONFIG_SCHED_AUTOGROUP")
@root
def test_autogroup(spawner):
    ours = Path("/proc/self/autogroup").read_text()
    said(spawner, "until grep -q 'nice -5' /proc/self/autogroup; do :; done", autogroup_nice=-5)
    assert Path("/proc/self/autogroup").read_text() == ours


def test_timer_slack(spawner):
    assert said(spawner, "cat /proc/self/timerslack_ns", timer_slack_ns=1) == "1"


def test_fixed_layout(spawner):
    layouts = [said(spawner, "grep stack /proc/self/maps", fixed_layout=fixed) for fixed in (True, True, False, False)]
    assert layouts[0] == layouts[1]
    assert layouts[2] != layouts[3]


def test_thp_disable(spawner):
    assert field(spawner, "THP_enabled", thp_disable=True) == "0"


@pytest.mark.parametrize(("io_class", "name"), [(2, "best-effort: prio 4"), (3, "idle")])
def test_io_class(spawner, io_class, name):
    assert said(spawner, "ionice", io_class=io_class) == name


@root
def test_realtime_io_class(spawner):
    assert said(spawner, "ionice", io_class=1) == "realtime: prio 4"


def test_directory(spawner, tmp_path):
    assert said(spawner, "/bin/pwd", directory=tmp_path) == str(tmp_path)


def test_environment_is_exactly_the_one_given(spawner):
    run = spawner.run(Launch(("/usr/bin/env",), environment={"A": "b c", "Z": "é"}), capture=True)
    assert run.output == "A=b c\nZ=é\n".encode()


def test_input_files_are_in_the_page_cache_before_the_clock_starts(spawner, tmp_path):
    file = tmp_path / "input"
    file.write_bytes(os.urandom(4 << 20))
    evict(file)
    if resident(file) > 0.5:
        pytest.skip("this file system keeps no copy on a device, so nothing can be evicted")
    spawner.run(Launch(("/bin/true",), prewarm=(file,)))
    assert resident(file) == 1.0


def test_a_missing_input_file_is_named(spawner, tmp_path):
    with pytest.raises(VgoError, match="nothing-here"):
        spawner.run(Launch(("/bin/true",), prewarm=(tmp_path / "nothing-here",)))


def test_a_missing_directory_is_named(spawner, tmp_path):
    with pytest.raises(VgoError, match="nothing-here cannot be entered"):
        spawner.run(Launch(("/bin/true",), directory=tmp_path / "nothing-here"))


POSSIBLE: dict[str, Any] = {
    "affinity": frozenset({LAST_CPU}),
    "directory": Path("/"),
    "timer_slack_ns": 1,
    "fixed_layout": True,
    "thp_disable": True,
    "io_class": 3,
    "nice": 3,
    "scheduler": Scheduler(os.SCHED_BATCH),
}


@given(asked=st.sets(st.sampled_from(sorted(POSSIBLE))), starts=st.booleans())
@settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_asked_the_harness_stays_as_it_was(spawner, asked, starts):
    before = own_state()
    launch = Launch(("/bin/true" if starts else "/nowhere/true",), **{name: POSSIBLE[name] for name in asked})
    if starts:
        assert spawner.run(launch).exit_code == 0
    else:
        with pytest.raises(VgoError):
            spawner.run(launch)
    assert own_state() == before


def test_a_refused_condition_is_named_and_the_others_are_put_back(spawner):
    before = own_state()
    launch = Launch(("/bin/true",), affinity=frozenset({5000}), fixed_layout=True, timer_slack_ns=1)
    with pytest.raises(ConditionRefused, match="CPU affinity") as refused:
        spawner.run(launch)
    assert refused.value.condition == "CPU affinity"
    assert own_state() == before


@pytest.mark.parametrize(
    ("condition", "name"),
    [
        ("scheduler=Scheduler(os.SCHED_FIFO, 1)", "scheduling policy"),
        ("nice=-5", "nice value"),
        ("io_class=1", "I/O class"),
    ],
)
def test_without_the_right_the_condition_is_refused_by_name_and_nothing_runs_on(condition, name, tmp_path):
    program = f"""
import os, sys
from pathlib import Path
from vgo_agent.tools.execution.launch import Launch, Scheduler
from vgo_agent.tools.execution.spawn import ConditionRefused, Spawner
with Spawner() as spawner:
    try:
        spawner.run(Launch(("/bin/sleep", "1000"), {condition}))
    except ConditionRefused as refused:
        print(refused)
children = Path(f"/proc/self/task/{{os.getpid()}}/children").read_text().split()
print([name for pid in children if (name := Path(f"/proc/{{pid}}/comm").read_text()) == "sleep\\n"])
"""
    # Root keeps its name but loses the right.
    loser = ["setpriv", "--bounding-set", "-sys_nice,-sys_admin"] if os.geteuid() == 0 else []
    done = subprocess.run([*loser, sys.executable, "-c", program], capture_output=True, text=True, timeout=LONG_S)
    assert done.returncode == 0, done.stderr
    assert name in done.stdout
    assert "run as root, or leave it out" in done.stdout
    assert done.stdout.splitlines()[1:] == ["[]"]


def own_state():
    return {
        "affinity": os.sched_getaffinity(0),
        "policy": os.sched_getscheduler(0),
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "slack": prctl(PR_GET_TIMERSLACK),
        "thp": prctl(PR_GET_THP_DISABLE),
        "personality": Path("/proc/self/personality").read_text(),
        "io": io_priority(),
        "directory": os.getcwd(),
        "files": sorted(os.listdir("/proc/self/fd")),
    }


def evict(file):
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def resident(file):
    """Return the share of a file that is in the page cache, as fincore says."""
    pages = int(subprocess.check_output(["fincore", "--noheadings", "--output", "PAGES", str(file)]))
    return pages / (file.stat().st_size / mmap.PAGESIZE)


@root
def test_a_deadline_is_set_with_its_times_and_the_program_can_fork(spawner):
    if len(os.sched_getaffinity(0)) < (os.cpu_count() or 1):
        pytest.skip("a deadline task must be allowed every CPU")
    deadline = Scheduler(SCHED_DEADLINE, runtime_ns=5_000_000, period_ns=10_000_000)
    # The second program is started once the policy is in force, for which the spawner needs a moment.
    assert said(spawner, "/bin/sleep 0.1; /bin/echo forked", scheduler=deadline) == "forked"
    policies = []

    def look(pid):
        time.sleep(0.05)
        policies.append(deadline_of(pid))

    spawner.run(
        Launch(("/bin/sleep", "0.2"), scheduler=deadline),
        on_started=lambda pid: Thread(target=look, args=(pid,)).start(),
    )
    assert policies == [(5_000_000, 10_000_000)]


@root
def test_deadline_runs_follow_each_other_at_once(spawner):
    """Each asks for nearly a CPU, and the kernel frees the share of one that has ended a moment later."""
    if len(os.sched_getaffinity(0)) < (os.cpu_count() or 1):
        pytest.skip("a deadline task must be allowed every CPU")
    launch = Launch(("/bin/true",), scheduler=Scheduler(SCHED_DEADLINE, runtime_ns=1_800_000, period_ns=2_000_000))
    for _ in range(10 * (os.cpu_count() or 1)):
        assert spawner.run(launch).exit_code == 0


def test_limits_hold_in_the_program_and_not_here(spawner):
    before = resource.getrlimit(resource.RLIMIT_STACK)
    assert said(spawner, "ulimit -s", limits={resource.RLIMIT_STACK: 4096 << 10}) == "4096"
    if before[1] == resource.RLIM_INFINITY:
        assert said(spawner, "ulimit -s", limits={resource.RLIMIT_STACK: resource.RLIM_INFINITY}) == "unlimited"
    assert resource.getrlimit(resource.RLIMIT_STACK) == before


def test_a_limit_that_may_not_be_raised_is_named_with_the_cure():
    # In a child, since a hard limit once lowered cannot be raised again without the capability.
    program = (
        "import resource\n"
        "from vgo_agent.tools.execution.launch import Launch\n"
        "from vgo_agent.tools.execution.spawn import Spawner\n"
        "import os\n"
        "resource.setrlimit(resource.RLIMIT_MEMLOCK, (4096, 4096))\n"
        "os.geteuid() or os.setresuid(65534, 65534, 65534)\n"
        "with Spawner() as spawner:\n"
        "    spawner.run(Launch(('/bin/true',), limits={resource.RLIMIT_MEMLOCK: 1 << 20}))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=LONG_S)
    assert "refused to set the limit of locked memory" in done.stderr
    assert "/etc/security/limits.conf" in done.stderr


def test_a_cpu_that_is_not_there_is_refused_with_the_cure(spawner):
    with pytest.raises(ConditionRefused, match="none of those CPUs is there for it"):
        spawner.run(Launch(("/bin/true",), affinity=frozenset({1023})))


def test_the_level_of_the_best_effort_class_is_set(spawner):
    line = "ionice -p $$"
    assert said(spawner, line, io_class=2, io_level=0) == "best-effort: prio 0"
    assert said(spawner, line, io_class=2) == "best-effort: prio 4"
    assert said(spawner, line, io_class=3) == "idle"


def test_output_goes_to_a_file_and_is_captured_from_it(spawner):
    assert said(spawner, "echo this; readlink /proc/$$/fd/1", output="file").startswith("this\n")
    assert said(spawner, "echo once", output="file") == "once"
    assert said(spawner, "echo nothing", output="null") == ""


def test_files_are_evicted_before_each_run_and_dirty_ones_too(spawner, tmp_path):
    file = tmp_path / "dirty"
    file.write_bytes(os.urandom(1 << 20))
    spawner.run(Launch(("/bin/true",), evict=(file,), sync=True))
    if resident_share(file) == 1:
        pytest.skip("files under the temporary directory stay in the page cache (tmpfs?)")
    assert resident_share(file) == 0


def test_a_file_that_cannot_be_evicted_is_named(spawner, tmp_path):
    with pytest.raises(VgoError, match="not there cannot be evicted"):
        spawner.run(Launch(("/bin/true",), evict=(tmp_path / "not there",)))
