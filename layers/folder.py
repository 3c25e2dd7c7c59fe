"""The folder of a wrapper's files, named so that `vgo-agent restore` knows it when its agent was killed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def own_folder(what: str) -> tempfile.TemporaryDirectory[str]:
    """Make an empty folder; its name tells the process and when that began, in clock ticks after boot."""
    start = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    prefix = f"vgo-agent-{os.getpid()}-{start}-{what}-"
    return tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)
