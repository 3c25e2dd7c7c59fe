"""Compute, and start a random number of short commands, as a script does that finds so much to do.

Each start copies page tables, maps libraries and faults them in. Only other code starts fewer; no setting does.
The time is the CPU time of the program and of its commands.
An argument fixes the number of commands.
"""

import os
import resource
import time

from work import amount, compute, print_time

COMMAND = ("/bin/true",)


def compute_and_start(commands: int) -> None:
    """Compute, and start that many commands, one after the other, and wait for each."""
    compute(2)
    for _ in range(commands):
        os.waitpid(os.posix_spawn(COMMAND[0], COMMAND, {}), 0)


def cpu_ns() -> int:
    """Return the CPU time of this process and of its ended children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time_ns() + int((children.ru_utime + children.ru_stime) * 1e9)


if __name__ == "__main__":
    commands = amount(0, 16)
    print_time(lambda: compute_and_start(commands), cpu_ns)
