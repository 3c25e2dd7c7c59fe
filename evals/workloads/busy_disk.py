"""Write 16 KB and wait until they are safe on the disk, four times, while another process writes there now and then.

The other one runs around the whole diagnosis (`busy_disk.py neighbour FOLDER`), and writes megabytes at random
moments. The program writes to a file without a name in its working directory; on tmpfs it waits for nobody.
An argument, `buffered`, leaves the waiting out.
"""

import os
import sys
import time

WRITES = 4
BLOCK_BYTES = 16 * 1024
MODULUS = (1 << 521) - 1
MEGABYTE = 1 << 20
BURST_MB, PAUSE_MS = (16, 96), (50, 300)


def main(arguments: list[str]) -> None:
    """Run once and print the time of the writing, or be the neighbour."""
    if arguments[:1] == ["neighbour"]:
        be_neighbour(arguments[1], os.getppid())
        return
    block = bytes(BLOCK_BYTES)
    file = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
    started = time.perf_counter_ns()
    for _ in range(WRITES):
        pow(3, MODULUS - 2, MODULUS)
        os.write(file, block)
        if arguments != ["buffered"]:
            os.fdatasync(file)
    print(f"time_ms {(time.perf_counter_ns() - started) / 1e6:.4f}")
    os.close(file)


def be_neighbour(folder: str, parent: int) -> None:
    """Write and sync in bursts at random moments, until whoever started it is gone."""
    file = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600)
    megabyte = os.urandom(MEGABYTE)
    print("ready", flush=True)
    while os.getppid() == parent:
        for place in range(drawn(BURST_MB)):
            os.pwrite(file, megabyte, place * MEGABYTE)
        os.fdatasync(file)
        os.ftruncate(file, 0)
        time.sleep(drawn(PAUSE_MS) / 1e3)


def drawn(bounds: tuple[int, int]) -> int:
    """Draw a number between two."""
    least, most = bounds
    return least + int.from_bytes(os.urandom(4), "little") % (most - least + 1)


if __name__ == "__main__":
    main(sys.argv[1:])
