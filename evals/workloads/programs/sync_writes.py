"""Compute, and between the steps wait a random number of times until 16 KB written are safe on the disk.

The file lies in the working directory and has no name, so nothing of it is left. On tmpfs the wait costs nothing.
An argument fixes the number of times.
"""

import os

from work import amount, due, print_time

STEPS = 20
BLOCK_BYTES = 16 * 1024
MODULUS = (1 << 521) - 1


def compute_and_write(file: int, syncs: int) -> None:
    """Compute and write the same whatever `syncs` is, and wait for the disk that often, evenly spread."""
    block = bytes(BLOCK_BYTES)
    for step in range(STEPS):
        pow(3, MODULUS - 2, MODULUS)
        os.pwrite(file, block, 0)
        if due(step, syncs, STEPS):
            os.fdatasync(file)


if __name__ == "__main__":
    syncs = amount(0, STEPS)
    file = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
    os.write(file, bytes(BLOCK_BYTES))
    os.fsync(file)  # the blocks are there before the clock starts
    print_time(lambda: compute_and_write(file, syncs))
