"""A run is timed, read and cleaned up, whatever the program does."""

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.execution.capture import KEPT
from vgo_agent.tools.execution.launch import SCHED_DEADLINE, Launch, Scheduler
from vgo_agent.tools.execution.processes import WaitResult, end_tree, kin, living, wait, wants_terminal
from vgo_agent.tools.execution.spawn import RUSAGE, Spawner
from vgo_agent.tools.execution.survivors import unending

LONG_S = 60.0
"""A limit that only a broken test reaches."""
PRELUDE = """
import sys, os
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
"""


@pytest.fixture
def spawner():
    with Spawner() as opened:
        yield opened


def sh(line, **conditions):
    return Launch(("/bin/sh", "-c", line), **conditions)


def is_there(pid):
    return Path(f"/proc/{pid}").exists()


def pids_in(file):
    return [int(word) for word in file.read_text().split()]


def own_children():
    """Children that are ours; the watchdog stays to the end, as do the helpers of other tests."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    words = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children}
    stay = (b"resource_tracker", b"mitigation.guard", b"command_server")
    return [pid for pid, said in words.items() if not any(one in said for one in stay)]


@pytest.mark.parametrize("code", [0, 1, 77, 255])
def test_the_exit_code_is_kept(spawner, code):
    assert spawner.run(sh(f"exit {code}")).exit_code == code


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGPIPE])
def test_death_by_a_signal_is_its_negative_number(spawner, number):
    assert spawner.run(sh(f"kill -{int(number)} $$")).exit_code == -number


@pytest.mark.parametrize("timeout_s", [None, LONG_S])
def test_the_clock_covers_the_whole_run(spawner, timeout_s):
    run = spawner.run(sh("sleep 0.1"), timeout_s=timeout_s)
    assert run.wall_ns >= 100_000_000
    assert not run.timed_out


def test_resource_usage_is_in_the_counters(spawner):
    counters = spawner.run(sh("exit")).counters
    assert set(counters) | {"max_rss_kb"} == set(RUSAGE)
    assert counters["minor_faults"] > 0


def test_memory_is_told_of_a_program_that_took_more_than_we_did_and_never_ours():
    """Asked of a small process: a program that takes more than this one is long about it."""
    program = """
import json, resource
with Spawner() as spawner:
    ours_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    less = spawner.run(Launch(("/bin/true",))).counters
    more_kb = ours_kb + (64 << 10)
    more = spawner.run(Launch((sys.executable, "-S", "-c", f"kb = {more_kb}; b'x' * (kb << 10)"))).counters
print(json.dumps(["max_rss_kb" in less, more["max_rss_kb"] > more_kb]))
"""
    done = subprocess.run([sys.executable, "-c", PRELUDE + program], capture_output=True, timeout=LONG_S, check=True)
    assert json.loads(done.stdout) == [False, True]


def test_output_is_kept_byte_for_byte_only_when_it_is_captured(spawner):
    noise = sh(r"printf '\377\000\376\200'; printf 'oh \303' >&2")
    kept = spawner.run(noise, capture=True)
    assert (kept.output, kept.error) == (b"\xff\x00\xfe\x80", b"oh \xc3")
    dropped = spawner.run(noise)
    assert (dropped.output, dropped.error) == (b"", b"oh \xc3")


def test_of_errors_the_end_is_kept_and_nothing_of_the_run_before(spawner):
    loud = spawner.run(sh("head -c 1000000 /dev/zero >&2; printf last >&2"))
    assert len(loud.error) == 4096
    assert loud.error.endswith(b"\0last")
    assert spawner.run(sh("exit")).error == b""


def test_large_output_is_captured_whole(spawner):
    assert len(spawner.run(sh("head -c 5000000 /dev/zero"), capture=True).output) == 5_000_000
    assert spawner.run(sh("exit"), capture=True).output == b""


def test_standard_input_is_empty(spawner):
    assert spawner.run(sh("cat"), capture=True, timeout_s=LONG_S).output == b""


def test_no_signal_is_blocked_or_ignored_although_python_ignores_some(spawner):
    assert signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN
    status = spawner.run(Launch(("/bin/grep", "-E", "Sig(Blk|Ign)", "/proc/self/status")), capture=True)
    # Signals 32 and 33 are glibc's own; its posix_spawn leaves them ignored.
    masks = [int(line.split()[1], 16) & ~(0b11 << 31) for line in status.output.splitlines()]
    assert masks == [0, 0]


def test_no_file_of_the_harness_is_open_in_the_program(spawner):
    def may_be_inherited(number):
        try:
            return os.get_inheritable(int(number))
        except OSError:  # The directory that listdir read.
            return False

    passed_on = {number for number in os.listdir("/proc/self/fd") if may_be_inherited(number)}
    seen = spawner.run(Launch(("/bin/ls", "/proc/self/fd")), capture=True).output.decode().split()
    assert len(set(seen) - passed_on - {"0", "1", "2"}) == 1  # The directory that ls reads.


def test_the_caller_learns_the_pid_while_the_program_runs(spawner):
    seen = []
    spawner.run(sh("sleep 0.1"), on_started=lambda pid: seen.append((pid, is_there(pid))))
    ((pid, was_there),) = seen
    assert was_there
    assert not is_there(pid)


def test_the_time_limit_ends_the_whole_tree_though_it_ignores_sigterm(spawner, tmp_path):
    pids = tmp_path / "pids"
    stubborn = f"""
        trap '' TERM
        sh -c "trap '' TERM; echo \\$\\$ >> {pids}; sleep 1000; true" &
        setsid sh -c "trap '' TERM; echo \\$\\$ >> {pids}; sleep 1000; true" &
        echo $$ >> {pids}
        wait"""
    run = spawner.run(sh(stubborn), timeout_s=2.0)
    assert run.timed_out
    assert run.exit_code == -signal.SIGKILL
    assert run.wall_ns >= 2e9
    assert run.survivors == 0
    assert len(pids_in(pids)) == 3
    assert not any(map(is_there, pids_in(pids)))
    assert own_children() == []


def test_what_a_program_leaves_behind_is_ended_and_counted(spawner, tmp_path):
    pids = tmp_path / "pids"
    job = f"sh -c 'echo $$ >> {pids}; exec sleep 1000' &"
    run = spawner.run(sh(f"{job} {job} until [ $(wc -l < {pids}) = 2 ]; do sleep 0.01; done"), timeout_s=LONG_S)
    assert (run.exit_code, run.survivors) == (0, 2)
    assert not any(map(is_there, pids_in(pids)))


def test_a_daemon_in_its_own_session_is_found(spawner, tmp_path):
    pid = tmp_path / "pid"
    daemon = f"(setsid sh -c 'echo $$ > {pid}; exec sleep 1000' &) ; until [ -s {pid} ]; do sleep 0.01; done"
    run = spawner.run(sh(daemon), timeout_s=LONG_S)
    assert (run.exit_code, run.survivors) == (0, 1)
    assert not is_there(pids_in(pid)[0])


def test_children_of_survivors_are_ended_too(spawner, tmp_path):
    pids = tmp_path / "pids"
    inner = f"echo $$ >> {pids}; exec sleep 1000"
    outer = f"echo $$ >> {pids}; sh -c '{inner}' & wait"
    (tmp_path / "outer.sh").write_text(outer)
    run = spawner.run(
        sh(f"setsid sh {tmp_path}/outer.sh & until [ $(wc -l < {pids}) = 2 ]; do sleep 0.01; done"), timeout_s=LONG_S
    )
    assert run.survivors == 2
    assert not any(map(is_there, pids_in(pids)))


def test_an_orphan_that_ended_by_itself_is_reaped_and_not_counted(spawner, tmp_path):
    pid, gate = tmp_path / "pid", tmp_path / "gate"
    os.mkfifo(gate)
    # It ends after its parent, which might reap it otherwise.
    orphan = f"(cat {gate} & echo $! > {pid}); echo > {gate}; "
    orphan += f"until grep -q ') Z ' /proc/$(cat {pid})/stat; do sleep 0.01; done"
    run = spawner.run(sh(orphan), timeout_s=LONG_S)
    assert (run.exit_code, run.survivors) == (0, 0)
    assert own_children() == []


def test_our_other_children_live_on(spawner):
    started = [subprocess.Popen(["sleep", "1000"], start_new_session=new) for new in (False, True)]
    try:
        during = []
        run = spawner.run(sh("sleep 0.1"), on_started=lambda pid: during.append(subprocess.Popen(["sleep", "1000"])))
        started += during
        assert run.survivors == 0
        assert [child.poll() for child in started] == [None, None, None]
    finally:
        for child in started:
            child.kill()
            child.wait()


def test_a_run_from_another_thread_ends_and_cleans_up_too(spawner):
    runs = []
    thread = threading.Thread(target=lambda: runs.append(spawner.run(sh("sleep 1000 & exit 3"), timeout_s=LONG_S)))
    thread.start()
    thread.join()
    assert [(run.exit_code, run.survivors) for run in runs] == [(3, 1)]


def test_an_error_of_the_caller_ends_the_run(spawner, tmp_path):
    seen = []

    def fail(pid):
        seen.append(pid)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        spawner.run(sh("setsid sleep 1000 & sleep 1000"), on_started=fail)
    assert not is_there(seen[0])
    assert own_children() == []
    assert spawner.run(sh("exit 4")).exit_code == 4


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_to_the_harness_ends_the_run_first(number, code):
    program = (
        PRELUDE
        + """
import signal
from vgo_agent.agent.ending import run
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it would be ignored, and rightly stay so
def command():
    with Spawner() as spawner:
        spawner.run(Launch(("/bin/sh", "-c", "trap '' INT TERM HUP; sleep 1000; sleep 1000")),
                    on_started=lambda pid: print(pid, flush=True))
run(command)
"""
    )
    harness = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert harness.stdout is not None
    pid = int(harness.stdout.readline())
    harness.send_signal(number)
    assert harness.wait(LONG_S) == code
    harness.stdout.close()
    assert not is_there(pid)


@pytest.mark.cells(2)
@pytest.mark.parametrize("timeout_s", [None, LONG_S])
@pytest.mark.parametrize("line", ["read answer < /dev/tty", "sh -c 'read answer < /dev/tty'; true"])
def test_a_program_that_asks_on_the_terminal_is_ended_and_flagged(line, timeout_s):
    program = (
        PRELUDE
        + f"""
import fcntl, json, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
with Spawner() as spawner:
    run = spawner.run(Launch(("/bin/sh", "-c", {line!r})), timeout_s={timeout_s})
print(json.dumps([run.stopped_for_terminal, run.timed_out, run.exit_code, run.survivors]))
"""
    )
    master, slave = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-c", program], stdin=slave, capture_output=True, start_new_session=True, timeout=LONG_S
        )
    finally:
        os.close(master)
        os.close(slave)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True, False, -signal.SIGKILL, 0]


@pytest.mark.parametrize("timeout_s", [None, LONG_S])
def test_a_program_that_stops_itself_may_be_continued(spawner, timeout_s):
    def continue_it(pid):
        def wake():
            while is_there(pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
                time.sleep(0.05)

        threading.Thread(target=wake, daemon=True).start()

    run = spawner.run(sh("kill -STOP $$; exit 5"), timeout_s=timeout_s, on_started=continue_it)
    assert (run.exit_code, run.stopped_for_terminal) == (5, False)


def test_a_program_that_ends_just_as_it_is_looked_at_for_a_stop_is_no_error():
    pid = os.posix_spawn("/bin/true", ["true"], {})
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert not wants_terminal(pid)
        assert wait(pid, time.monotonic() + LONG_S, pytest.fail) == wait(pid, None, pytest.fail) == WaitResult()
    finally:
        os.waitpid(pid, 0)


def test_what_the_watchdog_ended_long_past_the_limit_did_time_out():
    pid = os.posix_spawn("/bin/true", ["true"], {})
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert wait(pid, time.monotonic() - LONG_S, pytest.fail).timed_out
    finally:
        os.waitpid(pid, 0)


ENDLESS = {
    "a daemon": """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for file in range(3):
            os.close(file)
        note()
        time.sleep(1000)
    os._exit(0)
""",
    "a group of its own": """
if os.fork() == 0:
    os.setpgid(0, 0)
    if os.fork() == 0:
        os.setsid()
    note()
    time.sleep(1000)
""",
    "stopped": """
if os.fork() == 0:
    note()
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(1000)
""",
    "woken by each other": """
first = os.getpid()
if os.fork() == 0:
    note()
    while True:
        os.kill(first, signal.SIGCONT)
other = os.getpid()
while True:
    pass
""",
    "forks in a loop": """
leader = os.getpid()
for _ in range(3):
    os.fork()
for _ in range(20):
    os.fork() or time.sleep(1000)
while os.getpid() != leader:
    if os.fork():
        os._exit(0)
""",
    "real time": """
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
if os.fork() == 0:
    note()
    while True:
        pass
""",
}


@pytest.mark.parametrize("captured", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ENDLESS)
def test_the_time_limit_ends_all_that_a_program_started(spawner, tmp_path, kind, captured):
    if kind == "real time" and os.geteuid() != 0:
        pytest.skip("real-time scheduling needs root")
    mark = f"vgo-test-endless-{os.getpid()}"
    body = "import os, signal, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    body += f"def note():\n    open({str(tmp_path / 'pids')!r}, 'a').write(f'{{os.getpid()}} ')\n"
    launch = Launch((sys.executable, "-I", "-S", "-c", f"{body}{ENDLESS[kind]}\ntime.sleep(1000)", mark))
    run = spawner.run(launch, timeout_s=1.0, capture=captured)
    assert (run.timed_out, run.exit_code, run.survivors) == (True, -signal.SIGKILL, 0)
    assert run.stopped == (kind == "stopped")
    assert with_word(mark) == []
    assert own_children() == []
    if kind != "forks in a loop":
        assert pids_in(tmp_path / "pids"), "it did what it is about"


def with_word(word):
    """Processes that have a word in their command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            if word in Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace"):
                found.append(int(pid))
    return found


def test_a_program_that_stops_itself_is_ended_at_its_limit_and_that_is_said(spawner):
    run = spawner.run(sh("kill -STOP $$"), timeout_s=0.5)
    assert (run.timed_out, run.stopped, run.stopped_for_terminal) == (True, True, False)
    assert not spawner.run(sh("sleep 1000"), timeout_s=0.3).stopped


def test_what_cannot_be_ended_is_given_back_after_a_bounded_time():
    """Init cannot be killed by anyone of its own PID namespace."""
    script = "import os, time; os.fork() or time.sleep(1000); os.wait()"
    init = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", PROBE_INIT.format(script=script)]
    done = subprocess.run(init, capture_output=True, text=True, timeout=LONG_S, check=False)
    if "unshare failed" in done.stderr:
        pytest.skip("it needs a PID namespace of its own")
    assert done.stdout == "(1,) Process 1 (", done.stderr


PROBE_INIT = """
import os
from vgo_agent.tools.execution.survivors import unending
from vgo_agent.tools.execution.processes import end_tree
if os.fork() == 0:
    os.setsid()
    from vgo_agent.tools.execution import processes
    processes.children_of = lambda pid: []  # init alone, not us below it
    left = end_tree(lambda: [1], 0.2).left
    print(left, unending(left)[:11], end="", flush=True)
    os._exit(0)
os.wait()
"""


def test_without_lists_of_children_the_tree_is_found_by_parents(monkeypatch):
    monkeypatch.setattr("vgo_agent.tools.execution.processes.CHILDREN", "/nonexistent")
    outer = subprocess.Popen(
        ["/bin/sh", "-c", "sleep 1000 & echo; wait"], stdout=subprocess.PIPE, start_new_session=True
    )
    with outer:
        assert outer.stdout is not None
        outer.stdout.readline()
        assert kin()(outer.pid), "it is no function that reads the lists"
        assert len(living([outer.pid])) == 2
        assert end_tree(lambda: [outer.pid]) == (2, ())


def test_another_users_process_is_named_with_what_can_be_done():
    assert unending([os.getpid(), 2]).startswith(f"Process {os.getpid()} (")
    assert " and 1 more of the run cannot be ended" in unending([os.getpid(), 2])


LOUD = """
import sys
line = b'noise ' + b'.' * 993 + b'\\n'
print('first 1', flush=True)
for _ in range({mb}):
    for at in range(1000):
        sys.{stream}.buffer.write(line)
sys.{stream}.flush()
print('last 2')
"""


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_of_much_output_the_beginning_and_the_end_are_kept(spawner, stream):
    mb = 3 * KEPT // 1_000_000
    loud = Launch((sys.executable, "-I", "-S", "-c", LOUD.format(mb=mb, stream=stream)))
    run = spawner.run(loud, capture=True, timeout_s=LONG_S)
    assert run.exit_code == 0
    lines = run.output.splitlines()
    assert (lines[0], lines[-1]) == (b"first 1", b"last 2")
    assert len(run.error) <= 4096
    if stream == "stdout":
        assert 2 * KEPT - 3000 < len(run.output) <= 2 * KEPT
        assert len(run.output) + run.output_left_out == mb * 1_000_000 + len("first 1\nlast 2\n")
        assert set(map(len, lines[1:-1])) == {999}, "whole lines"


@pytest.mark.slow
def test_a_gigabyte_of_output_takes_little_memory(spawner):
    """The real one; standard error goes the same way."""
    program = "head -c 1000000000 /dev/zero | tee /dev/stderr; echo; echo last"
    most = []

    def watch(pid):
        def look():
            while is_there(pid):
                most.append(shmem_kb())
                time.sleep(0.05)

        threading.Thread(target=look, daemon=True).start()

    before = shmem_kb()
    run = spawner.run(sh(program), capture=True, timeout_s=LONG_S, on_started=watch)
    assert run.output == b"last\n", "whole lines: the other has none of its ends here"
    assert run.output_left_out > 900_000_000
    assert max(most) - before < 900_000, "kB of 2,000,000 that were written"
    assert shmem_kb() - before < 100_000


def shmem_kb():
    words = Path("/proc/meminfo").read_text().split()
    return int(words[words.index("Shmem:") + 1])


@pytest.mark.skipif(os.geteuid() != 0, reason="real-time scheduling needs root")
@pytest.mark.parametrize(
    "scheduler",
    [Scheduler(os.SCHED_FIFO, 5), Scheduler(os.SCHED_RR, 5), Scheduler(SCHED_DEADLINE, 0, 1_800_000, 2_000_000)],
    ids=["fifo", "rr", "deadline"],
)
def test_a_real_time_policy_is_not_inherited_and_the_parent_of_a_child_that_spins_goes_on(spawner, scheduler):
    if scheduler.policy == SCHED_DEADLINE and len(os.sched_getaffinity(0)) < (os.cpu_count() or 1):
        pytest.skip("a deadline task must be allowed every CPU")
    parent = f"""
import os, resource, signal, time
while os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK != {scheduler.policy}:
    os.sched_yield()
if {scheduler.policy} != {SCHED_DEADLINE}:
    os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
told, tell = os.pipe()
child = os.fork()
if child == 0:
    os.write(tell, str(os.sched_getscheduler(0)).encode())
    while True:
        pass
said = os.read(told, 9).decode()
time.sleep(0.01)
os.kill(child, signal.SIGKILL)
os.wait()
print(said, *resource.getrlimit(resource.RLIMIT_RTTIME))
"""
    launch = Launch((sys.executable, "-I", "-S", "-c", parent), scheduler=scheduler)
    run = spawner.run(launch, capture=True, timeout_s=20.0)
    assert run.exit_code == 0, run
    spinning = 25_000_000
    assert run.output.decode().split() == [str(os.SCHED_OTHER), str(spinning), str(spinning)]
    assert os.sched_getscheduler(0) == os.SCHED_OTHER, "and the harness is as it was"


def test_closing_puts_signals_and_the_reaper_back():
    def state():
        handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]
        return handlers, sorted(os.listdir("/proc/self/fd")), signal.pthread_sigmask(signal.SIG_BLOCK, ())

    Spawner().close()  # the watchdog that it starts stays to the end of this process
    before = state()
    with Spawner() as opened:
        opened.run(sh("exit"))
        assert state() != before
    assert state() == before
    # Not a subreaper any more: an orphan goes elsewhere.
    subprocess.run(["/bin/sh", "-c", "sleep 0 &"], check=True)
    assert own_children() == []


def test_a_run_that_cannot_start_leaves_nothing(spawner):
    with pytest.raises(VgoError):
        spawner.run(Launch(("/nowhere/program",)))
    assert own_children() == []
    assert spawner.run(sh("exit 6")).exit_code == 6
