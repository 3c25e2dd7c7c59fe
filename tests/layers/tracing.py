"""Tracefs for tests: mounted where it is wanted, and unmounted after them."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

TRACEFS = Path("/sys/kernel/tracing")


@contextmanager
def tracefs_at(folder: Path) -> Iterator[None]:
    """Mount it on a folder, where it is not there already."""
    if os.geteuid() != 0:
        pytest.skip("mounting tracefs needs root")
    if (folder / "events").is_dir():
        yield
        return
    mounted = subprocess.run(["mount", "-t", "tracefs", "nodev", str(folder)], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"tracefs cannot be mounted: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def root_with_tracefs(folder: Path) -> Iterator[Path]:
    """Make a root whose /sys is the real one, but that has tracefs, so that the machine's own /sys stays as it is."""
    (folder / "sys/kernel/tracing").mkdir(parents=True)
    for part in ("devices", "bus"):
        (folder / "sys" / part).symlink_to(f"/sys/{part}")
    (folder / "proc").symlink_to("/proc")
    with tracefs_at(folder / "sys/kernel/tracing"):
        yield folder
