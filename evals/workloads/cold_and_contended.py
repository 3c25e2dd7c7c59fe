"""Two causes in one run: half of the runs drop the file from the page cache, and half have a busy neighbour.

The run after a drop finds its 20 MB cold and waits for the disk. The neighbour is forked in every run onto the same
CPU, sleeps in the others, is an ordinary process (SCHED_OTHER) and never outlives the run. A file read beforehand
removes the one part, SCHED_FIFO the other, and only both together leave nothing.
Arguments: FILE [evict|keep loud|quiet]; the last two fix the choices.
"""

import os
import sys
import time

CHUNK_BYTES = 1 << 20
EVICTING_SHARE, LOUD_SHARE = 0.5, 0.5
MODULUS = (1 << 1279) - 1
POWERS = 1
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


def read_and_compute(file: int) -> None:
    """Read to the end into one buffer, then do the arithmetic."""
    buffer = bytearray(CHUNK_BYTES)
    while os.readv(file, [buffer]):
        pass
    for base in range(3, 3 + POWERS):
        pow(base, MODULUS - 2, MODULUS)


def main(arguments: list[str]) -> None:
    """Run once and print the time of the reading and the arithmetic; what is evicted hits the next run."""
    if not arguments:
        sys.exit("cold_and_contended: give the file to read, such as one of 20 MB on a disk")
    path, *fixed = arguments
    evicting, neighbouring = os.urandom(2)
    evict, loud = evicting < 256 * EVICTING_SHARE, neighbouring < 256 * LOUD_SHARE
    if fixed:
        evict, loud = fixed[0] == "evict", fixed[1] == "loud"
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    file = os.open(path, os.O_RDONLY)
    neighbour = start_neighbour(loud)
    try:
        started = time.perf_counter_ns()
        read_and_compute(file)
        taken = time.perf_counter_ns() - started
    finally:
        os.kill(neighbour, KILL)
        os.waitpid(neighbour, 0)
    print(f"time_ms {taken / 1e6:.4f}")
    if evict:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


if __name__ == "__main__":
    main(sys.argv[1:])
