"""Ask a server on the loopback interface that answers after a random time; the work of the program is always the same.

The server is forked in every run and ends with it. The time is lost there: no setting of this machine shortens it.
An argument fixes the delay in milliseconds.
"""

import os
import socket
import sys
import time

from work import compute, drawn, print_time


def serve(listener: socket.socket, delay_ms: float) -> None:
    """Answer one question of one client after the delay."""
    client, _ = listener.accept()
    if client.recv(1):
        time.sleep(delay_ms / 1e3)
        client.sendall(b".")


def start_server(delay_ms: float) -> tuple[int, int]:
    """Fork the server; return its port and its id."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(5)
        server = os.fork()
        if server == 0:
            try:
                serve(listener, delay_ms)
            finally:
                os._exit(0)
        return int(listener.getsockname()[1]), server


def compute_and_ask(connection: socket.socket) -> None:
    """Compute, ask and wait for the answer."""
    compute(1)
    connection.sendall(b".")
    connection.recv(1)


if __name__ == "__main__":
    delay_ms = float(sys.argv[1]) if sys.argv[1:] else drawn(0, 40_000) / 1e3
    port, server = start_server(delay_ms)
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        print_time(lambda: compute_and_ask(connection))
    os.waitpid(server, 0)
