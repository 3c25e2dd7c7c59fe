"""The bench: runs the user's program once and gives one row."""

from __future__ import annotations

import gc
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ...knowledge.errors import VgoError
from ...layers.loader import load_layer, open_probe
from ...layers.probes.base import Probe
from ..row import Row
from ..subject import Subject
from .launch import Launch, Run
from .row_log import RowLog
from .spawn import Spawner

MOST_FAILED = 0.5
"""More failed runs than this share, and dropping them would leave a different program."""


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
    """What measuring tools share: the spawner, the program, where rows are kept, who is told."""

    subject: Subject
    spawner: Spawner
    folder: Path
    launch: Launch
    """How the program is started when nothing is changed."""
    listener: Callable[[Progress], None] = ignore
    on_started: Callable[[int], None] | None = None
    _probes: dict[str, Probe] = field(default_factory=dict)

    @contextmanager
    def series(self, call_id: str, layers: Sequence[str] = (), planned: int = 0) -> Iterator[Series]:
        """Open a series of runs; rows that a killed process left are its beginning."""
        log = RowLog(self.folder / f"{call_id}.jsonl")
        gc.disable()  # a collection between two runs would evict what the next one finds in the cache
        try:
            yield Series(self, call_id, [self.probe(layer) for layer in layers], log, planned)
        finally:
            gc.enable()
            log.close()

    def probe(self, layer: str) -> Probe:
        """Open a layer's probe once a session: opening and closing can cost more than a run."""
        if layer not in self._probes:
            self._probes[layer] = open_probe(load_layer(layer))
        return self._probes[layer]

    def close(self) -> None:
        """Close the probes."""
        for probe in self._probes.values():
            probe.close()


@dataclass
class Series:
    """Runs of one call, in order."""

    bench: Bench
    call_id: str
    probes: Sequence[Probe]
    log: RowLog
    planned: int

    @property
    def rows(self) -> Sequence[Row]:
        """Rows so far."""
        return self.log.rows

    @property
    def outcomes(self) -> list[float]:
        """Outcomes of the runs that count."""
        return [row["outcome"] for row in self.rows if row["ok"] == 1]

    @property
    def spent_s(self) -> float:
        """Seconds of the user's program in this series."""
        return float(sum(row["wall_s"] for row in self.rows))

    def run(self, condition: str, launch: Launch, pair: int = -1) -> None:
        """Run once and keep the row; refuse to go on when failing runs are the rule."""
        subject = self.bench.subject
        run = self.bench.spawner.run(
            launch,
            self.probes,
            timeout_s=subject.timeout_s,
            capture=subject.metric is not None,
            on_started=self.bench.on_started,
        )
        outcome, failure = judge(run, subject)
        self.log.append(self._row(run, condition, pair, outcome))
        self.bench.listener(Progress(self.call_id, condition, self.rows, self.planned))
        if failure:
            self._refuse(failure)

    def _row(self, run: Run, condition: str, pair: int, outcome: float | None) -> Row:
        return {
            "order": len(self.rows),
            "condition": condition,
            "pair": pair,
            "ok": int(outcome is not None),
            "exit_code": run.exit_code,
            "survivors": run.survivors,
            "outcome": outcome,
            "wall_s": run.wall_ns / 1e9,
            **(run.counters if self.probes else {}),
        }

    def _refuse(self, failure: str) -> None:
        """Stop, or when failed runs are dropped, stop once they are too many."""
        done, failed = len(self.rows), sum(row["ok"] == 0 for row in self.rows)
        if self.bench.subject.on_failure == "stop":
            cure = "mend it, or leave such runs out with --on-failure drop" if failed < done else "run it by hand first"
            raise VgoError(f"Run {done} failed: the program {failure}; {cure}.")
        if done >= 5 and failed > MOST_FAILED * done:
            raise VgoError(f"{failed} of {done} runs failed, the last because the program {failure}; mend it first.")


def judge(run: Run, subject: Subject) -> tuple[float | None, str]:
    """Read a run's outcome; None with the reason when the run does not count."""
    if run.timed_out:
        return None, f"did not end within {subject.timeout_s:g} s (--timeout) and was ended with its children"
    if run.stopped_for_terminal:
        return None, "stopped because it wants a terminal; give it its input in a file or as arguments"
    if run.exit_code != 0:
        said = run.error.decode(errors="replace").strip().splitlines()
        how = f"was ended by signal {-run.exit_code}" if run.exit_code < 0 else f"exited with {run.exit_code}"
        return None, how + (f" and said: {_printable(said[-1])[:200]}" if said else "")
    if subject.metric is None:
        return run.wall_ns / 1e9, ""
    return _metric(run.output, subject.metric)


def _metric(output: bytes, pattern: str) -> tuple[float | None, str]:
    """Read the last match as the outcome: what a program prints last is its total."""
    found = re.findall(pattern.encode(), output, re.MULTILINE)
    if not found:
        text = output.decode(errors="replace").strip()
        seen = f"printed {_printable(text)[:120]!r}" if text else "printed nothing on standard output"
        return None, f"{seen}, where --metric {pattern!r} finds nothing"
    last = found[-1][0] if isinstance(found[-1], tuple) else found[-1]
    try:
        value = float(last)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        return None, f"printed {_printable(last.decode(errors='replace'))[:60]!r} where --metric expects a number"
    return value, ""


def _printable(text: str) -> str:
    """Keep a hostile or binary output from steering the terminal."""
    return "".join(char if char.isprintable() else " " for char in text)
