"""The probe `perf`: events of the processor and of the kernel by perf_event_open, for the layers that name them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

from ...knowledge.errors import VgoError
from ..schema import Column, Layer
from .base import Probe
from .perf_counters import PerfCounters
from .perf_names import PerfEvent, find_event
from .perf_open import NO_COUNTERS, NoEvent, core_pmus
from .sysfs import name_of

SHARE, SCALED, USER_ONLY = "(running share)", "(scaled)", "(user only)"
"""What a column may `read` about the counting itself."""
ENOUGH = 0.9
"""An event that really counted for a smaller share of the time is flagged: its value is an estimate."""
ALL = "all"
UNASKED = "{} is not counted unless it is asked for, because a processor counts few events at once: --layer {}:more={}"


class PerfEvents(Probe):
    """Counts the events that its columns `read`: `EVENT`, or `EVENT / EVENT` for a ratio."""

    def __init__(self, columns: Iterable[Column], root: Path, unasked: Mapping[str, str] | None = None) -> None:
        """Open the events on the calling thread: it must be the one that spawns; `unasked` are absent by choice."""
        self._columns = {column.name: column for column in columns}
        self._unasked = dict(unasked or {})
        self._unknown: dict[str, str] = {}
        self._root = root
        self._events = self._by_name()
        self._scales = {text: event.scale for text, (event, _) in self._events.items()}
        self._hardware = [text for text, (event, _) in self._events.items() if event.hardware]
        self._reads = [(name, keys_of(column) or (column.read,)) for name, column in self._columns.items()]
        self._counters = PerfCounters(self._events, root)
        self._thread = threading.get_native_id()
        self._was = self._now = self._counters.read()

    def before(self) -> None:
        if threading.get_native_id() != self._thread:
            self._move()
        self._was = self._counters.read()

    def after(self) -> None:
        self._now = self._counters.read()

    def values(self) -> dict[str, float]:
        """Return the differences, scaled where the kernel let events take turns; one that never ran is left out."""
        counts = self._counters.counts(self._was, self._now)
        known = {event: count.value * self._scales[event] for event, count in counts.items() if count.value is not None}
        known |= self._about([counts[event].share for event in self._hardware if event in counts])
        values = {}
        for name, read in self._reads:
            if len(read) == 1:
                if read[0] in known:
                    values[name] = known[read[0]]
            elif known.get(read[1]) and read[0] in known:
                values[name] = known[read[0]] / known[read[1]]
        return values

    def absent(self) -> Mapping[str, str]:
        reasons = self._unknown | self._counters.refused
        absent = self._unasked.copy()
        for name, column in self._columns.items():
            if why := [reasons[key] for key in keys_of(column) if key in reasons]:
                absent[name] = why[0]
        return absent

    def close(self) -> None:
        self._counters.close()

    def _by_name(self) -> dict[str, tuple[PerfEvent, bool]]:
        found = {}
        for column in self._columns.values():
            for key, text in zip(keys_of(column), events_of(column.read), strict=True):
                try:
                    found[key] = find_event(text, self._root), column.scope == "machine"
                except NoEvent as error:
                    self._unknown[key] = str(error)
        return found

    def _move(self) -> None:
        """Open on this thread: its children alone inherit what it opened, those of another would count zero."""
        old = self._counters
        # The new ones first: a tracepoint that nobody has open any more takes the kernel tens of ms to take down.
        self._counters = PerfCounters(self._events, self._root)
        self._thread = threading.get_native_id()
        old.close()

    def _about(self, shares: list[float]) -> dict[str, float]:
        """Tell how well the processor's events were counted."""
        if not shares:
            return {}
        scaled = sum(share < ENOUGH for share in shares)
        return {SHARE: min(shares), SCALED: float(scaled), USER_ONLY: float(bool(self._counters.user_only))}


def open_perf(layer: Layer, root: Path) -> PerfEvents:
    """Open the events of a layer: `events` chooses among its columns, or names others, and `more` adds to them."""
    asked = words(layer.parameters.get("events", ALL)) + words(layer.parameters.get("more", ""))
    counted = [column for column in layer.columns if "*" not in column.name]
    own = {text for column in counted for text in events_of(column.read)}
    short = {column.name.partition(".")[2]: column for column in counted} | {column.name: column for column in counted}
    events: set[str] = set()
    for word in asked:
        events |= own if word == ALL else set(events_of(short[word].read)) if word in short else {word}
    there = [column for column in counted if events.issuperset(events_of(column.read))]
    extra = [described(text, layer) for text in sorted(events - own)]
    counters = bool(core_pmus(root))
    unasked = {
        column.name: UNASKED.format(column.read, layer.key, column.name.partition(".")[2]) if counters else NO_COUNTERS
        for column in counted
        if column not in there
    }
    return PerfEvents(there + extra, root, unasked)


def words(asked: object) -> list[str]:
    """Split a list of events: `cycles+LLC-loads`; blanks do too, except around a tracepoint's ` if `."""
    text = str(asked)
    return [
        word.strip() for word in (text.split("+") if "+" in text or " if " in text else text.split()) if word.strip()
    ]


def described(text: str, layer: Layer) -> Column:
    """Describe an event that the user named."""
    column = layer.column(f"event.{name_of(text)}")
    if column is None:
        raise VgoError(f"The layer {layer.key} has no column for {text}: name its own events, or ask the layer perf.")
    return column.model_copy(update={"read": text, "description": f"{text}, asked for by name."})


def events_of(read: str) -> tuple[str, ...]:
    """Return the events of a column: one, two for a ratio, none for what is about the counting."""
    return () if read.startswith("(") else tuple(read.split(" / "))


def keys_of(column: Column) -> tuple[str, ...]:
    """Name the events of a column apart by scope: one may be counted for the run and on the whole machine."""
    return tuple(event if column.scope == "run" else f"{event} (machine)" for event in events_of(column.read))
