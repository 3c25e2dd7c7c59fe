"""Compute, and between the steps wait a random number of times until 16 KB written are safe on the disk.

The file lies in the working directory and has no name, so nothing of it is left. On tmpfs the wait costs nothing.
An argument fixes the number of times.
"""

import os
import sys
import time

STEPS = 20
BLOCK_BYTES = 16 * 1024
MODULUS = (1 << 521) - 1


def draw_syncs() -> int:
    """Draw evenly from none to one a step."""
    return int.from_bytes(os.urandom(4), "little") % (STEPS + 1)


def compute_and_write(file: int, syncs: int) -> None:
    """Compute and write the same whatever `syncs` is, and wait for the disk that often, evenly spread."""
    block = bytes(BLOCK_BYTES)
    done = 0
    for step in range(STEPS):
        pow(3, MODULUS - 2, MODULUS)
        os.pwrite(file, block, 0)
        if (step + 1) * syncs // STEPS > done:
            done += 1
            os.fdatasync(file)


def main(arguments: list[str]) -> None:
    """Run once and print the time of it all."""
    syncs = int(arguments[0]) if arguments else draw_syncs()
    file = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
    os.write(file, bytes(BLOCK_BYTES))
    os.fsync(file)  # the blocks are there before the clock starts
    started = time.perf_counter_ns()
    compute_and_write(file, syncs)
    print(f"time_ms {(time.perf_counter_ns() - started) / 1e6:.4f}")
    os.close(file)


if __name__ == "__main__":
    main(sys.argv[1:])
