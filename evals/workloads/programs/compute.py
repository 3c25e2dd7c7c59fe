"""Compute 20 ms, and let whoever runs beside it make that longer. An argument, `last`, takes the last allowed CPU."""

import os
import sys

from work import compute, print_time


def main(arguments: list[str]) -> None:
    """Run once and print the time of the arithmetic."""
    if arguments == ["last"]:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print_time(lambda: compute(5))


if __name__ == "__main__":
    main(sys.argv[1:])
