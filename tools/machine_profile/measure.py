"""Runs of stressors of stress-ng: how each is made and read, what its row says, and the profile that rows give."""

from __future__ import annotations

import math
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from ...knowledge.errors import VgoError
from ...layers.schema import Column, Layer
from ..execution.bench import Bench
from ..execution.launch import Launch, OnStarted, RunGroup
from ..execution.row_log import RunEnded
from ..execution.series import Series
from ..execution.spawn import Spawner
from ..experiment.experiment import Experiment, carry_out
from ..experiment.schedules import Complete
from ..mitigation.owned_folder import temporary_folder
from ..recorded.formats.vgo import measured
from ..recorded.recorded import RecordedRuns
from ..row import Row
from .battery import METHOD_OPTIONS, Group, Stressor
from .form import Battery, Profile, Quota, StressorRun, System
from .quota import limited_group, throttled

PATIENCE_S = 20.0
"""A stressor that sets up its memory under a small quota is slow to end."""
LIMITED = "quota"
"""The condition of runs under the quota; those without it are the baseline."""
COUNTED = ("stressor", "bogo_ops", "wall_s", "cpu_s", "throttled")
"""What a row has of a `StressorRun`."""
COLUMNS = Layer(
    key="stressors",
    description="What stress-ng counted in a run of a stressor.",
    columns=(
        Column(name="stressor", description="Name.", unit="", role="setting", type="text"),
        Column(name="group", description="Of the stressor.", unit="", role="setting", type="text"),
        Column(name="quota_cpus", description="What the quota is worth.", unit="CPUs", role="setting", level=True),
        Column(name="bogo_ops", description="Operations.", unit="count", role="consequence"),
        Column(name="cpu_s", description="User and system time.", unit="s", role="consequence"),
        Column(name="throttled", description="Periods in which the quota stopped it.", unit="count"),
    ),
)
"""Those of a row beside the ones that every run table has."""


class StressNg:
    """The program, found once."""

    def __init__(self, folder: Path) -> None:
        """Find it; it writes into `folder`."""
        found = shutil.which("stress-ng")
        if found is None:
            raise VgoError("stress-ng is not here: install it (apt install stress-ng), then run this again.")
        self.program = found
        self._folder = folder
        self._environment = {**os.environ, "LC_ALL": "C"}

    @property
    def version(self) -> str:
        """As it tells it."""
        named = re.search(r"version ([\w.]+)", self._said("--version"))
        return named[1] if named else "unknown"

    def methods(self) -> dict[Group, tuple[str, ...]]:
        """List the methods of the stressors that have them, as this version names them when it is given a wrong one."""
        return {group: self._listed(option) for group, option in METHOD_OPTIONS.items()}

    def run(
        self,
        spawner: Spawner,
        stressor: Stressor,
        seconds: float,
        group: RunGroup | None = None,
        on_started: OnStarted = None,
    ) -> StressorRun:
        """Run one worker for `seconds`; what does not work is told in the result."""
        results = self._folder / "stress-ng.yaml"
        results.unlink(missing_ok=True)
        before = throttled(group.folder) if group else 0
        launch = Launch(
            argv=(self.program, *stressor.options, *self._manner(seconds, results)),
            environment=self._environment,
            directory=self._folder,
            groups=(group,) if group else (),
        )
        timer: list[threading.Timer] = []

        def stop_later(pid: int) -> None:
            if on_started:
                on_started(pid)
            timer.append(threading.Timer(seconds, _stop, (pid,)))
            timer[0].start()

        try:
            ended = spawner.run(launch, timeout_s=seconds + PATIENCE_S, on_started=stop_later)
        finally:
            for one in timer:
                one.cancel()
                one.join()
        if ended.timed_out:
            return StressorRun(stressor=stressor.name, failed=f"did not end within {PATIENCE_S:g} s of its time")
        metrics = _metrics(results)
        if ended.exit_code or not metrics:
            return StressorRun(stressor=stressor.name, failed=_reason(ended.exit_code, ended.error))
        return StressorRun(
            stressor=stressor.name,
            bogo_ops=metrics["bogo-ops"],
            wall_s=metrics["wall-clock-time"],
            cpu_s=metrics["user-time"] + metrics["system-time"],
            throttled=throttled(group.folder) - before if group else 0,
        )

    def _manner(self, seconds: float, results: Path) -> tuple[str, ...]:
        # It knows whole seconds only (0 is for ever), so that it is stopped by a signal; its own end is a safeguard.
        own_end = str(math.ceil(seconds) + 2)
        return ("--timeout", own_end, "--metrics", "--yaml", str(results), "--temp-path", str(self._folder))

    def _listed(self, option: str) -> tuple[str, ...]:
        said = self._said(f"--{option}", "1", f"--{option}-method", "which", "--timeout", "1")
        _, colon, listed = said.partition("must be one of:")
        if not colon:
            raise VgoError(
                f"{self.program} does not list the methods of --{option}-method: install another version "
                "(apt install stress-ng)."
            )
        return tuple(listed.split("\n")[0].split())

    def _said(self, *words: str) -> str:
        try:
            ended = subprocess.run(
                (self.program, *words), capture_output=True, text=True, timeout=60, env=self._environment
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise VgoError(
                f"{self.program} cannot be run ({error}): install it anew (apt install stress-ng)."
            ) from error
        return ended.stdout + ended.stderr


def _stop(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGALRM)  # its workers end at once; told only to the leader, they go on


def _metrics(results: Path) -> dict[str, float]:
    """Read the counts of the one stressor; empty where the file is missing or says none."""
    try:
        read: Any = yaml.safe_load(results.read_text(encoding="utf-8", errors="replace"))
        found = read["metrics"][0]
        return {name: float(found[name]) for name in ("bogo-ops", "wall-clock-time", "user-time", "system-time")}
    except (OSError, yaml.YAMLError, KeyError, IndexError, TypeError, ValueError):
        return {}


def _reason(exit_code: int, error: bytes) -> str:
    said = error.decode(errors="replace").strip().splitlines()
    last = re.sub(r"^stress-ng: \w+: +\[\d+\] *", "", said[0])[:160] if said else ""
    if exit_code < 0:
        return f"ended by signal {-exit_code}"
    return f"exit code {exit_code}{f': {last}' if last else ''}" if exit_code else last or "told no result"


@contextmanager
def bench(quotas: Sequence[Quota | None], ahead: bool) -> Iterator[tuple[StressNg, list[RunGroup | None]]]:
    """Open what runs stressors: a folder, a group a quota."""
    with ExitStack() as stack:
        stress_ng = StressNg(stack.enter_context(temporary_folder()))
        groups = [
            stack.enter_context(limited_group(quota, ahead)) if quota is not None or ahead else None for quota in quotas
        ]
        yield stress_ng, groups


@dataclass(frozen=True)
class StressorConditions:
    """Stressors without a quota, under one, or both; the number of a pair is the place of its stressor."""

    bench: Bench
    stress_ng: StressNg
    groups: Mapping[str, RunGroup | None]
    """By condition."""
    stressors: Sequence[Stressor]
    """In the order of their runs."""
    seconds: float
    """Of a run; one that would not end within the budget is not begun."""
    quota: Quota | None = None
    """Under which the condition `quota` runs."""
    base: Mapping[str, float] | None = None
    """Rate of each on a base, in real time, over which the outcome is the speed-up; None: it is the rate."""

    def run_all(self, call: str, seed: str) -> Sequence[Row]:
        """Run what the log lacks of every stressor under each condition, next to each other in random order."""
        schedule = Complete(tuple(self.groups), len(self.stressors), seed)
        with self.bench.series(call, planned=len(self.groups) * len(self.stressors)) as series:
            carry_out(Experiment(self, schedule), series)
        return series.rows

    def run(self, series: Series, key: str, pair: int) -> None:
        """Run the stressor of a pair once."""
        bench, stressor = self.bench, self.stressors[pair]
        if bench.deadline.left_s < self.seconds:
            series.cut = True
            return
        group = self.groups[key]
        ran = self.stress_ng.run(bench.spawner, stressor, self.seconds, group=group, on_started=bench.on_started)
        base = self.base[stressor.name] if self.base else 1.0
        given = {"order": len(series.rows), "condition": key, "pair": pair, "group": stressor.group}
        cpus = self.quota.cpus if self.quota and key == LIMITED else None
        series.log.append({**given, **_counted(ran, base), "quota_cpus": cpus})
        bench.listener(RunEnded(series.rows if self.base else list(map(_alone, series.rows)), series.planned))

    def shown(self, series: Series, key: str) -> tuple[str, str]:
        """Give the condition; no layers are on."""
        return key, ""


def _counted(ran: StressorRun, base: float) -> Row:
    real = ran.rate("real")
    lacks = "" if real * ran.rate("cpu") else "no CPU time counted" if real else "zero bogo operations"
    failure = ran.failed or lacks
    outcome = None if failure else real / base
    judged = {"ok": int(not failure), "exit_code": None, "survivors": 0, "outcome": outcome}
    return {**judged, **ran.model_dump(include=set(COUNTED)), "layers": "", "failure": failure}


def _alone(row: Row) -> Row:
    """Tell a run apart from those of other stressors: their rates have no middle in common."""
    return {**row, "condition": f"{row['stressor']}, {row['condition']}"}


def stressor_table(rows: Sequence[Row], part: str, given: str, facts: Mapping[str, Any]) -> RecordedRuns:
    """Make a run table of rows, each of which has the number of its `part`; `given` names the table in messages."""
    recorded = measured(pl.DataFrame(rows, infer_schema_length=None), given, [COLUMNS], facts)
    return replace(recorded, roles={**recorded.roles, "stressor": "setting", part: "id"})


def repeated(battery: Battery, stressors: Sequence[Stressor]) -> tuple[Stressor, ...]:
    """Give every run of a profile: each stressor once a repetition, in an order drawn anew."""
    known = {one.name: one for one in sorted(stressors)}
    rounds = Complete(tuple(known), battery.repetitions, f"profile:{battery.seed}")
    return tuple(known[name] for block in rounds.blocks(list) for name in block.order)


def profile_of(rows: Sequence[Row], condition: str, system: System, battery: Battery) -> Profile:
    """Take the runs of one condition as a profile."""
    if battery.quota:
        system = system.model_copy(update={"name": f"{system.name} with {battery.quota.cpus:.3g} CPUs"})
    runs = tuple(
        StressorRun(repetition=row["repetition"], failed=row["failure"], **{name: row[name] for name in COUNTED})
        for row in rows
        if row["condition"] == condition
    )
    return Profile(system=system, battery=battery, runs=runs)
