"""Two causes in one run: malloc gives memory back a random number of times, and half of the runs have a neighbour.

The neighbour is forked in every run onto the same CPU, sleeps in the others, is an ordinary process (SCHED_OTHER) and
never outlives the run. malloc told to keep its memory removes the one part, SCHED_FIFO the other, and only both
together leave nothing. Two arguments fix the rounds that give memory back and the neighbour (`loud` or `quiet`).
"""

import os
import sys
import time

ROUNDS = 50
BLOCK_BYTES = 256 * 1024
BLOCKS = 6
MODULUS = (1 << 1279) - 1
POWERS = 3
LOUD_SHARE = 0.5
KILL = 9  # signal.SIGKILL; importing signal costs milliseconds
NEIGHBOUR_SECONDS = 5.0


def be_neighbour(loud: bool, parent: int) -> None:
    """Compute or sleep until killed or left alone."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))  # a real neighbour would not share the privilege
    end = time.monotonic() + NEIGHBOUR_SECONDS
    while os.getppid() == parent and time.monotonic() < end:
        if not loud:
            time.sleep(0.1)


def start_neighbour(loud: bool) -> int:
    """Fork the neighbour and return its id."""
    parent = os.getpid()
    neighbour = os.fork()
    if neighbour == 0:
        try:
            be_neighbour(loud, parent)
        finally:
            os._exit(0)  # also after an error: it must not come into the code of the parent
    return neighbour


def churn(batches: int) -> None:
    """Fill the same bytes in every round; `batches` of the rounds hold all blocks at once."""
    for turn in range(ROUNDS):
        if (turn + 1) * batches // ROUNDS > turn * batches // ROUNDS:
            [bytearray(BLOCK_BYTES) for _ in range(BLOCKS)]
        else:
            for _ in range(BLOCKS):
                bytearray(BLOCK_BYTES)


def main(arguments: list[str]) -> None:
    """Run once and print the time of the arithmetic and the churn."""
    drawn = os.urandom(5)
    batches, loud = int.from_bytes(drawn[1:], "little") % (ROUNDS + 1), drawn[0] < 256 * LOUD_SHARE
    if arguments:
        batches, loud = int(arguments[0]), arguments[1] == "loud"
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    neighbour = start_neighbour(loud)
    try:
        started = time.perf_counter_ns()
        for base in range(3, 3 + POWERS):
            pow(base, MODULUS - 2, MODULUS)
        churn(batches)
        taken = time.perf_counter_ns() - started
    finally:
        os.kill(neighbour, KILL)
        os.waitpid(neighbour, 0)
    print(f"time_ms {taken / 1e6:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
