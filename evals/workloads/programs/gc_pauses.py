"""Make and drop 60000 small lists; a random share of them hold themselves, and only the garbage collector frees those.

The rest is freed at once, when its last reference goes. How often the collector runs is nobody's business but
the interpreter's: no counter of the system shows it. An argument fixes the share in percent.
"""

import gc
import time

from work import amount, print_time

LISTS = 60_000
LIVE_LISTS = 3_000


def make_and_drop(share: int) -> None:
    """Make all lists; `share` percent of them, evenly spread, hold themselves."""
    owed = 0
    for _ in range(LISTS):
        owed += share
        fresh: list[object] = [None]
        if owed >= 100:
            owed -= 100
            fresh[0] = fresh


if __name__ == "__main__":
    share = amount(0, 100)
    live = [[None] for _ in range(LIVE_LISTS)]
    make_and_drop(100)  # the memory for the garbage is there before the clock starts, whatever the share
    gc.collect()
    print_time(lambda: make_and_drop(share), time.process_time_ns)
    live.clear()
