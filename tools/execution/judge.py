"""Judge a run: its outcome, or in words why it does not count and whose failure it may be."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from ...layers.schema import Layer
from ...layers.wrapper import shortened
from ..statistics.values import LARGEST, SMALLEST, countable
from ..subject import Subject
from .launch import Run
from .samples import NoSamples, Sample, read_samples

_COMPLAINT = re.compile("error|fail|cannot|could not|unable|denied|not found|no such", re.IGNORECASE)


class RunOutcome(NamedTuple):
    """What a run gave, or why it does not count."""

    outcome: float | None
    """None where it does not count, and where its samples have each their own."""
    failure: str = ""
    samples: Sequence[Sample] = ()
    short: str = ""
    """The failure in a few words, for tables and verdicts: `exit 1, OSError: no space`."""


def judge(run: Run, subject: Subject, through: Sequence[Layer] = (), limit_s: float | None = None) -> RunOutcome:
    """Read a run's outcome or its samples, or the reason why the run does not count.

    `through` are the layers and the launcher that the program was started through, the outermost first: what looks like
    the program's failure may be theirs, so the reason names them. `limit_s` is when the run would have been ended.
    """
    outcome, failure, samples, short = _outcome(run, subject, limit_s or subject.timeout_s)
    if not failure:
        return RunOutcome(outcome, "", samples)
    short = short or failure
    if run.timed_out and not all(layer.here for layer in through):
        failure += " here, while what the launcher started elsewhere may go on"
    theirs = next((layer for layer in through if run.exit_code in layer.exits and not run.timed_out), None)
    if theirs is not None:
        whole = f"{theirs.named} ended with {run.exit_code}, {theirs.exits[run.exit_code]}{_said(run)}"
        return RunOutcome(None, whole, short=whole)
    cure = next((cure for layer in through if (cure := layer.cure_for(run.error))), "")
    return RunOutcome(None, f"the program{_started(through)} {failure}{f': {cure}' * bool(cure)}", short=short)


def _outcome(run: Run, subject: Subject, limit_s: float | None) -> RunOutcome:
    """Give the outcome or the samples, or the words that follow `the program`."""
    if run.timed_out:
        why = "--timeout" if limit_s == subject.timeout_s else "far longer than the baseline, or than the budget"
        short = f"{'stopped itself (SIGSTOP), ' * run.stopped}did not end within {limit_s:.3g} s"
        return RunOutcome(None, f"{short} ({why}) and was ended with its children", short=short)
    if run.stopped_for_terminal:
        return RunOutcome(None, "stopped because it wants a terminal; give it its input in a file or as arguments")
    if run.exit_code != 0:
        how = f"was ended by signal {-run.exit_code}" if run.exit_code < 0 else f"exited with {run.exit_code}"
        said = _last_line(run)
        short = f"signal {-run.exit_code}" if run.exit_code < 0 else f"exit {run.exit_code}"
        return RunOutcome(None, how + _said(run), short=f"{short}, {said}" if said else short)
    if subject.metric is None:
        return RunOutcome(run.wall_ns / 1e9)
    if subject.per_iteration is not None and run.output_left_out:
        printed, kept = (len(run.output) + run.output_left_out) / 1e6, len(run.output) / 1e6
        return RunOutcome(
            None, f"printed {printed:.0f} MB, of which {kept:.0f} MB are kept: samples would be lost; print less"
        )
    if subject.per_iteration is not None:
        return _samples(run.output, subject.per_iteration, subject.metric)
    return _metric(run.output, subject.metric, run.output_left_out)


def _started(through: Sequence[Layer]) -> str:
    names = " and ".join(layer.named for layer in through)
    return f", started through {names}," if names else ""


def _said(run: Run) -> str:
    return f" and said: {said}" if (said := _last_line(run)) else ""


def _last_line(run: Run) -> str:
    """The last line that tells of an error, else the last of words: docker ends with advice, mpirun with dashes."""
    lines = run.error.decode(errors="replace").strip().splitlines()
    said = [line for line in lines if any(map(str.isalnum, line))] or lines
    said = [line for line in said if _COMPLAINT.search(line)] or said
    return shortened(_printable(said[-1])) if said else ""


def _samples(output: bytes, form: str, metric: str) -> RunOutcome:
    try:
        return RunOutcome(None, "", read_samples(output, form, metric))
    except NoSamples as broken:
        return RunOutcome(None, _printable(str(broken)))


def _metric(output: bytes, pattern: str, left_out: int = 0) -> RunOutcome:
    """Read the last match as the outcome: what a program prints last is its total; of much, the middle is left out."""
    found = re.findall(pattern.encode(), output, re.MULTILINE)
    if not found:
        text = output.decode(errors="replace").strip()
        seen = f"printed {_printable(text)[:120]!r}" if text else "printed nothing on standard output"
        where = f", and {left_out / 1e6:.0f} MB more that are not kept" if left_out else ""
        return RunOutcome(None, f"{seen}{where}, where --metric {pattern!r} finds nothing")
    last = found[-1][0] if isinstance(found[-1], tuple) else found[-1]
    try:
        value = float(last)
    except ValueError:
        value = math.nan
    if not countable(value):
        said = _printable(last.decode(errors="replace"))[:60]
        bounds = f" from {SMALLEST:g} to {LARGEST:g}" * math.isfinite(value)
        return RunOutcome(None, f"printed {said!r} where --metric expects a number{bounds}")
    return RunOutcome(value)


def _printable(text: str) -> str:
    """Keep a hostile or binary output from steering the terminal."""
    return "".join(char if char.isprintable() else " " for char in text)
