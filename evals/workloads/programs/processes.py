"""Programs that compute, and sleep, start commands or wait for another process in between.

The first argument names the program; the one behind it fixes what is otherwise drawn.
"""

from __future__ import annotations

import os
import sys
import time

from work import amount, compute, drawn, due, print_time, run

TRUE = "/bin/true"
STEPS, SLEEP_S = 200, 1e-6
MODULUS = (1 << 127) - 1


def plain() -> None:
    """Compute 20 ms, and let whoever runs beside it make that longer. Argument: last, for the last allowed CPU."""
    if sys.argv[1:] == ["last"]:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print_time(lambda: compute(5))


def short_sleeps() -> None:
    """Compute in steps, and between them sleep 1 microsecond a random number of times, evenly spread.

    Each sleep ends late by the timer slack of the process, 50 microseconds unless it is set, and by the wake-up.
    A process under a real-time policy has no slack. Argument: the number of sleeps.
    """
    sleeps = amount(0, STEPS)

    def compute_and_sleep() -> None:
        for step in range(STEPS):
            pow(3, MODULUS - 2, MODULUS)
            if due(step, sleeps, STEPS):
                time.sleep(SLEEP_S)

    print_time(compute_and_sleep)


def process_starts() -> None:
    """Compute, and start a random number of short commands, as a script does that finds so much to do.

    Each start copies page tables, maps libraries and faults them in. Only other code starts fewer; no setting does.
    The time is the CPU time of the program and of its commands. Argument: the number of commands.
    """
    from resource import RUSAGE_CHILDREN, getrusage

    commands = amount(0, 16)

    def compute_and_start() -> None:
        compute(2)
        for _ in range(commands):
            os.waitpid(os.posix_spawn(TRUE, (TRUE,), {}), 0)

    def cpu_ns() -> int:
        children = getrusage(RUSAGE_CHILDREN)
        return time.process_time_ns() + int((children.ru_utime + children.ru_stime) * 1e9)

    print_time(compute_and_start, cpu_ns)


def ping_pong() -> None:
    """Compute, and hand a byte to a child and back through two pipes a random number of times.

    Each hand-over is a voluntary context switch: the one sleeps until the other has answered. The child runs on another
    CPU, where one is allowed, and each wake-up interrupts that CPU; pinned to one CPU they only take turns.
    Argument: the number of hand-overs.
    """
    turns = amount(0, 500)
    question, ask = os.pipe()
    listen, answer = os.pipe()
    child = os.fork()
    if child == 0:  # it answers each byte until nobody asks
        try:
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
            os.close(ask)
            while asked := os.read(question, 1):
                os.write(answer, asked)
        finally:
            os._exit(0)
    os.close(question)
    os.close(answer)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    def compute_and_ask() -> None:
        compute(2)
        for _ in range(turns):
            os.write(ask, b".")
            os.read(listen, 1)

    print_time(compute_and_ask, time.process_time_ns)
    os.close(ask)
    os.waitpid(child, 0)


def slow_server() -> None:
    """Ask a server on the loopback interface that answers after a random time; the work is always the same.

    The server is forked in every run and ends with it. The time is lost there: no setting of this machine shortens it.
    Argument: the delay in milliseconds.
    """
    import socket

    delay_ms = float(sys.argv[1]) if sys.argv[1:] else drawn(0, 40_000) / 1e3
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(5)
        port, server = int(listener.getsockname()[1]), os.fork()
        if server == 0:
            try:
                client, _ = listener.accept()
                if client.recv(1):
                    time.sleep(delay_ms / 1e3)
                    client.sendall(b".")
            finally:
                os._exit(0)

    def compute_and_ask() -> None:
        compute(1)
        connection.sendall(b".")
        connection.recv(1)

    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        print_time(compute_and_ask)
    os.waitpid(server, 0)


if __name__ == "__main__":
    run(plain, short_sleeps, process_starts, ping_pong, slow_server)
