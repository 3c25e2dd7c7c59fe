"""Two causes in one run: malloc gives memory back, and the program hops over its CPUs, each a random number of times.

Both cost CPU time. malloc told to keep its memory removes the one part, a pinned program has nowhere to hop, and
only both together leave nothing. Two arguments fix the rounds that give memory back and the hops.
"""

import time

from work import amount, churn, copy_and_hop, print_time

CHURNS, COPIES = 25, 100


def churn_and_hop(batches: int, hops: int) -> None:
    """Do both; the churn first: a freed large buffer would teach malloc to keep more."""
    churn(batches, CHURNS)
    copy_and_hop(hops, COPIES)


if __name__ == "__main__":
    batches, hops = amount(0, CHURNS), amount(0, COPIES, argument=2)
    print_time(lambda: churn_and_hop(batches, hops), time.process_time_ns)
