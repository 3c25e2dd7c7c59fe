"""Finished runs with every verdict: synthetic run tables, and the real tools on top of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from vgo_agent.agent.record import FinishedRun
from vgo_agent.knowledge.loader import Knowledge, load
from vgo_agent.tools.case import Case
from vgo_agent.tools.distortion import Distortion
from vgo_agent.tools.hosts import FLEET
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.by_hand import command_line
from vgo_agent.tools.mitigation.verification import Check
from vgo_agent.tools.record import Finished, Result
from vgo_agent.tools.registry import TOOLS
from vgo_agent.tools.results import MeasureResult, ProfileResult
from vgo_agent.tools.run_table import artefacts, write_runs
from vgo_agent.tools.statistics.shape.describe import describe
from vgo_agent.tools.statistics.spread import log_sd_interval, summarise
from vgo_agent.tools.subject import Limits, Subject
from vgo_agent.tools.trial_results import ApplyResult

from ...tools.profiles import MACHINE as TEST_MACHINE
from ...tools.profiles import MadeCalls

KNOWLEDGE: Knowledge = load()
SUBJECT = Subject(command=("./bench.sh", "--size", "12"), argv=("/w/bench.sh", "--size", "12"), directory="/w")
MACHINE = TEST_MACHINE.model_copy(
    update={
        "memory_bytes": 8 * 2**30,
        "executables": ("taskset", "chrt"),
        "absent": {"rapl": "The kernel shows no energy counter (RAPL, /sys/class/powercap)."},
    }
)
LIMITS = Limits()
TIP = "ab" * 32


@dataclass
class MadeDiagnosis(MadeCalls):
    """Calls one after the other: pure tools really run, measuring ones are given their rows."""

    subject: Subject = SUBJECT
    limits: Limits = LIMITS
    machine: Machine = MACHINE

    def call(self, tool: str, **arguments: Any) -> str:
        case = Case(self.next_id, self.subject, self.limits, self.machine, KNOWLEDGE, self.record)
        given = TOOLS[tool].arguments.model_validate(arguments)
        return self._add(tool, arguments, TOOLS[tool].run(given, case).result)

    def refused(self, tool: str, error: str, **arguments: Any) -> None:
        self.calls.append(Finished(self.next_id, tool, arguments, None, {}, error))

    def measure(
        self, outcomes: np.ndarray, unusable: str = "", failed: int = 0, hosts: np.ndarray | None = None
    ) -> None:
        shape = describe(outcomes)
        steady = outcomes[shape.warm_up :]
        summary = summarise(steady)
        result = MeasureResult(
            runs=summary.n,
            failed=failed,
            survivors=0,
            warm_up=shape.warm_up,
            stopped_by="spread known",
            spent_s=float(outcomes.sum()),
            outcome=summary,
            sd_interval=log_sd_interval(steady),
            shape=shape,
            unusable=unusable,
            steady=not unusable and (summary.cv or 0.0) <= self.limits.steady_cv,
            pairs_needed=40,
            summary=f"{summary.n} runs",
        )
        arguments = {"max_runs": 500, "max_seconds": 100}
        if hosts is None:
            self._add("measure", arguments, result, rows(outcomes))
            return
        table = [row | {"host": str(host)} for row, host in zip(rows(outcomes), hosts, strict=True)]
        self.add("measure", arguments, result, artefacts(table, {FLEET.key: FLEET}))

    def profile(self, outcomes: np.ndarray, columns: Mapping[str, np.ndarray]) -> None:
        result = ProfileResult(
            layers=("process",),
            runs=outcomes.size,
            failed=0,
            spent_s=float(outcomes.sum()),
            outcome=summarise(outcomes),
            columns=len(columns),
            bare=None,
            distortions=(Distortion(layers=("process",), runs=outcomes.size, mean=None, spread=None),),
            absent={"process": {"perf.cycles": "no hardware counters", "perf.instructions": "no hardware counters"}},
            busy_cpus=1.0,
            summary="profiled",
        )
        self._add("profile", {"layers": ["process"], "runs": 100}, result, rows(outcomes, columns))

    def apply(
        self,
        mitigation: str,
        batch: int,
        arms: tuple[np.ndarray, np.ndarray],
        moved: Mapping[str, tuple[float, float]] | None = None,
        seen: str = "0",
    ) -> str:
        in_force = seen == "0"
        check = Check(level=2, what="Cpus_allowed_list", expected="0", seen=seen, passed=in_force)
        pairs = [row for arm, name in zip(arms, ("baseline", mitigation), strict=True) for row in rows(arm)]
        counters = moved or {}
        for order, row in enumerate(pairs):
            late = order >= arms[0].size
            row |= {"condition": mitigation if late else "baseline", "pair": row["order"], "order": order}
            row |= {name: values[late] for name, values in counters.items()}
        result = ApplyResult(
            mitigation=mitigation,
            batch=batch,
            pairs=arms[0].size if in_force else 0,
            failed=0,
            spent_s=float(sum(arm.sum() for arm in arms)),
            checks=(check,),
            in_force=in_force,
            told=(),
            command=command_line(KNOWLEDGE.mitigations[mitigation], self.subject, self.machine),
            summary=f"{mitigation}: proved in force" if in_force else f"{mitigation}: not proved in force",
        )
        arguments = {"mitigation": mitigation, "batch": batch, "pairs": arms[0].size}
        return self._add("apply_mitigation", arguments, result, pairs if in_force else [])

    def finish(self) -> FinishedRun:
        self.call("conclude")
        return FinishedRun(
            events=(),
            record=self.record,
            subject=self.subject,
            limits=self.limits,
            machine=self.machine,
            knowledge=KNOWLEDGE,
            planner="rules",
            tip=TIP,
            seconds=63.0,
            agent_seconds=2.5,
            run_dir="vgo-runs/20260101-000000-bench",
        )

    def _add(self, tool: str, arguments: Mapping[str, Any], result: Result, table: Any = None) -> str:
        return self.add(tool, arguments, result, {} if table is None else {"runs.csv": write_runs(table)})


def rows(outcomes: np.ndarray, columns: Mapping[str, np.ndarray] | None = None) -> list[dict[str, Any]]:
    return [
        {
            "order": order,
            "condition": "baseline",
            "pair": -1,
            "ok": 1,
            "exit_code": 0,
            "survivors": 0,
            "outcome": float(outcome),
            "wall_s": float(outcome),
            "layers": "process",
            **{name: float(values[order]) for name, values in (columns or {}).items()},
        }
        for order, outcome in enumerate(outcomes)
    ]


def varying(seed: int, runs: int = 120) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Runs that are slow when they migrate, with counters that say so, follow from it, or say nothing."""
    rng = np.random.default_rng(seed)
    slow = rng.random(runs) < 0.3
    outcome = np.where(slow, 0.31, 0.2) + rng.normal(0, 0.006, runs)
    migrations = np.where(slow, rng.integers(20, 40, runs), rng.integers(0, 6, runs)).astype(float)
    return outcome, {
        "migrations": migrations,
        "perf.migrations": migrations + rng.integers(0, 2, runs),
        "minor_faults": rng.integers(200, 260, runs).astype(float),
        "involuntary_switches": rng.integers(0, 9, runs).astype(float),
        "on_cpu_ms": 1000 * outcome,
        "major_faults": np.zeros(runs),
    }


def noise(seed: int, runs: int = 120) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Runs that vary, with counters that have nothing to do with it."""
    outcome, columns = varying(seed, runs)
    other = np.random.default_rng(seed + 1)
    return outcome, {name: other.permutation(values) for name, values in columns.items() if name != "on_cpu_ms"}


def _diagnosed(subject: Subject, limits: Limits, made: Callable[..., Any] = varying) -> MadeDiagnosis:
    diagnosis = MadeDiagnosis(subject, limits)
    diagnosis.measure(made(1)[0])
    diagnosis.profile(*made(2))
    for tool in ("label", "fit_tree", "rank_factors"):
        diagnosis.call(tool)
    return diagnosis


def _batch(diagnosis: MadeDiagnosis, mitigation: str, batch: int, scale: float, seed: int) -> None:
    pairs = 60 if scale < 1 else 240  # no effect takes more pairs to be shown
    baseline = varying(seed, pairs)[0]
    mitigated = np.random.default_rng(seed).normal(0.205, 0.006, 60) if scale < 1 else varying(seed + 50, pairs)[0]
    moved = {"migrations": (12.0, 0.0 if scale < 1 else 12.5)}
    diagnosis.call("compare", call=diagnosis.apply(mitigation, batch, (baseline, mitigated), moved))


def mitigated(subject: Subject = SUBJECT, limits: Limits = LIMITS) -> FinishedRun:
    diagnosis = _diagnosed(subject, limits)
    diagnosis.call("look_up", factor="cpu_migrations")
    diagnosis.apply("sched_fifo", 1, (np.ones(2), np.ones(2)), seen="1")
    _batch(diagnosis, "own_autogroup", 1, 1.0, 5)
    _batch(diagnosis, "pin_to_cpu", 1, 0.2, 6)
    _batch(diagnosis, "pin_to_cpu", 2, 0.2, 7)
    return diagnosis.finish()


def unmitigated(subject: Subject = SUBJECT, limits: Limits = LIMITS) -> FinishedRun:
    diagnosis = _diagnosed(subject, limits)
    diagnosis.call("look_up", factor="cpu_migrations")
    _batch(diagnosis, "pin_to_cpu", 1, 1.0, 5)
    diagnosis.refused(
        "apply_mitigation", "not approved: no terminal to ask on", mitigation="numa_balancing_off", batch=1
    )
    return diagnosis.finish()


def invisible(subject: Subject = SUBJECT, limits: Limits = LIMITS) -> FinishedRun:
    return _diagnosed(subject, limits, noise).finish()


def steady(subject: Subject = SUBJECT, limits: Limits = LIMITS) -> FinishedRun:
    diagnosis = MadeDiagnosis(subject, limits)
    diagnosis.measure(np.random.default_rng(3).normal(0.2, 0.0008, 60))
    return diagnosis.finish()


def insufficient(subject: Subject = SUBJECT, limits: Limits = LIMITS) -> FinishedRun:
    diagnosis = MadeDiagnosis(subject, limits)
    diagnosis.measure(np.full(30, 5.0), unusable="All 30 runs gave 5; print more digits, or choose another --metric.")
    return diagnosis.finish()


def undecided(subject: Subject = SUBJECT, limits: Limits = LIMITS) -> FinishedRun:
    diagnosis = _diagnosed(subject, limits)
    diagnosis.call("look_up", factor="cpu_migrations")
    _batch(diagnosis, "pin_to_cpu", 1, 0.2, 6)
    return diagnosis.finish()


def only_measured(subject: Subject = SUBJECT, limits: Limits = LIMITS) -> FinishedRun:
    diagnosis = MadeDiagnosis(subject, limits)
    diagnosis.measure(varying(1)[0])
    return diagnosis.finish()


def looked_up_only(subject: Subject = SUBJECT, limits: Limits = LIMITS) -> FinishedRun:
    diagnosis = _diagnosed(subject, limits)
    diagnosis.call("look_up", factor="cpu_migrations")
    return diagnosis.finish()


MAKERS: dict[str, Callable[..., FinishedRun]] = {
    "confirmed": mitigated,
    "refuted": unmitigated,
    "not visible": invisible,
    "steady": steady,
    "unusable": insufficient,
    "undecided": undecided,
}


def promise_denied(subject: Subject = SUBJECT, limits: Limits = LIMITS) -> FinishedRun:
    diagnosis = _diagnosed(subject, limits)
    diagnosis.call("look_up", factor="cpu_migrations")
    diagnosis.refused("apply_mitigation", "not approved: no", mitigation="tmpfs_directory", batch=1)
    return diagnosis.finish()


OTHERS = {"only measured": only_measured, "looked up only": looked_up_only, "promise denied": promise_denied}


@pytest.fixture(scope="session")
def make() -> Callable[..., FinishedRun]:
    """Make a run of a kind, with a subject or limits of one's own."""
    return lambda kind, subject=SUBJECT, limits=LIMITS: (MAKERS | OTHERS)[kind](subject, limits)


@pytest.fixture(scope="session")
def finished() -> Callable[[str], FinishedRun]:
    """A run with the verdict asked for."""
    return cache(lambda verdict: MAKERS[verdict]())


@pytest.fixture(params=list(MAKERS))
def any_run(request: pytest.FixtureRequest, finished: Callable[[str], FinishedRun]) -> FinishedRun:
    """One run of each verdict."""
    return finished(request.param)


@pytest.fixture
def diagnosis() -> MadeDiagnosis:
    """Nothing has been called yet."""
    return MadeDiagnosis()


@pytest.fixture
def looked_up() -> MadeDiagnosis:
    """A diagnosis that has found migrations, and knows what may help."""
    found = _diagnosed(SUBJECT, LIMITS)
    found.call("look_up", factor="cpu_migrations")
    return found
