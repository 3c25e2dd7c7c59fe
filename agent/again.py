"""A command of ours for the program of an earlier run, started and judged as it was there."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from ..tools.subject import LOCAL, Subject


def again(command: str, words: tuple[str, ...], subject: Subject) -> str:
    """Give a line that can be typed."""
    program = (" ".join(subject.command),) if subject.shell else subject.command
    return shlex.join(("vgo-agent", command, *words, *_options(subject), "--", *program))


def _options(subject: Subject) -> Iterator[str]:
    if subject.shell:
        yield "--shell"
    for flag, value in (("--metric", subject.metric), ("--per-iteration", subject.per_iteration)):
        yield from (flag, value) if value is not None else ()
    if subject.metric is not None and subject.unit:
        yield from ("--unit", subject.unit)
    if not subject.lower_is_better:
        yield "--higher-is-better"
    if subject.launcher != LOCAL:
        yield from ("--launcher", subject.launcher)
    if subject.timeout_s is not None:
        yield from ("--timeout", f"{subject.timeout_s:g}")
