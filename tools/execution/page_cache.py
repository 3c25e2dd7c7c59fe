"""Bring the page cache into the state that a run is to find: written back, without the inputs, or with them."""

from __future__ import annotations

import os
from pathlib import Path

from ...knowledge.errors import VgoError
from .launch import Launch


def prepare_files(launch: Launch) -> None:
    """Bring the page cache into the state that a run is to find."""
    if launch.sync:
        os.sync()
    if launch.evict:
        evict(launch.evict)
    if launch.prewarm:
        prewarm(launch.prewarm)


def prewarm(files: tuple[Path, ...]) -> None:
    """Read the files into the page cache; /dev/null takes them without a copy."""
    with open(os.devnull, "wb", buffering=0) as nowhere:
        for file in files:
            try:
                with open(file, "rb", buffering=0) as source:
                    left = os.fstat(source.fileno()).st_size
                    os.posix_fadvise(source.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)
                    while left > 0 and (sent := os.sendfile(nowhere.fileno(), source.fileno(), None, left)):
                        left -= sent
            except OSError as error:
                raise VgoError(f"The input file {file} cannot be read ({error.strerror}): mend or drop it.") from error


def evict(files: tuple[Path, ...]) -> None:
    """Drop the files from the page cache; what is dirty is written first, since the kernel keeps it otherwise."""
    for file in files:
        try:
            source = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fdatasync(source)
                os.posix_fadvise(source, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(source)
        except OSError as error:
            raise VgoError(f"The input file {file} cannot be evicted ({error.strerror}): mend or drop it.") from error
