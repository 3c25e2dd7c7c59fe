"""Sent as text and run in a Dask worker before anything of vgo-agent is asked of it; the standard library only.

As text it can be run by any version of Python, and it can say which one that is.
"""

from __future__ import annotations

import importlib.metadata
import os
import pathlib
import platform
import time


def look() -> dict[str, object]:
    """Say which host this is and which versions it has."""
    clock_s = time.time()
    return {
        "host": os.uname().nodename,
        "boot": pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        "kernel": os.uname().release,
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("vgo-agent", "distributed")},
        "clock_s": clock_s,
    }


def version(name: str) -> str:
    """Version of a package; empty where it is not installed."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""
