"""One call as a watcher sees it: what was chosen and why, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..transcript import Approval, Decision, Event, ToolEnd, ToolStart

State = Literal["chosen", "going on", "done", "failed", "denied"]


@dataclass(frozen=True)
class SessionStep:
    """A call and its state."""

    call_id: str
    tool: str
    arguments: Mapping[str, Any]
    why: str
    """The reason that the planner gave."""
    origin: str
    """Who chose it: a planner, or `user`."""
    begun: int
    """Event of the decision."""
    name: str = ""
    """As the tool names itself for people."""
    state: State = "chosen"
    summary: str = ""
    """What it gave, or why not, in a sentence."""
    result: Mapping[str, Any] | None = None
    approval: Approval | None = None
    seq: int | None = None
    """Event that ended it."""

    @property
    def title(self) -> str:
        """Name the step as a person would."""
        about = self.arguments.get("mitigation") or self.arguments.get("factor") or self.arguments.get("call") or ""
        batch = ", batch 2" if self.arguments.get("batch") == 2 else ""
        return f"{self.name or in_words(self.tool)} {about}{batch}".strip()

    @property
    def seconds(self) -> float | None:
        """Of the user's program; None for a call that does not run it, or goes on."""
        spent = (self.result or {}).get("spent_s")
        return None if spent is None else float(spent)


def in_words(tool: str) -> str:
    """Name a tool that has not been chosen yet, which is all that is known of it here."""
    return tool.replace("_", " ").capitalize()


def steps_of(events: Sequence[Event]) -> tuple[SessionStep, ...]:
    """Read every call, in order."""
    found: dict[str, SessionStep] = {}
    for event in events:
        body = event.body
        if isinstance(body, Decision):
            said = (body.tool, body.arguments, body.why, body.origin)
            found[body.call_id] = SessionStep(body.call_id, *said, event.seq, body.title)
        elif isinstance(body, ToolStart):
            found[body.call_id] = replace(found[body.call_id], state="going on")
        elif isinstance(body, Approval):
            found[body.call_id] = _answered(found[body.call_id], body, event.seq)
        elif isinstance(body, ToolEnd):
            found[body.call_id] = _ended(found[body.call_id], body, event.seq)
    return tuple(found.values())


def _answered(step: SessionStep, answer: Approval, seq: int) -> SessionStep:
    if answer.granted:
        return replace(step, approval=answer)
    return replace(step, approval=answer, state="denied", summary=f"not approved: {answer.reason}", seq=seq)


def _ended(step: SessionStep, end: ToolEnd, seq: int) -> SessionStep:
    if end.result is None:
        return replace(step, state="failed", summary=end.error, seq=seq)
    summary = str(end.result.get("summary", ""))
    return replace(step, state="done", summary=summary, result=end.result, seq=seq)
