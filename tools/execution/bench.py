"""The bench: runs the user's program once and gives one row."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...knowledge.actions import Apply
from ...knowledge.errors import VgoError
from ...knowledge.schema import Mitigation
from ...layers.launcher import Launcher
from ...layers.loader import find_layer, open_probe
from ...layers.probes.base import Probe
from ...layers.schema import Layer
from ..machine import Machine
from ..mitigation.engine import Applied, applied
from ..mitigation.kernel_settings import in_force_already, resolve
from ..mitigation.parameters import with_values
from ..row import BASELINE
from ..subject import Subject
from .capture import SAID, PrintedLines
from .expected import FIRST_RUNS, NEVER, Deadline, Expected, Proof, Seen, Watched, screened
from .launch import Launch, Run
from .outcomes import RunOutcome, first_of_run, judge, spread
from .row_log import Listener, RowLog, RunEnded, ignore
from .series import LOCAL, Change, Executor, PlannedRun, Series
from .spawn import Spawner
from .way import Through, Way, Ways

MOST_FAILED = 0.5
"""More failed runs than this share, and what is left would be a different program."""
QUIET = 64 << 10
"""Bytes that a run may print into memory instead of nowhere: they take it some 30 microseconds."""
FEW_RUNS = 20
"""From so many on it is refused where it fails in most: of 5 runs, one that fails in 30 % fails in most by luck."""


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
    listener: Listener = ignore
    on_started: Callable[[int], None] | None = None
    root: Path = Path("/")
    """Where the machine's /proc and /sys are looked for."""
    launcher: Launcher | None = None
    """None: the program is started directly."""
    executor: Executor = LOCAL
    deadline: Deadline = NEVER
    expected: Expected = Expected()
    """What the baseline has shown so far."""
    _layers: dict[str, Layer] = field(default_factory=dict)
    _probes: dict[str, Probe] = field(default_factory=dict)
    _ways: Ways = field(init=False)
    _printed: PrintedLines = field(default_factory=PrintedLines)
    _quiet: bool = True
    """No run has printed more than `QUIET`."""

    def __post_init__(self) -> None:
        """Nothing is opened yet."""
        self._ways = self.new_ways()

    def new_ways(self) -> Ways:
        """Ways of this bench, none composed yet: for launches that are forgotten before it is closed."""
        return Ways(self.launcher, lambda spec: (self.layer(spec), self.probe(spec)))

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
            self._layers[spec] = find_layer(spec)
        return self._layers[spec]

    def know(self, layers: Mapping[str, Layer]) -> None:
        """Take layers as another machine has read them, by spec."""
        self._layers = {**layers, **self._layers}

    def probe(self, spec: str) -> Probe:
        """Open a layer's probe once a session: opening and closing can cost more than a run."""
        if spec not in self._probes:
            self._probes[spec] = probe = open_probe(self.layer(spec), self.root)
            probe.has_metric, probe.times_part = self.subject.metric is not None, self.subject.times_part
        return self._probes[spec]

    def way(self, launch: Launch, layers: Sequence[str] = ()) -> Way:
        """How the program is started with these layers on, through the launcher; made once."""
        return self._ways.of(launch, tuple(layers))

    def expect(self, expected: Expected) -> None:
        """Know what earlier calls have shown of the baseline."""
        longest_s = max(self.expected.longest_s, expected.longest_s)
        self.expected = expected.model_copy(update={"longest_s": longest_s})

    def limit_s(self, way: Way, changed: bool = True, times: float = 1.0) -> float | None:
        """When a run is ended: at --timeout, and under anything changed also by what the baseline showed.

        `times` is how many times longer than the baseline the condition itself may rightly take.
        """
        times *= math.prod(layer.slower for layer in way.through if layer.kind == "metric")
        shown = self.expected.limit_s(times) if changed else None
        return min((limit for limit in (self.subject.timeout_s, shown) if limit is not None), default=None)

    def took(self, run: Run) -> None:
        """Remember the longest run of the baseline that ended by itself."""
        if not run.timed_out:
            self.expected = self.expected.and_also(Expected(longest_s=run.wall_ns / 1e9))

    def _hung(self, run: Run) -> bool:
        """Tell whether a run of the baseline that the end of the budget ended was far longer than those that ended."""
        usual_s = self.expected.limit_s()
        return usual_s is not None and run.wall_ns / 1e9 > usual_s

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

    def run_once(self, series: Series, planned: PlannedRun) -> None:
        """Run the program once and keep the row; refuse to go on when failing runs are the program's rule."""
        subject, way = self.subject, self.way(planned.launch, planned.layers)
        as_given = planned.condition == BASELINE and not planned.layers
        own_s = self.limit_s(way, not as_given, planned.times)
        made = self.judged(way, subject, own_s, self._hung if as_given else None, listen=planned.turns)
        if made is None:
            series.cut = True  # it is no failure of the program, and no run
            return
        run, judged = made
        if as_given:
            self.took(run)
        row = {
            "order": series.next_order,
            "condition": planned.condition,
            "pair": planned.pair,
            **way.row(run, judged.outcome, failure=judged.short),
        }
        samples = spread(row, judged.samples, str(subject.metric), series.next_run) if judged.samples else (row,)
        first, *others = samples
        if planned.turns and not any(probe.prints for probe in way.probes):
            first = {**first, SAID: self._printed.of(run)}
        series.log.append(first, *others)
        self.listener(RunEnded(series.rows, series.planned))
        if judged.failure and as_given:
            refuse_failures(series, subject, judged.failure)

    def judged(
        self,
        way: Way,
        subject: Subject,
        own_s: float | None,
        hung: Callable[[Run], bool] | None = None,
        *,
        listen: bool = False,
    ) -> tuple[Run, RunOutcome] | None:
        """Run once; None where the end of the budget ended it before its own limit, and it is not told to have hung.

        `listen`: keep what it prints also where no metric is read from that, until a run prints much.
        """
        limit_s = self.deadline.limit_s(own_s)
        run = self.spawner.run(
            way.launch,
            way.probes,
            timeout_s=limit_s,
            capture=subject.metric is not None or (listen and self._quiet),
            on_started=self.on_started,
        )
        self._quiet &= len(run.output) + run.output_left_out <= QUIET
        if run.timed_out and limit_s != own_s and not (hung and hung(run)):
            return None
        judged = judge(run, subject, way.through, limit_s)
        if judged.outcome is not None:
            outcome_ns = judged.outcome * subject.ns_each if subject.ns_each else None
            split = {name: value for probe in way.probes for name, value in probe.split(outcome_ns).items()}
            run = replace(run, counters={**run.counters, **split}) if split else run
        return run, judged

    @property
    def starts(self) -> Through:
        """Starts runs that are no part of the data as those of the data are started."""
        return Through(self.spawner, self._ways, self.deadline)

    def change(
        self, mitigation: Mitigation, machine: Machine, source: Path | None = None
    ) -> AbstractContextManager[Applied]:
        """Make a mitigation ready here; raises VgoError where it cannot be, or is in force already."""
        _refuse_needless(with_values(mitigation, {}, machine), machine)
        return applied(mitigation, self.launch, self.subject, machine, source=source)

    def prove(self, change: Change) -> Proof:
        """Check that it is in force and that the program bears it, with runs that are no part of the data.

        They are started as those of the data are.
        """
        assert isinstance(change, Applied)
        limit_s = self.limit_s(self.way(change.launch))
        watched = Watched(
            self.starts,
            change.launch.argv,
            self.subject.metric is not None,
            self._seen(limit_s),
        )
        checks = change.prove(watched, limit_s)
        if not all(check.passed for check in checks) and not any(run.failure for run in watched.runs):
            return Proof(checks)
        try:
            change.on()
            broke = screened(watched, lambda: watched.run(change.launch, timeout_s=limit_s), self.expected)
        finally:
            change.off()
        return Proof(checks, broke)

    def _seen(self, limit_s: float | None) -> Callable[[Run], Seen]:
        through = (self.launcher.layer,) if self.launcher else ()

        def seen(run: Run) -> Seen:
            failure = judge(run, self.subject, through, limit_s).short
            return Seen(run.wall_ns / 1e9, failure, run.timed_out)

        return seen

    def close(self) -> None:
        """Close the probes."""
        for probe in self._probes.values():
            probe.close()


def refuse_failures(series: Series, subject: Subject, failure: str) -> None:
    """Refuse a program that fails as it is given in most of its runs; a few failures are a result like slow runs."""
    rows = [row for row in series.rows if row["condition"] == BASELINE and not row["layers"]]
    done, failed = sum(map(first_of_run, rows)), sum(row["ok"] == 0 for row in rows)
    if subject.on_failure == "stop":
        raise VgoError(f"Run {series.processes} failed: {failure}; it was to stop there (--on-failure stop).")
    if failed == done >= FIRST_RUNS or (done >= FEW_RUNS and failed > MOST_FAILED * done):
        raise VgoError(f"{failed} of the first {done} runs failed, the last because {failure}; run it by hand first.")


def _refuse_needless(mitigation: Mitigation, machine: Machine) -> None:
    """Where every knob has its value already there is nothing to compare."""
    apply = mitigation.apply or Apply()
    if not apply.write or apply != Apply(write=apply.write):
        return
    knobs = resolve(apply.write, machine).knobs
    if in_force_already(knobs):
        raise VgoError(f"{mitigation.key} is in force already: {knobs[0].path} is {knobs[0].value}.")
