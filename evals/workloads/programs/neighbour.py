"""A neighbour around a whole diagnosis: `neighbour.py KIND WHERE` says "ready" and disturbs until its parent is gone.

`realtime CPU`: computes there in bursts of random length under SCHED_FIFO, so that no ordinary process runs beside it.
`packets CPU`: sends packets from there in bursts; receive packet steering decides who works through them.
`disk FOLDER`: writes megabytes there at random moments.
`tenant CPUS`: takes that many CPUs at once for milliseconds, comes for seconds, and goes. It runs under SCHED_DEADLINE,
which is served before real-time priorities, is promised nearly all time of all CPUs, so that nobody else can be
promised much, and uses a quarter of it: it is plain to see, and nothing that can be done to a program makes it go.
`promised 1`: ends at once, without an error where the tenant could be here.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator

from work import compute, drawn

PRIORITY = 50
PACKET = bytes(64)
PACKETS = 50
"""Sent between two looks at the clock."""
MEGABYTE = 1 << 20
SCHED_DEADLINE = 6
RESET_ON_FORK = 1
SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
PERIOD_S, PROMISED = 0.016, 7 / 8
TURN_S = 0.004
STAY_S, AWAY_S = 1.5, 2.5
PATIENCE_S = 1.0


def bursts(parent: int, amount: tuple[int, int], pause_ms: tuple[int, int]) -> Iterator[int]:
    """Draw the amount of each burst, and pause after it, until the parent is gone."""
    print("ready", flush=True)
    while os.getppid() == parent:
        yield drawn(*amount)
        time.sleep(drawn(*pause_ms) / 1e3)


def realtime(cpu: str, parent: int) -> None:
    """Compute in bursts of 5 to 30 ms."""
    os.sched_setaffinity(0, {int(cpu)})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    for burst_ms in bursts(parent, (5, 30), (20, 120)):
        end = time.monotonic() + burst_ms / 1e3
        while time.monotonic() < end:
            compute(1)


def packets(cpu: str, parent: int) -> None:
    """Send in bursts of 20 to 200 ms to a socket that nobody reads."""
    os.sched_setaffinity(0, {int(cpu)})
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reader, socket.socket(type=socket.SOCK_DGRAM) as sender:
        reader.bind(("127.0.0.1", 0))
        sender.connect(reader.getsockname())
        for burst_ms in bursts(parent, (20, 200), (20, 200)):
            end = time.monotonic() + burst_ms / 1e3
            while time.monotonic() < end:
                for _ in range(PACKETS):
                    sender.send(PACKET)


def disk(folder: str, parent: int) -> None:
    """Write 16 to 96 MB to a file without a name, and wait until they are safe."""
    file = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600)
    megabyte = os.urandom(MEGABYTE)
    for megabytes in bursts(parent, (16, 96), (50, 300)):
        for place in range(megabytes):
            os.pwrite(file, megabyte, place * MEGABYTE)
        os.fdatasync(file)
        os.ftruncate(file, 0)


def tenant(cpus: str, parent: int) -> None:
    """Be one process a CPU."""
    others = int(cpus) - 1
    there, tells = os.pipe()
    for _ in range(others):
        if os.fork() == 0:
            promised()
            os.write(tells, b".")
            os.close(tells)
            take_turns(parent)
            return
    os.close(tells)
    promised()
    for _ in range(others):
        if not os.read(there, 1):
            sys.exit("Not every CPU could be promised.")
    print("ready", flush=True)
    take_turns(parent)


def promised(cpus: str = "1", parent: int = 0) -> None:
    """Take the deadline policy; the kernel moves such a task to whichever CPU has none.

    What was promised to a task that has just ended is free a little later only.
    """
    period = int(PERIOD_S * 1e9)
    times = (int(PROMISED * period), period, period)
    asked = struct.pack("=IIQiIQQQ", 48, SCHED_DEADLINE, RESET_ON_FORK, 0, 0, *times)
    libc = ctypes.CDLL(None, use_errno=True)
    patience = time.monotonic() + PATIENCE_S
    while libc.syscall(SCHED_SETATTR[platform.machine()], 0, ctypes.c_char_p(asked), 0) != 0:
        if ctypes.get_errno() != errno.EBUSY or time.monotonic() > patience:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        time.sleep(PERIOD_S)


def take_turns(parent: int) -> None:
    """Compute at the beginning of each period while it stays; by the clock, so that all processes do so at once."""
    while os.path.exists(f"/proc/{parent}"):
        now = time.monotonic()
        begun = now - now % PERIOD_S
        while now % (STAY_S + AWAY_S) < STAY_S and time.monotonic() < begun + TURN_S:
            pass
        time.sleep(max(0.0, begun + PERIOD_S - time.monotonic()))


KINDS: dict[str, Callable[[str, int], None]] = {
    "realtime": realtime,
    "packets": packets,
    "disk": disk,
    "tenant": tenant,
    "promised": promised,
}

if __name__ == "__main__":
    KINDS[sys.argv[1]](sys.argv[2], os.getppid())
