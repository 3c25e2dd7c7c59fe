"""What the programs share: they do some work, a random amount of it what makes a run slow, and print the time.

They start without site, so that this imports only what costs nothing.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MODULUS = (1 << 1279) - 1
BLOCK_BYTES, BLOCKS = 256 * 1024, 6


def run(*programs: Callable[[], object]) -> None:
    """Run the one that the first argument names; what stands behind that is its own."""
    named = {program.__name__.replace("_", "-"): program for program in programs}
    if sys.argv[1:2] == [] or sys.argv[1] not in named:
        sys.exit(f"Name one of {', '.join(named)}.")
    named[sys.argv.pop(1)]()


def drawn(least: int, most: int) -> int:
    """Draw a number evenly from the least to the most."""
    return least + int.from_bytes(os.urandom(4), "little") % (most - least + 1)


def chance(share: float) -> bool:
    """Draw True in this share of the runs."""
    return os.urandom(1)[0] < 256 * share


def due(step: int, times: int, steps: int) -> bool:
    """Tell whether a step is one of the `times` that are spread evenly over all steps."""
    return (step + 1) * times // steps > step * times // steps


def print_time(work: Callable[[], object], clock_ns: Callable[[], int] = time.perf_counter_ns) -> None:
    """Do the work and print the milliseconds that it took, of CPU time with `time.process_time_ns`."""
    started = clock_ns()
    work()
    print_ms(clock_ns() - started)


def print_ms(taken_ns: int) -> None:
    """Print a time as the metric that is looked for."""
    print(f"time_ms {taken_ns / 1e6:.4f}")


def amount(least: int, most: int, argument: int = 1) -> int:
    """Take the argument at that place, else draw a number evenly."""
    return int(sys.argv[argument]) if sys.argv[argument:] else drawn(least, most)


def open_input(flags: int = os.O_RDONLY) -> int:
    """Open the file that is the first argument."""
    if not sys.argv[1:]:
        sys.exit("Give the file to read, such as one of 20 MB on a disk.")
    return os.open(sys.argv[1], flags)


def compute(powers: int) -> None:
    """Do arithmetic for some 4 ms a power."""
    for base in range(3, 3 + powers):
        pow(base, MODULUS - 2, MODULUS)


def churn(batches: int, rounds: int) -> None:
    """Fill the same bytes in every round; `batches` of the rounds hold six blocks at once, which malloc gives back."""
    for step in range(rounds):
        if due(step, batches, rounds):
            [bytearray(BLOCK_BYTES) for _ in range(BLOCKS)]
        else:
            for _ in range(BLOCKS):
                bytearray(BLOCK_BYTES)


def read_all(file: int) -> None:
    """Read to the end into one buffer."""
    buffer = bytearray(1 << 20)
    while os.readv(file, [buffer]):
        pass


def drop_from_page_cache(file: int) -> None:
    """Let the next run find the file cold, so that it waits for the disk."""
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
