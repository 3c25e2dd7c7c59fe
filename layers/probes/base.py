"""What a probe may do around one run; a real one overrides what it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

from ..schema import Layer, Value

ReadingT = TypeVar("ReadingT")
OpenT = TypeVar("OpenT", bound="Open")


class Open(Protocol):
    """Something to be closed."""

    def close(self) -> None:
        """Close it."""


@dataclass(frozen=True)
class SpawnCommand:
    """What is about to be spawned."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]


class Probe:
    """Reads counters around one run; parsing waits until `values`, outside the timed window.

    The order of calls: `wrap` once for each way to start the program; then for each run `rest`, `before`, the spawn,
    `started`, the end of the program, `timed`, `at_exit`, `after`, the reaping, `used`, `said`, `values`, `split`;
    `close` at the end of the session.
    Nothing here raises for a source that fails in mid-run: the cell is missing, and `absent` says why.
    """

    prints = False
    """What it puts around the program, or loads into it, may print by itself."""
    reads_output = False
    """It wants standard output and standard error of each run, whole."""
    has_metric = times_part = False
    """The outcome of a run is a number that the program printed; and that is a time, of a part of the run."""
    held_until_ns = 0
    """Until when `started` kept the program from its first instruction, on CLOCK_MONOTONIC; 0 where it did not."""
    _absent: Mapping[str, str] = MappingProxyType({})
    """What `absent` says."""

    def wrap(self, command: SpawnCommand) -> SpawnCommand:
        """Return what is to be spawned in place of the command."""
        return command

    def rest(self) -> None:
        """Look at the machine while it is left alone: all probes do, and may sleep, before any of them reads."""

    def before(self) -> None:
        """Read what must be read just before the run is spawned."""

    def started(self, pid: int) -> None:
        """Note the process that was spawned; it runs, so be quick."""

    def timed(self, started_ns: int, ended_ns: int) -> None:
        """Note from when to when the wall time of the run is counted, on CLOCK_MONOTONIC."""

    def at_exit(self, pid: int) -> None:
        """Read what only a zombie still shows; the process has ended and is not reaped."""

    def after(self) -> None:
        """Read again what `before` read."""

    def used(self, cpu_ns: int) -> None:
        """Take the CPU time of the program and of all that it waited for."""

    def said(self, output: bytes, error: bytes) -> None:
        """Take what the run said, where `reads_output` asks for it."""

    def values(self) -> Mapping[str, Value]:
        """Parse: column name to value; a source that is absent gives no entry."""
        return {}

    def split(self, outcome_ns: float | None) -> Mapping[str, Value]:
        """Parse what needs the outcome, where it is a time: column name to value, as `values` does, after it."""
        return {}

    def absent(self) -> Mapping[str, str]:
        """Name the columns that this machine cannot show, each with the reason and the cure."""
        return self._absent

    def close(self) -> None:
        """Close what was opened, put back what was changed."""
        self._closing.close()

    @cached_property
    def _closing(self) -> ExitStack:
        return ExitStack()

    def _keep(self, opened: OpenT) -> OpenT:
        """Let `close` close it."""
        self._closing.callback(opened.close)
        return opened


class LayerProbe(Probe):
    """Knows the columns that a layer declares."""

    def __init__(self, layer: Layer) -> None:
        self._columns = [column.name for column in layer.columns]
        self._has = cache(lambda name: layer.column(name) is not None)

    def _declared(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """Leave out what the layer does not declare; names that the machine fills in are."""
        return {name: value for name, value in values.items() if self._has(name)}

    def _lack(self, reason: str) -> None:
        """Let all of the columns be absent, or none where there is no reason."""
        self._absent = dict.fromkeys(self._columns, reason) if reason else {}


class TwoReadings(Probe, Generic[ReadingT]):
    """Reads the same sources before and after a run, as `_read` does; their difference is what the run did."""

    _was: ReadingT
    _now: ReadingT

    def before(self) -> None:
        self._was = self._read()

    def after(self) -> None:
        self._now = self._read()

    def _read(self) -> ReadingT:
        raise NotImplementedError


def _tell(call: str, step: int = 1) -> Callable[..., None]:
    """Make a method that hands a call on to each part; step -1: in the opposite order."""

    def tell(self: Parts, *told: Any) -> None:
        for part in self._parts[::step]:
            getattr(part, call)(*told)

    return tell


class Parts(LayerProbe):
    """Reads its parts from the outside in, and out again: the cheapest, last in the list, reads nearest to the run."""

    def __init__(self, layer: Layer, parts: Sequence[Probe]) -> None:
        super().__init__(layer)
        self._parts = [self._keep(part) for part in parts]
        self.reads_output = any(part.reads_output for part in parts)
        self.prints = any(part.prints for part in parts)

    def wrap(self, command: SpawnCommand) -> SpawnCommand:
        """Let each part wrap, the first outermost."""
        for part in reversed(self._parts):
            command = part.wrap(command)
        return command

    rest, before, started, timed = _tell("rest"), _tell("before"), _tell("started"), _tell("timed")
    at_exit, after, used, said = _tell("at_exit"), _tell("after", -1), _tell("used"), _tell("said")

    def values(self) -> dict[str, Value]:
        return self._declared({name: value for part in self._parts for name, value in part.values().items()})

    def absent(self) -> Mapping[str, str]:
        reasons = {name: reason for part in self._parts for name, reason in part.absent().items()}
        return {name: reasons[name] for name in self._columns if name in reasons}


class Missing(Probe):
    """Columns that this machine cannot show; `reason` holds the cure too, in one sentence."""

    def __init__(self, columns: Iterable[str], reason: str) -> None:
        self._absent = dict.fromkeys(columns, reason)
