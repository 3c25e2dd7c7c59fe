"""A bench that serves recorded runs: the tools that stop, interleave, look and compare are the real ones."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from ...knowledge.errors import VgoError
from ...knowledge.loader import Knowledge
from ...knowledge.schema import Mitigation
from ...layers.schema import Layer
from ...tools.execution.expected import NEVER, Expected, Proof
from ...tools.execution.launch import Launch
from ...tools.execution.row_log import RowsInMemory
from ...tools.execution.series import LOCAL, Change, PlannedRun, Series
from ...tools.machine import Machine
from ...tools.mitigation.verification import Check
from ...tools.record import ToolError
from ...tools.row import BASELINE, FIXED, Row
from ...tools.subject import Subject
from .recorded_case import ShownCase, definition
from .schema import Trial

SHARE = 0.75
"""Of the recorded runs that one seed draws."""
FIRST = 20
"""Runs at the beginning that every seed has: a start-up transient is part of what was recorded."""
BATCHES = 2
T = TypeVar("T")


def drawn(made: Sequence[T], seed: str, first: int = 0) -> list[T]:
    """Draw a share of what was made, the first ones always, and keep the order."""
    head, rest = made[:first], made[first:]
    places = sorted(random.Random(seed).sample(range(len(rest)), math.ceil(SHARE * len(rest))))
    return [*head, *(rest[place] for place in places)]


class NotRecorded(ToolError):
    """What was asked for is not in the tables; it says nothing about whoever asked."""


@dataclass(frozen=True)
class Served:
    """A mitigation whose pairs were recorded."""

    mitigation: Mitigation
    launch: Launch
    trial: Trial

    @property
    def notices(self) -> tuple[str, ...]:
        """What was told then."""
        return self.trial.told

    def on(self) -> tuple[Check, ...]:
        """Nothing to do."""
        return ()

    def off(self) -> tuple[Check, ...]:
        """Nothing to do."""
        return ()


class RecordedBench:
    """Serves the runs of one case, drawn by seed, for one diagnosis.

    Of the baseline and of the profile three quarters of the runs are drawn, in the order in which they were made. The
    pairs of a mitigation are dealt into two halves, one a batch, so that the confirming batch is independent.
    """

    def __init__(self, case: ShownCase, knowledge: Knowledge, seed: int, folder: Path) -> None:
        """Draw nothing yet; `folder` holds what a call notes."""
        subject = case.recording.subject
        self.subject: Subject = subject
        self.launch = Launch(argv=subject.argv, directory=Path(subject.directory))
        self.executor = LOCAL
        self.deadline = NEVER
        self._case = case
        self._knowledge = knowledge
        self._seed = seed
        self._folder = folder
        self._pools: dict[str, Iterator[Row]] = {}
        self._batches: dict[str, int] = {}
        self._changing: Mitigation | None = None
        self._is_shown = cache(self._gives)

    @contextmanager
    def series(self, call_id: str, layers: Sequence[str] = (), planned: int = 0) -> Iterator[Series]:
        """Open a series; for pairs, deal those of the next batch, with what of these layers was recorded."""
        on = tuple(spec for spec in layers if self._changing is None or spec in self._case.layers)
        yield _Served(self, call_id, on, RowsInMemory(), planned, pairs=self._deal())

    def expect(self, expected: Expected) -> None:
        """Nothing is run, so nothing is to be ended."""

    def run_once(self, series: Series, planned: PlannedRun) -> None:
        """Serve the next recorded run that fits."""
        assert isinstance(series, _Served)
        if planned.pair < 0:
            row = self._next(series.layers, tuple(planned.layers))
        elif planned.pair < len(series.pairs):
            row = series.pairs[planned.pair][planned.condition]
        else:
            raise NotRecorded(f"not recorded: only {len(series.pairs)} pairs a batch; ask for fewer.")
        name = "+".join(self.layer(spec).key for spec in planned.layers)
        cells = {column: cell for column, cell in row.items() if self._is_shown(column, planned.layers)}
        fixed = {name: row.get(name) for name in FIXED}
        series.log.append(fixed | {"order": len(series.rows), "pair": planned.pair, "layers": name} | cells)

    def _gives(self, column: str, specs: tuple[str, ...]) -> bool:
        return column not in FIXED and any(self.layer(spec).column(column) for spec in specs)

    @contextmanager
    def change(self, mitigation: Mitigation, machine: Machine, source: Path | None = None) -> Iterator[Change]:
        """Serve the trial of a mitigation, with the values of its parameters that were recorded: the defaults."""
        trials, refused = self._case.recording.trials, self._case.recording.refused
        if mitigation.key in refused:
            raise VgoError(refused[mitigation.key])
        if mitigation.key not in trials:
            raise NotRecorded(f"not recorded: no pairs with {mitigation.key}; choose another.")
        if trials[mitigation.key].definition not in ("", definition(mitigation)):
            raise NotRecorded(f"not recorded: {mitigation.key} as it is defined now; choose another.")
        if mitigation != self._knowledge.mitigations[mitigation.key]:
            raise NotRecorded(f"not recorded: {mitigation.key} with other values than its defaults.")
        self._changing = mitigation
        try:
            yield Served(mitigation, self.launch, trials[mitigation.key])
        finally:
            self._changing = None

    def prove(self, change: Change) -> Proof:
        """Give the checks as they were."""
        return Proof(self._case.recording.trials[change.mitigation.key].checks)

    def layer(self, spec: str) -> Layer:
        """Give a layer as it was; raises VgoError for one that was not on."""
        if spec not in self._case.layers:
            raise VgoError(f"The layer {spec} was not recorded; there are {', '.join(self._case.layers)}.")
        return self._case.layers[spec]

    def absent(self, spec: str) -> dict[str, str]:
        """Columns that could not be had, with the reason."""
        self.layer(spec)
        return self._case.recording.profiling.absent.get(spec, {})

    def described_by(self, layers: Sequence[str]) -> dict[str, Layer]:
        """The layers that describe the columns of such runs, by spec."""
        return {spec: self.layer(spec) for spec in layers}

    def choice_of(self, call_id: str) -> Path:
        """Where the choice of layers stands that a call began with."""
        return self._folder / f"{call_id}.choice.json"

    def _deal(self) -> tuple[dict[str, Row], ...]:
        """Pairs of the next batch of the mitigation that is ready, in the order in which they were made."""
        if self._changing is None:
            return ()
        key = self._changing.key
        batch = self._batches[key] = self._batches.get(key, -1) + 1
        if batch >= BATCHES:
            raise NotRecorded(f"not recorded: a third batch of {key}.")
        together = 2 * self._case.recording.trials[key].block if self._case.recording.trials[key].block > 1 else 1
        pairs = self._case.pairs(key)
        groups = [pairs[start : start + together] for start in range(0, len(pairs), together)]
        order = random.Random(f"{self._seed}:{key}").sample(range(len(groups)), len(groups))
        mine = sorted(order[batch::BATCHES])
        return tuple({BASELINE: first, key: second} for place in mine for first, second in groups[place])

    def _next(self, opened: tuple[str, ...], layers: tuple[str, ...]) -> Row:
        """Give the next run of the baseline, or of the profile with these layers on."""
        pool = "+".join(layers) if opened else BASELINE
        if pool not in self._pools:
            self._pools[pool] = iter(
                drawn(self._of(layers) if opened else self._case.rows("baseline"), f"{self._seed}:{pool}", FIRST)
            )
        row = next(self._pools[pool], None)
        if row is None:
            raise NotRecorded(f"not recorded: no further run of {pool or 'bare ones in the profile'}.")
        return row

    def _of(self, layers: tuple[str, ...]) -> list[Row]:
        """Runs of the profile in which these layers were on and no other heavy one."""
        wanted = {self.layer(spec).key for spec in layers}
        heavy = {layer.key for layer in self._case.layers.values() if layer.heavy}
        rows = self._case.rows("profile")
        names = {str(row.get("layers", "")) for row in rows}
        sets = {name: set(name.split("+")) - {""} for name in names}
        fit = [
            name
            for name, on in sets.items()
            if wanted <= on and wanted & heavy == on & heavy and bool(wanted) == bool(on)
        ]
        if not fit:
            raise NotRecorded(f"not recorded: no run with {' and '.join(layers) or 'no layer'}.")
        chosen = min(fit, key=lambda name: (len(sets[name]), name))
        return [row for row in rows if str(row.get("layers", "")) == chosen]


@dataclass
class _Served(Series):
    """A series with the pairs that it may be asked for."""

    pairs: tuple[dict[str, Row], ...] = ()
