"""The bench: runs the user's program once and gives one row."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ...knowledge.actions import Apply
from ...knowledge.errors import VgoError
from ...knowledge.schema import Mitigation
from ...layers.launcher import Launcher
from ...layers.loader import load_layer, open_probe
from ...layers.probes.base import Probe
from ...layers.schema import Layer
from ..machine import Machine
from ..mitigation.checks import Check
from ..mitigation.engine import Applied, applied
from ..mitigation.knobs import in_force_already, resolve
from ..mitigation.parameters import with_values
from ..row import Row
from ..subject import Subject
from .executor import LOCAL, Executor
from .judge import judge
from .launch import Launch, Run
from .row_log import RowLog
from .samples import spread
from .series import Change, Series
from .spawn import Spawner
from .through import Through
from .way import Way, Ways

MOST_FAILED = 0.5
"""More failed runs than this share, and dropping them would leave a different program."""


WRAPPED_S, WRAPPED_TIMES = 60.0, 100.0
"""A wrapper may take so many seconds, and so many times the longest run without one (strace: up to 70 times)."""


@dataclass(frozen=True)
class Progress:
    """One run has ended."""

    call_id: str
    condition: str
    rows: Sequence[Row]
    planned: int


def ignore(progress: Progress) -> None:
    """Show nothing."""


@dataclass
class Bench:
    """What measuring tools share: the spawner, the program, its layers and launcher, where rows are kept, who is told.

    Layers are named by their specs, as the user gave them.
    """

    subject: Subject
    spawner: Spawner
    folder: Path
    launch: Launch
    """How the program is started when nothing is changed."""
    listener: Callable[[Progress], None] = ignore
    on_started: Callable[[int], None] | None = None
    root: Path = Path("/")
    """Where the machine's /proc and /sys are looked for."""
    launcher: Launcher | None = None
    """None: the program is started directly."""
    executor: Executor = LOCAL
    _layers: dict[str, Layer] = field(default_factory=dict)
    _probes: dict[str, Probe] = field(default_factory=dict)
    _ways: Ways = field(init=False)
    _longest_s: float = 0.0

    def __post_init__(self) -> None:
        """Nothing is opened yet."""
        self._ways = Ways(self.launcher, lambda spec: (self.layer(spec), self.probe(spec)))

    @contextmanager
    def series(self, call_id: str, layers: Sequence[str] = (), planned: int = 0) -> Iterator[Series]:
        """Open a series of runs with these layers on unless a run says otherwise; all of them are opened now.

        Rows that a killed process left are its beginning.
        """
        for spec in layers:
            self.probe(spec)
        log = RowLog(self.folder / f"{call_id}.jsonl")
        gc.disable()  # a collection between two runs would evict what the next one finds in the cache
        try:
            yield Series(self, call_id, tuple(layers), log, planned)
        finally:
            gc.enable()
            log.close()

    def layer(self, spec: str) -> Layer:
        """Read a layer once a session."""
        if spec not in self._layers:
            self._layers[spec] = load_layer(spec)
        return self._layers[spec]

    def know(self, layers: Mapping[str, Layer]) -> None:
        """Take layers as another machine has read them, by spec."""
        self._layers = {**layers, **self._layers}

    def probe(self, spec: str) -> Probe:
        """Open a layer's probe once a session: opening and closing can cost more than a run."""
        if spec not in self._probes:
            self._probes[spec] = open_probe(self.layer(spec), self.root)
        return self._probes[spec]

    def way(self, launch: Launch, layers: Sequence[str] = ()) -> Way:
        """How the program is started with these layers on, through the launcher; made once."""
        return self._ways.of(launch, tuple(layers))

    def limit_s(self, way: Way) -> float | None:
        """When a run is ended: at --timeout, or where a wrapper may go on for ever, far beyond every run without it."""
        wrapped = any(layer.kind == "metric" for layer in way.through)
        if self.subject.timeout_s is not None or not wrapped or not self._longest_s:
            return self.subject.timeout_s
        return WRAPPED_S + WRAPPED_TIMES * self._longest_s

    def took(self, run: Run, way: Way) -> None:
        """Remember the longest run without a wrapper."""
        if not any(layer.kind == "metric" for layer in way.through):
            self._longest_s = max(self._longest_s, run.wall_ns / 1e9)

    def described_by(self, layers: Sequence[str]) -> dict[str, Layer]:
        """The layers that describe the columns of such runs, the launcher among them, by spec: for `layers.json`."""
        used = {spec: self.layer(spec) for spec in layers}
        return used | ({self.launcher.spec: self.launcher.layer} if self.launcher else {})

    def absent(self, spec: str) -> dict[str, str]:
        """Columns of a layer that cannot be had here, with the reason and the cure."""
        unseen = self.launcher.unseen(self.layer(spec)) if self.launcher else {}
        return {**self.probe(spec).absent(), **unseen}

    def choice_of(self, call_id: str) -> Path:
        """Where the choice of layers stands that a call began with."""
        return self.folder / f"{call_id}.choice.json"

    def run_once(self, series: Series, condition: str, launch: Launch, pair: int, layers: Sequence[str]) -> None:
        """Run the program once and keep the row; refuse to go on when failing runs are the rule."""
        subject, way = self.subject, self.way(launch, layers)
        limit_s = self.limit_s(way)
        run = self.spawner.run(
            way.launch,
            way.probes,
            timeout_s=limit_s,
            capture=subject.metric is not None,
            on_started=self.on_started,
        )
        self.took(run, way)
        judged = judge(run, subject, way.through, limit_s)
        row = {
            "order": len(series.rows),
            "condition": condition,
            "pair": pair,
            "ok": int(judged.outcome is not None),
            "exit_code": run.exit_code,
            "survivors": run.survivors,
            "outcome": judged.outcome,
            "wall_s": run.wall_ns / 1e9,
            "layers": way.name,
            **way.cells(run.counters),
        }
        rows = spread(row, judged.samples, str(subject.metric), series.processes) if judged.samples else (row,)
        series.log.append(*rows)
        self.listener(Progress(series.call_id, condition, series.rows, series.planned))
        if judged.failure:
            refuse_failures(series, subject, judged.failure)

    def change(
        self, mitigation: Mitigation, machine: Machine, source: Path | None = None
    ) -> AbstractContextManager[Applied]:
        """Make a mitigation ready here; raises VgoError where it cannot be, or is in force already."""
        _refuse_needless(with_values(mitigation, {}, machine), machine)
        return applied(mitigation, self.launch, self.subject, machine, source=source)

    def prove(self, change: Change) -> tuple[Check, ...]:
        """Check that it is in force, with runs that are no part of the data, started as those of the data are."""
        assert isinstance(change, Applied)
        return change.prove(Through(self.spawner, self._ways), self.subject.timeout_s)

    def close(self) -> None:
        """Close the probes."""
        for probe in self._probes.values():
            probe.close()


def refuse_failures(series: Series, subject: Subject, failure: str) -> None:
    """Stop, or when failed runs are dropped, stop once they are too many."""
    done, failed = series.processes, sum(row["ok"] == 0 for row in series.rows)
    if subject.on_failure == "stop":
        cure = "mend it, or leave such runs out with --on-failure drop" if failed < done else "run it by hand first"
        raise VgoError(f"Run {done} failed: {failure}; {cure}.")
    if done >= 5 and failed > MOST_FAILED * done:
        raise VgoError(f"{failed} of {done} runs failed, the last because {failure}; mend it first.")


def _refuse_needless(mitigation: Mitigation, machine: Machine) -> None:
    """Where every knob has its value already there is nothing to compare."""
    apply = mitigation.apply or Apply()
    if not apply.write or apply != Apply(write=apply.write):
        return
    knobs = resolve(apply.write, machine).knobs
    if in_force_already(knobs):
        raise VgoError(f"{mitigation.key} is in force already: {knobs[0].path} is {knobs[0].value}.")
