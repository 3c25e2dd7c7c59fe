"""Ask a server on the loopback interface that answers after a random time; the work of the program is always the same.

The server is forked in every run and ends with it. The time is lost there: no setting of this machine shortens it.
An argument fixes the delay in milliseconds.
"""

import os
import socket
import sys
import time

MOST_MS = 40
MODULUS = (1 << 1279) - 1
POWERS = 1


def draw_delay() -> float:
    """Draw evenly from no delay to the longest, in milliseconds."""
    return int.from_bytes(os.urandom(4), "little") / 2**32 * MOST_MS


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


def main(arguments: list[str]) -> None:
    """Run once and print the time of the arithmetic and the question."""
    delay_ms = float(arguments[0]) if arguments else draw_delay()
    port, server = start_server(delay_ms)
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        started = time.perf_counter_ns()
        for base in range(3, 3 + POWERS):
            pow(base, MODULUS - 2, MODULUS)
        connection.sendall(b".")
        connection.recv(1)
        taken = time.perf_counter_ns() - started
    os.waitpid(server, 0)
    print(f"time_ms {taken / 1e6:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
