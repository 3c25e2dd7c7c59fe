"""Copy a warm buffer in fixed rounds, and hop to another allowed CPU before a random number of them.

After a hop the buffer lies modified in the caches of the CPU left behind, so the next copy is slow.
Pinned to one CPU the program has nowhere to hop. An argument fixes the number of hops.
"""

import sys
import time

from work import chance, copy_and_hop, drawn, print_time


def main(arguments: list[str]) -> None:
    """Run once and print the time of the copies; half of the runs hop a few times, the others many."""
    hops = int(arguments[0]) if arguments else drawn(0, 7) if chance(0.5) else drawn(40, 139)
    print_time(lambda: copy_and_hop(hops, rounds=150), time.process_time_ns)


if __name__ == "__main__":
    main(sys.argv[1:])
