"""A run at one moment: what was asked, every step, the arrays, the findings, the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ...tools.findings import Findings
from ...tools.record import NO_FILES, Record
from ...tools.results import ConcludeResult
from ...tools.statistics.shape.describe import DistributionShape
from ...tools.subject import Limits
from ...tools.verdict import Verdict
from ..record import record_of
from ..transcript import Event, LimitsChanged, RunEnd, RunStart, VerdictGiven, elapsed_s
from .measured import RunArrays
from .step import SessionStep, steps_of

Status = Literal["not begun", "going on", "finished", "interrupted", "failed"]
NO_LIMITS = Limits()
NOTHING = Findings(Record((), NO_FILES))


@dataclass(frozen=True)
class Cut:
    """Where slow begins, and which profiled runs are slow."""

    value: float
    """In the unit of the outcome."""
    slow: tuple[bool, ...]
    """Of the runs with layers that stand, in run order."""
    shape: DistributionShape
    """Of those runs."""


@dataclass(frozen=True, eq=False)
class SessionView:
    """Frozen; what steps gave is read by `findings`."""

    folder: str = ""
    command: str = ""
    unit: str = "s"
    outcome: str = "wall time"
    """What a run is judged by, in a word or two."""
    lower_is_better: bool = True
    limits: Limits = NO_LIMITS
    status: Status = "not begun"
    reason: str = ""
    """Why it was interrupted or failed."""
    steps: tuple[SessionStep, ...] = ()
    findings: Findings = NOTHING
    """Results of the calls that have ended, without their tables."""
    measured: tuple[RunArrays, ...] = ()
    """The runs of every measuring call in order; the last may go on."""
    verdict: Verdict | None = None
    plain: str = ""
    """The verdict in plain words."""
    """None before the run has one."""
    events: int = 0
    elapsed_s: float = 0.0
    """Seconds of the budget used at the last event that says so."""

    @property
    def current(self) -> SessionStep | None:
        """The step that was chosen or goes on."""
        return next((step for step in reversed(self.steps) if step.state in ("chosen", "going on")), None)

    @property
    def cut(self) -> Cut | None:
        """The cut that stands."""
        found = self.findings.labelled
        return Cut(found.classes.cut, tuple(found.classes.slow), found.shape) if found else None

    @property
    def modes(self) -> tuple[float, ...]:
        """Where the modes lie, of the runs that were labelled or, before that, measured; in the unit of the outcome."""
        found = self.findings.labelled or self.findings.measured
        return tuple(mode.position for mode in found.shape.modes) if found else ()

    @property
    def used_s(self) -> float:
        """Seconds of the budget: by the clock at the last event, with the program's of the call that goes on since."""
        live = (one.columns["wall_s"] for one in self.measured if one.going_on and len(one))
        recorded_s = self.elapsed_s or sum(step.seconds or 0.0 for step in self.steps)
        return recorded_s + float(sum(column.sum() for column in live))

    @property
    def runs(self) -> int:
        """Runs so far."""
        return sum(len(one) for one in self.measured)


EMPTY = SessionView()


def view_of(
    events: Sequence[Event], rows: Sequence[RunArrays] = (), folder: str = "", findings: Findings | None = None
) -> SessionView:
    """Compute the view from the events so far and the runs that were measured; `findings`: where they were read."""
    start = next((event.body for event in events if isinstance(event.body, RunStart)), None)
    if start is None:
        return SessionView(folder=folder, measured=tuple(rows))
    found = Findings(record_of(events, NO_FILES)) if findings is None else findings
    end = events[-1].body
    concluded = found.last(ConcludeResult).result if any(isinstance(one.body, VerdictGiven) for one in events) else None
    changed = [event.body.limits for event in events if isinstance(event.body, LimitsChanged)]
    subject = start.subject
    return SessionView(
        folder=folder,
        command=" ".join(subject.command),
        unit=subject.unit,
        outcome=subject.name,
        lower_is_better=subject.lower_is_better,
        limits=changed[-1] if changed else start.limits,
        status=end.status if isinstance(end, RunEnd) else "going on",
        reason=end.reason if isinstance(end, RunEnd) else "",
        steps=steps_of(events),
        findings=found,
        measured=tuple(rows),
        verdict=concluded.verdict if concluded else None,
        plain=concluded.plain if concluded else "",
        events=len(events),
        elapsed_s=elapsed_s(events),
    )
