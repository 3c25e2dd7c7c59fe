"""Touch every page of 4 MB blocks fresh from malloc, a random 16 to 128 MB in all: each 4 KB costs a page fault.

With huge pages (GLIBC_TUNABLES=glibc.malloc.hugetlb=1, or THP always) 2 MB cost one fault.
An argument fixes the megabytes.
"""

import time

from malloc import allocator, touch
from work import amount, print_time

LEAST, MOST = 16, 128
BLOCK_MB = 4
SIZE = (BLOCK_MB << 20) - 4096
"""Room for malloc's header, so that the mapping is a whole number of huge pages."""


if __name__ == "__main__":
    sizes = [SIZE] * (amount(LEAST, MOST) // BLOCK_MB)
    libc = allocator()
    print_time(lambda: touch(libc, sizes, SIZE), time.process_time_ns)
