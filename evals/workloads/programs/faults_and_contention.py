"""Two causes in one run: malloc gives memory back a random number of times, and half of the runs have a neighbour.

The neighbour is forked in every run onto the same CPU, sleeps in the others, is an ordinary process (SCHED_OTHER) and
never outlives the run. malloc told to keep its memory removes the one part, SCHED_FIFO the other, and only both
together leave nothing. Two arguments fix the rounds that give memory back and the neighbour (`loud` or `quiet`).
"""

import sys

from forked import time_beside
from work import chance, churn, compute, drawn, print_ms

ROUNDS = 50


def compute_and_churn(batches: int) -> None:
    """Do both."""
    compute(3)
    churn(batches, ROUNDS)


def main(arguments: list[str]) -> None:
    """Run once and print the time of the arithmetic and the churn."""
    batches, loud = (int(arguments[0]), arguments[1] == "loud") if arguments else (drawn(0, ROUNDS), chance(0.5))
    print_ms(time_beside(loud, lambda: compute_and_churn(batches)))


if __name__ == "__main__":
    main(sys.argv[1:])
