"""Compute, and start a random number of short commands, as a script does that finds so much to do.

Each start copies page tables, maps libraries and faults them in. Only other code starts fewer; no setting does.
The time is the CPU time of the program and of its commands.
An argument fixes the number of commands.
"""

import os
import resource
import sys
import time

COMMAND = ("/bin/true",)
MOST = 16
MODULUS = (1 << 1279) - 1
POWERS = 2


def draw_commands() -> int:
    """Draw evenly from none to the most."""
    return int.from_bytes(os.urandom(4), "little") % (MOST + 1)


def start(commands: int) -> None:
    """Start that many commands, one after the other, and wait for each."""
    for _ in range(commands):
        os.waitpid(os.posix_spawn(COMMAND[0], COMMAND, {}), 0)


def cpu_ms() -> float:
    """Return the CPU time of this process and of its ended children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() * 1e3 + (children.ru_utime + children.ru_stime) * 1e3


def main(arguments: list[str]) -> None:
    """Run once and print the time of the arithmetic and the commands."""
    commands = int(arguments[0]) if arguments else draw_commands()
    started = cpu_ms()
    for base in range(3, 3 + POWERS):
        pow(base, MODULUS - 2, MODULUS)
    start(commands)
    print(f"time_ms {cpu_ms() - started:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
