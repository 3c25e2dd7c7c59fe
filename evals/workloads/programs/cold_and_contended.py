"""Two causes in one run: half of the runs drop the file from the page cache, and half have a busy neighbour.

The run after a drop finds its 20 MB cold and waits for the disk. The neighbour is forked in every run onto the same
CPU, sleeps in the others, is an ordinary process (SCHED_OTHER) and never outlives the run. A file read beforehand
removes the one part, SCHED_FIFO the other, and only both together leave nothing.
Arguments: FILE [evict|keep loud|quiet]; the last two fix the choices.
"""

import sys

from forked import time_beside
from work import chance, compute, drop_from_page_cache, open_input, print_ms, read_all


def read_and_compute(file: int) -> None:
    """Do both."""
    read_all(file)
    compute(1)


if __name__ == "__main__":
    file, fixed = open_input(), sys.argv[2:]
    evict, loud = (fixed[0] == "evict", fixed[1] == "loud") if fixed else (chance(0.5), chance(0.5))
    print_ms(time_beside(loud, lambda: read_and_compute(file)))
    if evict:
        drop_from_page_cache(file)
