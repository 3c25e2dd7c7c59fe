"""Compute 20 ms beside a tenant that takes all CPUs at once for milliseconds, comes for seconds, and goes.

The tenant runs around the whole diagnosis (`tenant.py neighbour CPUS`) under SCHED_DEADLINE. It is served before
real-time priorities, is promised nearly all time of all CPUs, so that nobody else can be promised much, and uses a
quarter of it: it is plain to see, and nothing that can be done to the program makes it go.
"""

import ctypes
import errno
import os
import platform
import struct
import sys
import time

MODULUS = (1 << 1279) - 1
POWERS = 5
SCHED_DEADLINE = 6
RESET_ON_FORK = 1
SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
PERIOD_S, PROMISED = 0.016, 7 / 8
TURN_S = 0.004
STAY_S, AWAY_S = 1.5, 2.5
PATIENCE_S = 1.0


def main(arguments: list[str]) -> None:
    """Run once and print the time of the arithmetic, or be the tenant, or try whether the tenant could be here."""
    if arguments[:1] == ["neighbour"]:
        be_tenant(int(arguments[1]), os.getppid())
        return
    if arguments[:1] == ["try"]:
        be_promised()
        return
    started = time.perf_counter_ns()
    for base in range(3, 3 + POWERS):
        pow(base, MODULUS - 2, MODULUS)
    print(f"time_ms {(time.perf_counter_ns() - started) / 1e6:.4f}")


def be_tenant(cpus: int, parent: int) -> None:
    """Be one process a CPU, until whoever started it is gone."""
    promised, tells = os.pipe()
    for _ in range(cpus - 1):
        if os.fork() == 0:
            be_promised()
            os.write(tells, b".")
            os.close(tells)
            take_turns(parent)
            return
    os.close(tells)
    be_promised()
    for _ in range(cpus - 1):
        if not os.read(promised, 1):
            sys.exit("Not every CPU could be promised.")
    print("ready", flush=True)
    take_turns(parent)


def be_promised() -> None:
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
    while alive(parent):
        now = time.monotonic()
        begun = now - now % PERIOD_S
        while now % (STAY_S + AWAY_S) < STAY_S and time.monotonic() < begun + TURN_S:
            pass
        time.sleep(max(0.0, begun + PERIOD_S - time.monotonic()))


def alive(process: int) -> bool:
    """Tell whether a process is there."""
    return os.path.exists(f"/proc/{process}")


if __name__ == "__main__":
    main(sys.argv[1:])
