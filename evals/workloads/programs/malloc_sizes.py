"""Allocate, use and free 600 blocks of 64 KB to 4 MB; how large most of them are is drawn anew in each run.

Only the first 64 KB of a block are used, so the work is the same. A small block stays in malloc's heap; a large one
is mapped afresh and given back when it is freed, so that each faults in again. malloc told to keep its memory maps
nothing; huge pages make it worse, since 2 MB are cleared where 64 KB are used.
An argument fixes the share of large blocks in percent.
"""

import time

from malloc import allocator, touch
from work import amount, drawn, due, print_time

BLOCKS = 600
SMALL, LEAST, MOST = 64 << 10, 256 << 10, 4 << 20


if __name__ == "__main__":
    large = BLOCKS * amount(0, 100) // 100
    sizes = [drawn(LEAST, MOST) if due(block, large, BLOCKS) else SMALL for block in range(BLOCKS)]
    libc = allocator()
    print_time(lambda: touch(libc, sizes, SMALL), time.process_time_ns)
