"""Read a 20 MB file, and in 30 % of the runs drop it from the page cache at the end.

The run after that finds the file cold and waits for the disk.
Arguments: FILE [evict|keep]; the second fixes the choice.
"""

import sys

from work import chance, drop_from_page_cache, open_input, print_time, read_all

if __name__ == "__main__":
    file = open_input()
    evict = sys.argv[2] == "evict" if sys.argv[2:] else chance(0.3)
    print_time(lambda: read_all(file))
    if evict:
        drop_from_page_cache(file)
