"""One benchmark at a time on a host, however many Dask workers and users are on it."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator

from ...knowledge.errors import VgoError

PAUSE_S = 0.02


@contextlib.contextmanager
def alone(patience_s: float) -> Iterator[None]:
    """Hold the host; raise VgoError where another one holds it for longer than that.

    The lock is a name that the kernel keeps for the whole host, whoever asks and from whichever folder, and drops when
    its holder dies: a socket in the abstract namespace, which no file can be left of.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as held:
        _take(held, time.monotonic() + patience_s)
        yield


def _take(held: socket.socket, until_s: float) -> None:
    name = os.uname().nodename
    while True:
        try:
            held.bind(f"\0vgo-agent-bench-{name}")
            return
        except OSError as busy:
            if time.monotonic() > until_s:
                raise VgoError(
                    f"Another vgo-agent measures on {name}: wait until it has ended, or leave {name} out."
                ) from busy
        time.sleep(PAUSE_S)
