"""A run at one moment: what was asked, every step, the arrays, the findings, the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...tools.subject import Limits
from ...tools.verdict import Verdict, from_json
from ..transcript import Event, LimitsChanged, RunEnd, RunStart, VerdictGiven, elapsed_s
from .measured import RunArrays
from .step import SessionStep, steps_of

Status = Literal["not begun", "going on", "finished", "interrupted", "failed"]
NO_LIMITS = Limits()


@dataclass(frozen=True)
class Cut:
    """Where slow begins, and which profiled runs are slow."""

    value: float
    """In the unit of the outcome."""
    slow: tuple[bool, ...]
    """Of the runs with layers that stand, in run order."""
    shape: Mapping[str, Any]
    """Of those runs, as `describe` gives it."""


@dataclass(frozen=True, eq=False)
class SessionView:
    """Frozen; results are as they stand in the transcript, so that they can be read without their libraries."""

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
    measured: tuple[RunArrays, ...] = ()
    """The runs of every measuring call in order; the last may go on."""
    verdict: Verdict | None = None
    plain: str = ""
    """The verdict in plain words."""
    """None before the run has one."""
    events: int = 0
    elapsed_s: float = 0.0
    """Seconds of the budget used at the last event that says so."""

    def result(self, tool: str) -> Mapping[str, Any] | None:
        """Give the last result of a tool; None before it has one."""
        return next(
            (step.result for step in reversed(self.steps) if step.tool == tool and step.result is not None), None
        )

    @property
    def current(self) -> SessionStep | None:
        """The step that was chosen or goes on."""
        return next((step for step in reversed(self.steps) if step.state in ("chosen", "going on")), None)

    @property
    def cut(self) -> Cut | None:
        """The cut that stands."""
        found = self.result("label")
        if found is None:
            return None
        classes = found["classes"]
        return Cut(classes["cut"], tuple(classes["slow"]), found["shape"])

    @property
    def modes(self) -> tuple[float, ...]:
        """Where the modes lie, of the runs that were labelled or, before that, measured; in the unit of the outcome."""
        measured = self.result("measure")
        shape = self.cut.shape if self.cut else measured.get("shape", {}) if measured else {}
        return tuple(mode["position"] for mode in shape.get("modes", ()))

    @property
    def tree(self) -> Mapping[str, Any] | None:
        """The tree, as `fit_tree` gives it."""
        found = self.result("fit_tree")
        return found["tree"] if found else None

    @property
    def ranked(self) -> tuple[Mapping[str, Any], ...]:
        """Factors, most important first."""
        found = self.result("rank_factors")
        return tuple(found["factors"]) if found else ()

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


def view_of(events: Sequence[Event], rows: Sequence[RunArrays] = (), folder: str = "") -> SessionView:
    """Compute the view from the events so far and the runs that were measured."""
    start = next((event.body for event in events if isinstance(event.body, RunStart)), None)
    if start is None:
        return SessionView(folder=folder, measured=tuple(rows))
    steps = steps_of(events)
    end = events[-1].body
    concluded = [step.result for step in steps if step.tool == "conclude" and step.result is not None]
    given = any(isinstance(event.body, VerdictGiven) for event in events)
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
        steps=steps,
        measured=tuple(rows),
        verdict=from_json(concluded[-1]["verdict"]) if given else None,
        plain=concluded[-1]["plain"] if given else "",
        events=len(events),
        elapsed_s=elapsed_s(events),
    )
