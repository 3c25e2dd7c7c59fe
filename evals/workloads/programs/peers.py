"""Programs that wait for somebody else of their own making: a server, whoever holds a database, a reader of a pipe.

The first argument names the program; the one behind it fixes what is otherwise drawn. Nobody outlives the run.
"""

from __future__ import annotations

import os
import sys
import time

from work import chance, compute, drawn, print_time, run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

CLIENTS, HELD_UP_MS, APART_S = 3, 60, 0.005
LINES, PIPE_BYTES = 300, 4096
MODULUS = 1 << 127
SET_PIPE_BYTES = 1031  # fcntl.F_SETPIPE_SZ, without the module
LINE = b"2024-01-01 INFO request served in 3 ms by worker 7 with status 200\n"


def accept_queue() -> None:
    """Connect three times to a server whose queue holds two, and which is held up for 60 ms in 40 % of the runs.

    The request that finds the queue full is dropped, and sent again after a second. Argument: how long the server is
    held up, in milliseconds.
    """
    import socket

    held_ms = int(sys.argv[1]) if sys.argv[1:] else HELD_UP_MS * chance(0.4)
    server = socket.create_server(("127.0.0.1", 0), backlog=1)

    def serve() -> None:
        time.sleep(held_ms / 1e3)
        for _ in range(CLIENTS):
            connection, _ = server.accept()
            connection.send(b"a")
            connection.close()

    def ask() -> None:
        clients = []
        for _ in range(CLIENTS):
            time.sleep(APART_S)  # which a server that is not held up needs to take the one before
            clients.append(socket.create_connection(server.getsockname()))
        for client in clients:
            client.recv(1)
            client.close()
        compute(1)

    with_child(serve, lambda: print_time(ask))


def database_busy() -> None:
    """Write into a database that another process has locked for 12 to 40 ms in 40 % of the runs.

    SQLite has no queue of those who wait: they try again after 1, 2, 5, 10, 15, 20, 25 ms, so they come late. Argument:
    how long it is locked, in milliseconds.
    """
    import sqlite3
    import tempfile

    held_ms = int(sys.argv[1]) if sys.argv[1:] else drawn(12, 40) * chance(0.4)
    there, ready = os.pipe()
    with tempfile.TemporaryDirectory() as folder:

        def connected() -> sqlite3.Connection:
            database = sqlite3.connect(f"{folder}/data", timeout=5, isolation_level=None)
            database.execute("pragma synchronous=off")
            return database

        def hold() -> None:
            other = connected()
            other.execute("begin immediate" if held_ms else "begin")
            os.write(ready, b".")
            time.sleep(held_ms / 1e3)
            other.execute("commit")
            other.close()

        def work() -> None:
            os.read(there, 1)
            mine = connected()

            def write() -> None:
                mine.execute("insert into seen values (1)")
                compute(3)

            print_time(write)
            mine.close()

        first = connected()
        first.execute("create table seen (what)")
        first.close()
        with_child(hold, work)


def log_lines() -> None:
    """Write 300 lines to a reader that takes its time over each piece: in 40 % of the runs line by line.

    In the others they are gathered into pieces of 4 KB. The pipe holds one piece, and keeps pieces apart. Argument:
    lines or pieces.
    """
    one_by_one = sys.argv[1] == "lines" if sys.argv[1:] else chance(0.4)
    out, into = os.pipe2(os.O_DIRECT)

    def read() -> None:
        os.close(into)
        while os.read(out, 1 << 16):
            time.sleep(60e-6)

    def write() -> None:
        gathered = b""
        for line in range(LINES):
            pow(3, 1 << 99, MODULUS + line)  # what there is to log costs something
            gathered += LINE
            if one_by_one or len(gathered) > PIPE_BYTES - len(LINE):
                os.write(into, gathered)
                gathered = b""
        os.write(into, gathered)

    def work() -> None:
        import fcntl

        fcntl.fcntl(into, SET_PIPE_BYTES, PIPE_BYTES)
        print_time(write)
        os.close(into)

    with_child(read, work)


def with_child(does: Callable[[], object], work: Callable[[], object]) -> None:
    """Have a child do something while the work is done, and wait for it."""
    child = os.fork()
    if child == 0:
        try:
            does()
        finally:
            os._exit(0)  # also after an error: it must not come into the code of the parent
    work()
    os.waitpid(child, 0)


if __name__ == "__main__":
    run(accept_queue, database_busy, log_lines)
