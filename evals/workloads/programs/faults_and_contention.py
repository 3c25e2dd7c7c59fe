"""Two causes in one run: malloc gives memory back a random number of times, and half of the runs have a neighbour.

The neighbour is forked in every run onto the same CPU, sleeps in the others, is an ordinary process (SCHED_OTHER) and
never outlives the run. malloc told to keep its memory removes the one part, SCHED_FIFO the other, and only both
together leave nothing. Two arguments fix the rounds that give memory back and the neighbour (`loud` or `quiet`).
"""

from forked import loud, time_beside
from work import amount, churn, compute, print_ms

ROUNDS = 50


def compute_and_churn(batches: int) -> None:
    """Do both."""
    compute(3)
    churn(batches, ROUNDS)


if __name__ == "__main__":
    batches = amount(0, ROUNDS)
    print_ms(time_beside(loud(0.5, argument=2), lambda: compute_and_churn(batches)))
