"""Jobs of ours beside the program: they compute or move memory, and end with us."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from ...knowledge.errors import VgoError
from .setting import Background

MEMORY = 64 << 20
"""Bytes that the job that moves memory copies, more than most caches hold."""
_HEAD = "import os,sys\nparent=os.getppid()\n"
_READY = "sys.stdout.write('r'); sys.stdout.flush()\n"
# Looking at the parent now and then ends the job when the agent is killed.
_JOBS = {
    "compute": f"{_HEAD}x=1\n{_READY}while os.getppid()==parent:\n for _ in range(100000): x=x*3%1000003\n",
    "memory": f"{_HEAD}a=bytearray({MEMORY}); b=bytearray({MEMORY})\n{_READY}while os.getppid()==parent: a[:]=b\n",
}


@contextmanager
def beside(background: Background | None) -> Iterator[None]:
    """Keep the jobs of a setting going; they are at work when the context begins, and gone when it has ended."""
    with ExitStack() as undo:
        for cpu in (background.cpus or (None,)) if background else ():
            assert background is not None
            undo.enter_context(_job(background.work, cpu))
        yield


@contextmanager
def _job(work: str, cpu: int | None) -> Iterator[None]:
    job = subprocess.Popen([sys.executable, "-IS", "-c", _JOBS[work]], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        if cpu is not None:
            _pin(job.pid, cpu)
        assert job.stdout is not None
        if job.stdout.read(1) != b"r":
            raise VgoError(f"The {work} job beside the program could not start: leave its factor out with --factors.")
        yield
    finally:
        job.kill()
        job.wait()
        if job.stdout:
            job.stdout.close()


def _pin(pid: int, cpu: int) -> None:
    try:
        os.sched_setaffinity(pid, {cpu})
    except OSError as error:
        raise VgoError(
            f"CPU {cpu} cannot be used by a background job ({error.strerror}): allow it, or leave smt out."
        ) from error
