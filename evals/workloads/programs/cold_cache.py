"""Read a 20 MB file, and in 30 % of the runs drop it from the page cache at the end.

The run after that finds the file cold and waits for the disk.
Arguments: FILE [evict|keep]; the second fixes the choice.
"""

import sys

from work import chance, drop_from_page_cache, open_input, print_time, read_all


def main(arguments: list[str]) -> None:
    """Run once and print the time of the reading; what is evicted hits the next run."""
    file = open_input(arguments)
    evict = arguments[1] == "evict" if arguments[1:] else chance(0.3)
    print_time(lambda: read_all(file))
    if evict:
        drop_from_page_cache(file)


if __name__ == "__main__":
    main(sys.argv[1:])
