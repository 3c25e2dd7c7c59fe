"""Programs that wait for the disk. The first argument names the program, the next of those that read the file FILE.

Arguments behind these fix what is otherwise drawn. Files that are written lie in the working directory, and have no
name but where names are what costs, so nothing of them is left; on tmpfs nobody waits.
"""

from __future__ import annotations

import os
import sys

from work import amount, chance, compute, drawn, drop_from_page_cache, due, open_input, print_time, read_all, run

MODULUS = (1 << 521) - 1
PAGE_BYTES, WRITTEN, READ, MEGABYTE = 4096, 16 * 1024, 64 * 1024, 1 << 20
TOUCHED_MB, FILES = 8, 30


def cold_cache() -> None:
    """Read a 20 MB file, and in 30 % of the runs drop it from the page cache at the end.

    The run after that finds the file cold and waits for the disk. Arguments: FILE; evict or keep.
    """
    file = open_input()
    evict = sys.argv[2] == "evict" if sys.argv[2:] else chance(0.3)
    print_time(lambda: read_all(file))
    if evict:
        drop_from_page_cache(file)


def memory_limit() -> None:
    """Touch the pages of 8 MB of a mapped file, from a random place on, in a group whose memory does not hold the file.

    What does not fit (`memory_limited`) is dropped from the page cache and read back from the disk when it is touched.
    At its end each run reads the whole file, so that without the limit all of it is in memory for the next one.
    Arguments: FILE; the place, a number of megabytes, with which nothing else is read.
    """
    import mmap

    file = open_input()
    size = os.fstat(file).st_size
    begin = MEGABYTE * amount(0, size // MEGABYTE - TOUCHED_MB, argument=2)
    mapped = mmap.mmap(file, size, prot=mmap.PROT_READ)

    def touch() -> None:
        for page in range(begin, begin + TOUCHED_MB * MEGABYTE, PAGE_BYTES):
            mapped[page]

    print_time(touch)
    if not sys.argv[2:]:
        read_all(file)


def io_limit() -> None:
    """Read 64 KB at a time around the page cache, a random number of times, in a group that may read 60 times a second.

    The group is made around the whole diagnosis (`reads_limited`): the disk is idle, and the block layer holds the
    requests back. On tmpfs there is no device whose requests could be held back. Arguments: FILE; the number of reads.
    """
    import mmap

    file, reads = open_input(os.O_RDONLY | os.O_DIRECT), amount(0, 8, argument=2)

    def compute_and_read() -> None:
        blocks = os.fstat(file).st_size // READ
        buffer = mmap.mmap(-1, READ)  # begins at a page, as O_DIRECT wants
        compute(1)
        for _ in range(reads):
            os.preadv(file, [buffer], drawn(0, blocks - 1) * READ)

    print_time(compute_and_read)


def sync_writes() -> None:
    """Compute, and between 20 steps wait a random number of times until 16 KB written are safe on the disk.

    Argument: the number of times.
    """
    syncs = amount(0, 20)
    file = nameless()
    os.write(file, bytes(WRITTEN))
    os.fsync(file)  # the blocks are there before the clock starts
    print_time(lambda: compute_and_write(file, 20, syncs))


def temporary_files() -> None:
    """Write 30 small files, each safe before it gets its name: in 40 % of the runs in the working directory.

    In the others they lie in memory, as those of another machine of a pool do. Argument: here or memory.
    """
    here = sys.argv[1] == "here" if sys.argv[1:] else chance(0.4)
    folder = f"{'.' if here else '/dev/shm'}/vgo-{os.getpid()}"
    os.mkdir(folder)

    def write_all() -> None:
        for number in range(FILES):
            pow(3, MODULUS - 2, MODULUS)
            file = os.open(f"{folder}/new", os.O_CREAT | os.O_WRONLY, 0o600)
            os.write(file, bytes(PAGE_BYTES))
            os.fsync(file)
            os.close(file)
            os.rename(f"{folder}/new", f"{folder}/{number}")

    print_time(write_all)
    for name in os.listdir(folder):
        os.unlink(f"{folder}/{name}")
    os.rmdir(folder)


def busy_disk() -> None:
    """Write 16 KB and wait until they are safe on the disk, four times, while another process writes now and then.

    The other one runs around the whole diagnosis (`neighbour.py disk`). Argument: buffered, for no waiting.
    """
    file, syncs = nameless(), 0 if sys.argv[1:] == ["buffered"] else 4
    print_time(lambda: compute_and_write(file, 4, syncs, append=True))


def nameless() -> int:
    """Open a file without a name in the working directory."""
    return os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)


def compute_and_write(file: int, steps: int, syncs: int, append: bool = False) -> None:
    """Compute and write the same whatever `syncs` is, and wait for the disk that often, evenly spread."""
    block = bytes(WRITTEN)
    for step in range(steps):
        pow(3, MODULUS - 2, MODULUS)
        os.pwrite(file, block, step * WRITTEN if append else 0)
        if due(step, syncs, steps):
            os.fdatasync(file)


if __name__ == "__main__":
    run(cold_cache, memory_limit, io_limit, sync_writes, temporary_files, busy_disk)
