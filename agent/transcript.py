"""The transcript: hash-chained canonical events; reading it back equals having been there.

One event a line, as canonical JSON (sorted keys, no blanks, no NaN). `hash` is the SHA-256 of the line without it;
`previous` is the hash of the line before. No time of day or process id is in it (those go to `timing.jsonl`), and of
paths only those of the program; how much of the budget is used is in it, since decisions depend on that. A chain cannot
show that its tail was cut off, so the last event names the count and the tip.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from ..knowledge.errors import VgoError
from ..knowledge.files import first
from ..knowledge.shape import Frozen, is_empty, is_none
from ..tools.durable import sync, write
from ..tools.subject import NO_PLAN, Limits, Subject, TrialPlan
from .model.facts import ModelFacts, Said

GENESIS = "0" * 64
FORMAT = 1
Standing = Literal["", "grant process", "deny system"]
"""What an answer says of later questions: yes to what needs no system change, no to every system change."""


class Body(Frozen):
    """What happened; frozen."""


class TimedBody(Body):
    """What happened, and when by the clock of the budget."""

    elapsed_s: float | None = Field(default=None, exclude_if=is_none)
    """Seconds of the budget used so far, at the end with the report; None where no clock ran."""


class RunStart(Body):
    """What is diagnosed, with what."""

    kind: Literal["run_start"] = "run_start"
    format: int = FORMAT
    subject: Subject
    limits: Limits
    planner: str
    machine: str
    """Artefact: facts about the system under test."""
    knowledge: str
    """Digest of the knowledge base."""
    schemas: str
    """Digest of the tools' argument schemas."""
    plan: TrialPlan = NO_PLAN
    model: ModelFacts | None = Field(default=None, exclude_if=is_none)
    """The language model that is asked, where one is."""


class ExperimentStart(Body):
    """A process begins, or goes on with, what runs a program and is no diagnosis; its rows are in a log."""

    kind: Literal["experiment_start"] = "experiment_start"
    experiment: str
    """Name of its kind."""
    subject: Subject
    machine: str
    """Artefact: facts about the system under test."""


class Decision(Body):
    """What the planner chose among what was legal."""

    kind: Literal["decision"] = "decision"
    call_id: str
    tool: str
    title: str = Field(default="", exclude_if=is_empty)
    """As the tool names itself for people; empty where there is no such tool."""
    arguments: dict[str, Any]
    why: str
    origin: str
    """The planner that chose."""
    legal: tuple[str, ...]
    """Tools that were legal at that moment."""
    said: Said | None = Field(default=None, exclude_if=is_none)
    """What a language model wrote for it, where one was asked."""


class Approval(Body):
    """Whether a mitigation may be applied, and who said so."""

    kind: Literal["approval"] = "approval"
    call_id: str
    granted: bool
    by: Literal["policy", "user"]
    scope: str
    reason: str = ""
    standing: Standing = Field(default="", exclude_if=is_empty)
    """What else the answer holds for, up to the verdict."""


class ToolStart(TimedBody):
    """Written before a call does anything: a call with a start and no result was cut off."""

    kind: Literal["tool_start"] = "tool_start"
    call_id: str


class ToolEnd(TimedBody):
    """What a call gave: a result, or the error that the planner can mend."""

    kind: Literal["tool_end"] = "tool_end"
    call_id: str
    result: dict[str, Any] | None = None
    error: str = ""
    artefacts: dict[str, str] = {}
    """Name to SHA-256."""


class LimitsChanged(TimedBody):
    """The user changed how far to go while the run went on, or after its verdict; from here on these hold."""

    kind: Literal["limits_changed"] = "limits_changed"
    limits: Limits


class VerdictGiven(Body):
    """The answer, and the events it rests on."""

    kind: Literal["verdict"] = "verdict"
    verdict: str
    """Its title."""
    evidence: tuple[int, ...]
    """Sequence numbers."""


class RunEnd(TimedBody):
    """Closes the transcript."""

    kind: Literal["run_end"] = "run_end"
    status: Literal["finished", "interrupted", "failed"]
    reason: str = ""
    count: int
    """Events before this one."""
    tip: str
    """Hash of the event before this one."""
    outputs: dict[str, str] = {}
    """Files of the run folder made from the events, by SHA-256."""


EventBody = (
    RunStart | ExperimentStart | LimitsChanged | Decision | Approval | ToolStart | ToolEnd | VerdictGiven | RunEnd
)


class Event(Frozen):
    """A body in its place in the chain."""

    seq: int
    previous: str
    body: Annotated[EventBody, Field(discriminator="kind")]
    hash: str


def canonical(value: Any) -> bytes:
    """Render JSON in the one way that is hashed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode()


def chained(body: EventBody, seq: int, previous: str) -> Event:
    """Put a body at the end of a chain."""
    link = {"seq": seq, "previous": previous, "body": body.model_dump(mode="json")}
    return Event(seq=seq, previous=previous, body=body, hash=hashlib.sha256(canonical(link)).hexdigest())


def line(event: Event) -> bytes:
    """Render one event as its line."""
    return canonical(event.model_dump(mode="json")) + b"\n"


def parse(data: bytes, source: str) -> Iterator[Event]:
    """Read lines, checking each link; raise VgoError at the first line that does not fit."""
    previous = GENESIS
    for seq, text in enumerate(data.removesuffix(b"\n").split(b"\n") if data else ()):
        where = f"{source}, line {seq + 1}"
        try:
            event = Event.model_validate_json(text)
        except ValidationError as error:
            raise VgoError(f"{where} is not an event ({first(error)}); it was changed or cut.") from error
        if line(event) != text + b"\n":
            raise VgoError(f"{where} is not in canonical form; it was changed after it was written.")
        if (event.seq, event.previous) != (seq, previous) or chained(event.body, seq, previous).hash != event.hash:
            raise VgoError(f"{where} breaks the hash chain; it or a line before it was changed.")
        previous = event.hash
        yield event


def elapsed_s(events: Iterable[Event]) -> float:
    """Seconds of the budget used by the last event that says so; 0 where none does."""
    return max((getattr(event.body, "elapsed_s", None) or 0.0 for event in events), default=0.0)


class Transcript:
    """The events of one run, on disk as soon as they exist."""

    def __init__(self, path: Path | None, events: Iterable[Event] = (), elapsed_s: float = 0.0) -> None:
        """Hold events that are already on disk; use `open` or `in_memory`."""
        self.path = path
        self.events: list[Event] = list(events)
        self.elapsed_s = elapsed_s
        """Seconds of the budget that earlier processes have used, by the last event that says so."""

    @classmethod
    def in_memory(cls) -> Transcript:
        """Begin one that is kept nowhere, for a replay."""
        return cls(None)

    @classmethod
    def open(cls, path: Path) -> Transcript:
        """Read one to go on with: a torn last line, and the end record of an interrupted run, are taken off.

        One that is not there is empty, and made with its first event.

        A loss of power can leave zeros, which no event has, in the place of what was being written: they end it, too.
        """
        found = path.read_bytes() if path.exists() else b""
        whole = found.partition(b"\0")[0].rpartition(b"\n")[0]
        data = whole + b"\n" if whole else b""
        events = list(parse(data, str(path)))
        used_s = elapsed_s(events)
        if events and isinstance(end := events[-1].body, RunEnd) and end.status != "finished":
            events.pop()
        opened = cls(path, events, used_s)
        if b"".join(line(event) for event in events) != found:
            opened._replace()
        return opened

    def reopen(self, changed: LimitsChanged) -> None:
        """Put other limits in the place of the end record: the run goes on after its verdict."""
        assert self.ended
        self.events.pop()
        self.events.append(chained(changed, len(self.events), self.tip))
        self._replace()

    def _replace(self) -> None:
        """Write all events anew, at once."""
        assert self.path is not None
        write(self.path, b"".join(line(event) for event in self.events))

    @property
    def ended(self) -> bool:
        """Whether it is closed."""
        return bool(self.events) and isinstance(self.events[-1].body, RunEnd)

    @property
    def tip(self) -> str:
        """Hash of the last event."""
        return self.events[-1].hash if self.events else GENESIS

    def append(self, body: EventBody) -> Event:
        """Add an event; it is on disk when this returns.

        Where a signal or a full disk ends it early, the event is either whole on both sides or on none, so that what
        is appended afterwards (the end of an interrupted run) still follows what stands in the file.
        """
        event = chained(body, len(self.events), self.tip)
        kept = False
        try:
            if self.path is not None:
                _keep(self.path, line(event))
            kept = True
        finally:
            if kept or (self.path and self.path.exists() and self.path.read_bytes().endswith(line(event))):
                self.events.append(event)
        return event


def _keep(path: Path, text: bytes) -> None:
    """Append to a file, through to the disk."""
    try:
        with path.open("ab", buffering=0) as file:
            before = file.tell()
            try:
                if file.write(text) != len(text):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file.fileno())
                if not before:
                    sync(path.parent)
            except BaseException:  # the signal of a user who stops it, too
                if os.fstat(file.fileno()).st_size != before + len(text):
                    file.truncate(before)
                raise
    except OSError as error:
        raise VgoError(
            f"Cannot write {path} ({error.strerror}); free space there, then go on with `vgo-agent resume`."
        ) from error


def read(path: Path) -> list[Event]:
    """Read a transcript, checking the chain."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise VgoError(f"{path} cannot be read ({error.strerror}); give the folder of a run.") from error
    if data and not data.endswith(b"\n"):
        raise VgoError(f"{path} ends in the middle of a line; the run was cut off: `vgo-agent resume {path.parent}`.")
    return list(parse(data, str(path)))
