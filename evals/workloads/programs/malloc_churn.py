"""Allocate, fill and free 256 KB blocks; in a random number of rounds six at a time instead of one by one.

glibc keeps one freed block at the top of its heap, but gives the memory of six back to the kernel and
faults it in again in the next round. The bytes filled are the same in every run, so with higher
thresholds (MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_) the rounds cost the same.
An argument fixes the number of rounds that allocate six at a time.
"""

import time

from work import amount, churn, print_time

ROUNDS = 100

if __name__ == "__main__":
    batches = amount(0, ROUNDS)
    print_time(lambda: churn(batches, ROUNDS), time.process_time_ns)
