"""Peers are told by what stays the same from run to run: the script, what it is to the program, and the address."""

import os
import re
import select
import socket
import subprocess
import sys
from contextlib import closing

import pytest

from vgo_agent.layers.probes.open_files import OpenFiles
from vgo_agent.layers.probes.opened import OpenedRun
from vgo_agent.layers.probes.task_names import script_of
from vgo_agent.tools.execution.launch import Launch

SERVER = """
import socket, sys, threading, time
def answer(asked):
    with asked:
        asked.recv(1)
        time.sleep(.5)
        asked.send(b"x")
listening = socket.socket(getattr(socket, sys.argv[1]))
listening.bind(sys.argv[2] if sys.argv[1] == "AF_UNIX" else ("127.0.0.1", 0))
listening.listen()
print(listening.getsockname() if sys.argv[1] == "AF_UNIX" else listening.getsockname()[1], flush=True)
while True:
    answering = threading.Thread(target=answer, args=(listening.accept()[0],))
    answering.start() if sys.argv[3] == "in a thread" else answering.run()
"""
CLIENT = """
import socket, sys
asks = socket.socket(getattr(socket, sys.argv[1]))
asks.connect(sys.argv[2] if sys.argv[1] == "AF_UNIX" else ("127.0.0.1", int(sys.argv[2])))
asks.send(b"x")
asks.recv(1)
"""


def opened_run(spawner, probe, *argv: str) -> OpenedRun:
    run = spawner.run(Launch(argv), [probe], capture=True)
    assert run.exit_code == 0, run.error
    return OpenedRun.read(probe.split(None)["stacks.opened"])


@pytest.mark.parametrize(("family", "how"), [("AF_INET", ""), ("AF_UNIX", ""), ("AF_INET", "in a thread")])
def test_a_server_is_told_by_its_script_its_address_and_its_number(spawner, opened, tmp_path, family, how):
    """Also where the thread that answered has ended."""
    script, probe = tmp_path / "answers.py", opened("stacks")
    script.write_text(SERVER)
    server = subprocess.Popen(
        (sys.executable, "-S", script, family, tmp_path / "socket", how), stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        run = opened_run(spawner, probe, sys.executable, "-S", "-c", CLIENT, family, address)
    finally:
        server.kill()
        server.communicate()
    there = re.escape(address if family == "AF_UNIX" else f"127.0.0.1:{address}")
    peer = r"python\S* answers\.py \(another program\)"
    waits = [part for part in run.parts if re.search(rf"waits in recvfrom\(socket to {there}\) for {peer}$", part.via)]
    assert sum(part.ms for part in waits) >= 450
    assert any(re.fullmatch(rf"{peer}: clock_nanosleep", part.what) for part in waits)
    assert [number for name, number in run.processes.items() if re.fullmatch(peer, name)] == [server.pid]


def test_the_other_end_of_a_pipe_is_told_as_what_it_is_to_the_program(spawner, opened):
    program = (
        "import os, threading, time\nout, into = os.pipe()\n"
        "if os.fork() == 0: time.sleep(.3); os.write(into, b'x'); os._exit(0)\n"
        "os.read(out, 1); lock = threading.Lock(); lock.acquire()\n"
        "threading.Thread(target=lambda: (time.sleep(.1), lock.release())).start(); lock.acquire()"
    )
    run = opened_run(spawner, opened("stacks"), sys.executable, "-S", "-c", program)
    assert run.threads >= 2
    assert any(re.search(r"waits in read\(pipe\) for \S+ \(child\)$", part.via) for part in run.parts)
    assert any(re.search(r"waits in futex for \S+ \(thread\)$", part.via) for part in run.parts)


HELD_LOCK = """
import os, signal, threading, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
if (spinning := os.fork()) == 0:
    os.nice(LOWER)
    while True: pass
lock, held = threading.Lock(), threading.Event()
def holder():
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWER)
    with lock:
        held.set()
        while time.thread_time() < .03: sum(range(1000))
threading.Thread(target=holder).start()
held.wait()
lock.acquire()
os.kill(spinning, signal.SIGKILL)
os.wait()
"""


@pytest.mark.parametrize("lower", [0, 10])
def test_who_waits_for_a_lock_behind_a_task_of_lower_priority_is_told_so_and_no_one_else(spawner, opened, lower):
    program = HELD_LOCK.replace("LOWER", str(lower))
    run = opened_run(spawner, opened("stacks"), sys.executable, "-S", "-c", program)
    waits = [part for part in run.parts if "waits in futex" in part.via]
    behind = [part.what for part in waits if part.what.startswith("behind python") and "(child)" in part.what]
    assert behind and all(("both of lower priority than python" in what) == bool(lower) for what in behind)


def test_a_socket_is_called_by_the_end_that_lasts(tmp_path):
    with closing(OpenFiles()) as files, closing(socket.create_server(("127.0.0.1", 0))) as listening:
        port = listening.getsockname()[1]
        unix, asks, asked = (socket.socket(kind) for kind in (socket.AF_UNIX, socket.AF_UNIX, socket.AF_INET6))
        unix.bind(str(tmp_path / "s"))
        unix.listen()
        asks.connect(str(tmp_path / "s"))
        asked.connect(("::ffff:127.0.0.1", port))
        accepted, answers, pair = listening.accept()[0], unix.accept()[0], socket.socketpair()
        sends = socket.socket(type=socket.SOCK_DGRAM)
        sends.connect(("127.0.0.1", 9))
        names: dict[socket.socket | select.epoll, str] = {
            listening: f"socket at 127.0.0.1:{port}",
            accepted: f"socket of 127.0.0.1:{port} from 127.0.0.1",
            asked: f"socket to 127.0.0.1:{port}",
            sends: "socket to 127.0.0.1:9/udp",
            unix: f"socket at {tmp_path}/s",
            asks: f"socket to {tmp_path}/s",
            answers: f"socket at {tmp_path}/s",
            **dict.fromkeys(pair, "socket"),
        }
        together = select.epoll()
        for one in (asked, sends, pair[0]):
            together.register(one)
        names[together] = f"socket to 127.0.0.1:{port} or socket to 127.0.0.1:9/udp or socket"
        files.before()
        files.started(os.getpid())
        files.after()
        files.settle()
        for opened_file, name in names.items():
            assert files.name(os.getpid(), opened_file.fileno(), 0) == name
            opened_file.close()


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("python -X perf -u /srv/app.py 8080", "app.py"),
        ("python3 -m http.server", "http.server"),
        ("python -c print() /srv/app.py", ""),
        ("bash -lc make", ""),
        ("java -Xmx1g -cp /a:/b Main", "Main"),
        ("perl", ""),
    ],
)
def test_the_script_of_an_interpreter_is_no_option_and_no_value_of_one(command, script):
    assert script_of(tuple(command.split())) == script
