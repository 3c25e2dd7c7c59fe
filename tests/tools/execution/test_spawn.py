"""A run is timed, read and cleaned up, whatever the program does."""

import json
import os
import pty
import resource
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import RUSAGE, Spawner
from vgo_agent.tools.execution.waiting import end_if_stopped_for_terminal, wait, wait_until

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
    """Children that are ours; another test may have left the helper of multiprocessing, which stays to the end."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [pid for pid in children if b"resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes()]


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


def test_memory_is_told_of_a_program_that_took_more_than_we_did_and_never_ours(spawner):
    ours_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "max_rss_kb" not in spawner.run(Launch(("/bin/true",))).counters
    more_kb = ours_kb + (64 << 10)
    more = Launch((sys.executable, "-S", "-c", f"kb = {more_kb}; b'x' * (kb << 10)"))
    assert spawner.run(more).counters["max_rss_kb"] > more_kb


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


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_to_the_harness_ends_the_run_first(number, code):
    program = (
        PRELUDE
        + """
import signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it would be ignored, and rightly stay so
signal.signal(signal.SIGINT, signal.default_int_handler)  # the same in a job without job control
with Spawner() as spawner:
    spawner.run(Launch(("/bin/sh", "-c", "trap '' INT TERM HUP; sleep 1000; sleep 1000")),
                on_started=lambda pid: print(pid, flush=True))
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
        assert not end_if_stopped_for_terminal(pid)
        assert wait_until(pid, time.monotonic() + LONG_S) == wait(pid) == (False, False)
    finally:
        os.waitpid(pid, 0)


def test_closing_puts_signals_and_the_reaper_back():
    def state():
        handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]
        return handlers, sorted(os.listdir("/proc/self/fd")), signal.pthread_sigmask(signal.SIG_BLOCK, ())

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
