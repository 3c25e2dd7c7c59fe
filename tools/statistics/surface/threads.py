"""Linear algebra of models with one thread: theirs are small matrices, and waiting for a second thread costs more."""

from __future__ import annotations

from contextlib import AbstractContextManager

from threadpoolctl import threadpool_limits


def one_thread() -> AbstractContextManager[object]:
    """Hold BLAS to one thread; on a busy machine threads that spin for each other took ten times the CPU time."""
    limits: AbstractContextManager[object] = threadpool_limits(limits=1)
    return limits
