"""Programs for which the kernel has to provide memory, or another CPU to fill its caches; times are of the CPU.

The first argument names the program; those behind it fix what is otherwise drawn.
"""

from __future__ import annotations

import os
import time

from work import amount, chance, churn, drawn, due, print_time, run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PAGE_BYTES, MEGABYTE = 4096, 1 << 20
M_MMAP_THRESHOLD = -3
FRESH_MB = 4
BLOCKS, SMALL, LEAST, MOST = 600, 64 << 10, 256 << 10, 4 << 20
WARM_BYTES = 1_400_000


def page_faults() -> None:
    """Touch every page of 4 MB blocks fresh from malloc, a random 16 to 128 MB in all: each 4 KB costs a page fault.

    With huge pages (GLIBC_TUNABLES=glibc.malloc.hugetlb=1, or THP always) 2 MB cost one fault.
    Argument: the megabytes.
    """
    size = FRESH_MB * MEGABYTE - PAGE_BYTES  # with malloc's header the mapping is a whole number of huge pages
    time_touching([size] * (amount(16, 128) // FRESH_MB), size)


def malloc_sizes() -> None:
    """Allocate, use and free 600 blocks of 64 KB to 4 MB; how large most of them are is drawn anew in each run.

    Only the first 64 KB of a block are used, so the work is the same. A small block stays in malloc's heap; a large one
    is mapped afresh and given back when it is freed, so that each faults in again. malloc told to keep its memory maps
    nothing; huge pages make it worse, since 2 MB are cleared where 64 KB are used. Argument: percent of large blocks.
    """
    large = BLOCKS * amount(0, 100) // 100
    time_touching([drawn(LEAST, MOST) if due(block, large, BLOCKS) else SMALL for block in range(BLOCKS)], SMALL)


def malloc_churn() -> None:
    """Allocate, fill and free 256 KB blocks; in a random number of rounds six at a time instead of one by one.

    glibc keeps one freed block at the top of its heap, but gives the memory of six back to the kernel and faults it in
    again in the next round. The bytes filled are the same in every run, so with higher thresholds
    (MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_) the rounds cost the same. Argument: the rounds with six at a time.
    """
    batches = amount(0, 100)
    print_time(lambda: churn(batches, 100), time.process_time_ns)


def cpu_hops() -> None:
    """Copy a warm buffer in fixed rounds, and hop to another allowed CPU before a random number of them.

    After a hop the buffer lies modified in the caches of the CPU left behind, so the next copy is slow. Half of the
    runs hop a few times, the others often. Pinned to one CPU the program has nowhere to hop. Argument: the hops.
    """
    hops = amount(0, 7) if chance(0.5) else amount(40, 139)
    print_time(lambda: copy_and_hop(hops, rounds=150), time.process_time_ns)


def faults_and_hops() -> None:
    """Two causes: malloc gives memory back, and the program hops over its CPUs, each a random number of times.

    malloc told to keep its memory removes the one part, a pinned program has nowhere to hop, and only both together
    leave nothing. The churn comes first: a freed large buffer would teach malloc to keep more.
    Arguments: the rounds that give memory back; the hops.
    """
    batches, hops = amount(0, 25), amount(0, 100, argument=2)

    def churn_and_hop() -> None:
        churn(batches, 25)
        copy_and_hop(hops, 100)

    print_time(churn_and_hop, time.process_time_ns)


def time_touching(sizes: Sequence[int], touched: int) -> None:
    """Write one byte in each page of the first `touched` bytes of each block, one block at a time.

    The C library's malloc maps every large block afresh, and returns it when freed.
    """
    import ctypes

    libc = ctypes.CDLL(None)
    libc.malloc.argtypes, libc.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
    libc.free.argtypes, libc.free.restype = [ctypes.c_void_p], None
    libc.mallopt(M_MMAP_THRESHOLD, 128 * 1024)  # the default, but no longer growing with what is freed

    def touch() -> None:
        ones = b"\1" * -(-touched // PAGE_BYTES)
        for size in sizes:
            address = libc.malloc(size)
            memoryview((ctypes.c_char * touched).from_address(address)).cast("B")[::PAGE_BYTES] = ones
            libc.free(address)

    print_time(touch, time.process_time_ns)


def copy_and_hop(hops: int, rounds: int) -> None:
    """Do the same copies whatever `hops` is; hop to another allowed CPU before `hops` of them, evenly spread."""
    cpus = sorted(os.sched_getaffinity(0))
    warm = memoryview(bytearray(WARM_BYTES))
    half = WARM_BYTES // 2
    done = 0
    for step in range(rounds):
        if len(cpus) > 1 and due(step, hops, rounds):
            done += 1
            os.sched_setaffinity(0, {cpus[done % len(cpus)]})
        warm[:half] = warm[half:]
        warm[half:] = warm[:half]


if __name__ == "__main__":
    run(page_faults, malloc_sizes, malloc_churn, cpu_hops, faults_and_hops)
