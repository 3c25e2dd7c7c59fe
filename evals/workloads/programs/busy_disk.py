"""Write 16 KB and wait until they are safe on the disk, four times, while another process writes there now and then.

The other one runs around the whole diagnosis (`neighbour.py disk`). The program writes to a file without a name in its
working directory; on tmpfs it waits for nobody. An argument, `buffered`, leaves the waiting out.
"""

import os
import sys

from work import print_time

MODULUS = (1 << 521) - 1


def write(file: int, safely: bool) -> None:
    """Compute a little, write and wait, four times."""
    for _ in range(4):
        pow(3, MODULUS - 2, MODULUS)
        os.write(file, bytes(16 * 1024))
        if safely:
            os.fdatasync(file)


if __name__ == "__main__":
    file = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
    print_time(lambda: write(file, sys.argv[1:] != ["buffered"]))
