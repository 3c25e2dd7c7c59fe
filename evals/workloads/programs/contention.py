"""Compute on one CPU while, in 40 % of the runs, a neighbour that it started computes on the same one.

The neighbour is forked in every run, sleeps in the others, is an ordinary process (SCHED_OTHER) and never
outlives the run. Under SCHED_FIFO the program keeps the CPU. An argument, `loud` or `quiet`, fixes the neighbour.
"""

import sys

from forked import time_beside
from work import chance, compute, print_ms


def main(arguments: list[str]) -> None:
    """Run once and print the time of the arithmetic."""
    loud = arguments[0] == "loud" if arguments else chance(0.4)
    print_ms(time_beside(loud, lambda: compute(5)))


if __name__ == "__main__":
    main(sys.argv[1:])
