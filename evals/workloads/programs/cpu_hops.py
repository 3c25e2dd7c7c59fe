"""Copy a warm buffer in fixed rounds, and hop to another allowed CPU before a random number of them.

After a hop the buffer lies modified in the caches of the CPU left behind, so the next copy is slow. Half of the runs
hop a few times, the others often. Pinned to one CPU the program has nowhere to hop.
An argument fixes the number of hops.
"""

import time

from work import amount, chance, copy_and_hop, print_time

if __name__ == "__main__":
    hops = amount(0, 7) if chance(0.5) else amount(40, 139)
    print_time(lambda: copy_and_hop(hops, rounds=150), time.process_time_ns)
