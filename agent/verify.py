"""Check that a run folder says what it said when it was closed."""

from __future__ import annotations

from dataclasses import dataclass

from ..knowledge.errors import VgoError
from .record import bodies
from .run_folder import RunFolder
from .transcript import Event, ExperimentStart, RunEnd, RunStart, ToolEnd, read


@dataclass(frozen=True)
class Report:
    """What was checked, and the first difference."""

    ok: bool
    events: int
    artefacts: int
    outputs: int
    tip: str
    """Hash of the last event."""
    reported: str
    """Hash of the last event before the end record: the tip that the report and `ask` tell."""
    difference: str = ""
    note: str = ""
    """How it was checked, where there is more than one way."""


def verify(folder: RunFolder) -> Report:
    """Check the chain, the end record, every artefact and every file made from the events."""
    events: list[Event] = []
    try:
        events += read(folder.transcript)
        end = check_end(events, folder)
        artefacts = check_artefacts(events, folder)
        for name, digest in end.outputs.items():
            folder.checked(name, digest)
    except VgoError as error:
        return Report(False, len(events), 0, 0, events[-1].hash if events else "", "", str(error))
    return Report(True, len(events), artefacts, len(end.outputs), events[-1].hash, end.tip)


def check_end(events: list[Event], folder: RunFolder) -> RunEnd:
    """A chain whose tail was cut off is still a chain: the end record tells."""
    end = events[-1].body if events else None
    if not isinstance(end, RunEnd):
        raise VgoError(
            f"{folder.transcript} has no end record; it was cut, or `vgo-agent resume {folder.path}` is due."
        )
    if (end.count, end.tip) != (len(events) - 1, events[-1].previous):
        raise VgoError(f"{folder.transcript}: the end record names {end.count} events, there are {len(events) - 1}.")
    return end


def check_artefacts(events: list[Event], folder: RunFolder) -> int:
    """Read every artefact that an event names; a file that no event names is a difference too."""
    named = {digest for end in bodies(events, ToolEnd) for digest in end.artefacts.values()}
    named |= {start.machine for start in bodies(events, RunStart)}
    named |= {start.machine for start in bodies(events, ExperimentStart)}
    for digest in sorted(named):
        folder.get(digest)
    for path in sorted((folder.path / "artefacts").iterdir()):
        if path.name not in named:
            folder.get(path.name)
    return len(named)
