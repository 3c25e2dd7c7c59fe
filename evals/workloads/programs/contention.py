"""Compute on one CPU while, in 40 % of the runs, a neighbour that it started computes on the same one.

The neighbour is forked in every run, sleeps in the others, is an ordinary process (SCHED_OTHER) and never
outlives the run. Under SCHED_FIFO the program keeps the CPU. An argument, `loud` or `quiet`, fixes the neighbour.
"""

from forked import loud, time_beside
from work import compute, print_ms

if __name__ == "__main__":
    print_ms(time_beside(loud(0.4), lambda: compute(5)))
