"""A thread of this process that starts helper programs, so that no perf event of ours counts what they do."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any


@functools.cache
def thread() -> ThreadPoolExecutor:
    """Start the thread; whoever opens inherited perf events calls this first, for later threads inherit them too."""
    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="aside")
    executor.submit(int).result()
    return executor


def popen(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a helper program in a session of its own, so that Ctrl-C reaches us alone."""

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, start_new_session=True, **options)

    return thread().submit(start).result()
