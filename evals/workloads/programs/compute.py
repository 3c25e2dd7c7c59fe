"""Compute 20 ms, and let whoever runs beside it make that longer. An argument, `last`, takes the last allowed CPU."""

import os
import sys

from work import compute, print_time

if __name__ == "__main__":
    if sys.argv[1:] == ["last"]:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print_time(lambda: compute(5))
