"""Compute 20 ms on the last allowed CPU, on which the kernel works through packets that others send now and then.

The sender runs around the whole diagnosis (`packet_flood.py neighbour CPU`) on another CPU, and receive packet
steering hands its packets to this one: they are worked through in soft interrupts, in the time of the program.
"""

import os
import socket
import sys
import time

MODULUS = (1 << 1279) - 1
POWERS = 5
BURST_MS, PAUSE_MS = (20, 200), (20, 200)
PACKET = bytes(64)
PACKETS = 50
"""Sent between two looks at the clock."""


def main(arguments: list[str]) -> None:
    """Run once and print the time of the arithmetic, or be the neighbour."""
    if arguments[:1] == ["neighbour"]:
        be_neighbour(int(arguments[1]), os.getppid())
        return
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    started = time.perf_counter_ns()
    for base in range(3, 3 + POWERS):
        pow(base, MODULUS - 2, MODULUS)
    print(f"time_ms {(time.perf_counter_ns() - started) / 1e6:.4f}")


def be_neighbour(cpu: int, parent: int) -> None:
    """Send packets in bursts at random moments to a socket that nobody reads, until whoever started it is gone."""
    os.sched_setaffinity(0, {cpu})
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reader, socket.socket(type=socket.SOCK_DGRAM) as sender:
        reader.bind(("127.0.0.1", 0))
        sender.connect(reader.getsockname())
        print("ready", flush=True)
        while os.getppid() == parent:
            end = time.monotonic() + drawn_s(BURST_MS)
            while time.monotonic() < end:
                for _ in range(PACKETS):
                    sender.send(PACKET)
            time.sleep(drawn_s(PAUSE_MS))


def drawn_s(milliseconds: tuple[int, int]) -> float:
    """Draw a time between two, in seconds."""
    least, most = milliseconds
    return (least + int.from_bytes(os.urandom(4), "little") % (most - least + 1)) / 1e3


if __name__ == "__main__":
    main(sys.argv[1:])
