"""A trial run: outside the data, so that a broken command is told at once and caches get warm."""

from __future__ import annotations

from collections.abc import Callable

from ...knowledge.errors import VgoError
from ..subject import Subject
from .expected import FIRST_RUNS, NEVER, Deadline, Expected
from .judge import judge
from .spawn import Spawner
from .way import Way


def try_once(
    spawner: Spawner,
    way: Way,
    subject: Subject,
    on_started: Callable[[int], None] | None = None,
    deadline: Deadline = NEVER,
    before: Expected | None = None,
) -> Expected:
    """Run once; give what trials have shown.

    After others that ended well, one that fails or hangs says nothing: how often it does so is the baseline's to tell.
    """
    capture, usual_s = subject.metric is not None, before.limit_s() if before else None
    own_s = min((limit for limit in (subject.timeout_s, usual_s) if limit is not None), default=None)
    for _ in range(1 if subject.on_failure == "stop" else FIRST_RUNS):  # who fails now and then is to be explained
        limit_s = deadline.limit_s(own_s)
        run = spawner.run(way.launch, timeout_s=limit_s, capture=capture, on_started=on_started)
        if run.timed_out and limit_s != own_s:
            raise deadline.no_run(cut=before is None)
        if before and run.timed_out and own_s == usual_s:
            return before
        if not (failure := judge(run, subject, way.through).failure):
            return (before or Expected()).and_also(Expected(longest_s=run.wall_ns / 1e9))
        if before and before.longest_s and subject.on_failure != "stop":
            return before
    raise VgoError(f"A trial run failed: {failure}; run it by hand first.")
