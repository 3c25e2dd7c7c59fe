"""Recorded cases made by hand: synthetic rows under the real names of the process layer, with a cause that is known."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import yaml

from vgo_agent.evals.recorded.folders import CASE, MANIFEST, RECORDING, TABLE, TRUTH
from vgo_agent.evals.recorded.recorded_case import TRIAL
from vgo_agent.evals.recorded.schema import SERIES, CaseFile, Profiling, Recording, Trial, Truth
from vgo_agent.knowledge.loader import load
from vgo_agent.layers.loader import load_layers
from vgo_agent.tools.experiment.schedules import BARE, Crossover, bare_runs, rotated
from vgo_agent.tools.mitigation.verification import Check
from vgo_agent.tools.row import BASELINE, FIXED
from vgo_agent.tools.run_table import LAYERS, write_layers
from vgo_agent.tools.subject import Limits, Subject

from ..tools.profiles import MACHINE as TEST_MACHINE

Kind = Literal["faults", "noise", "steady"]
"""faults: page faults make runs slow; noise: runs vary, and no column goes with it; steady: they do not vary."""
MITIGATIONS = ("glibc_malloc_thresholds", "glibc_hugetlb", "pin_to_cpu")
"""Recorded; the first two stand in this order for page_faults, the last for other factors."""
HELPS = "glibc_hugetlb"
FAULT_S = 0.5e-6
THP = "/sys/kernel/mm/transparent_hugepage/enabled"
MACHINE = TEST_MACHINE.model_copy(update={"memory_bytes": 8 * 2**30, "thp": "always [madvise] never", "files": (THP,)})
Made = dict[str, Any]


@dataclass(frozen=True)
class Program:
    """What one run gives, by chance."""

    kind: Kind
    rng: np.random.Generator

    def run(self, calm: bool) -> tuple[float, dict[str, float]]:
        """Wall time in seconds and every column; calm: its cause is taken away."""
        rng = self.rng
        wild = self.kind == "faults" and not calm
        faults = round(rng.choice((4_000, 30_000), p=(0.6, 0.4)) * rng.uniform(0.9, 1.1)) if wild else 4_000
        scatter = {"faults": 0.0004, "noise": 0.002, "steady": 0.00004}[self.kind]
        in_kernel = FAULT_S * faults
        wall_s = 0.02 + in_kernel + abs(float(rng.normal())) * scatter
        switches = int(rng.poisson(3))
        return wall_s, {
            "minor_faults": faults,
            "perf.minor_faults": faults - int(rng.poisson(20)),
            "vm.pgfault": faults + int(rng.poisson(400)),
            "major_faults": 0,
            "voluntary_switches": int(rng.poisson(2)),
            "involuntary_switches": switches,
            "migrations": int(rng.poisson(1)),
            "perf.migrations": int(rng.poisson(1)),
            "perf.context_switches": switches + int(rng.poisson(2)),
            "run_delay_ms": float(rng.exponential(0.05)),
            "max_rss_kb": 9_000 + int(rng.poisson(50)),
            "irq.RES": int(rng.poisson(4)),
            "softirq.NET_RX": int(rng.poisson(1)),
            "user_s": 0.98 * wall_s - in_kernel,
            "system_s": in_kernel + float(rng.exponential(0.0001)),
            "stat.intr": round(wall_s * 20_000) + int(rng.poisson(5)),
        }


TRUTHS: Mapping[Kind, Made] = {
    "faults": {
        "verdicts": ("remedy confirmed",),
        "causes": ("page_faults",),
        "must_not_help": ("pin_to_cpu",),
        "why": "Page faults were put into the rows.",
    },
    "noise": {"verdicts": ("cause not visible",), "control": True, "why": "No column was linked to the outcome."},
    "steady": {"verdicts": ("steady",), "control": True, "why": "The rows hardly vary."},
}


def made_case(
    folder: Path,
    kind: Kind = "faults",
    *,
    key: str = "",
    helps: str = HELPS,
    split: Literal["train", "held-out"] = "train",
    runs: int = 120,
    pairs: int = 200,
    seed: int = 1,
) -> Path:
    """Write a complete case below `folder` and return where it lies.

    `runs` of the baseline, as many profiled ones (with bare ones between), `pairs` of each of MITIGATIONS, of which
    only `helps` takes the cause away; with another key, or an empty one, none does. `key`: `made-KIND` if empty.
    The limits of the case ask for no more runs than one seed draws (three quarters) and one batch is dealt (half).
    """
    key = key or f"made-{kind}"
    case = folder / key
    case.mkdir(parents=True)
    program = Program(kind, np.random.default_rng(seed))
    rows = [*_baseline(program, runs), *_profile(program, runs, seed)]
    for mitigation in MITIGATIONS:
        rows += _pairs(program, mitigation, mitigation == helps, pairs, seed)
    names = [SERIES, TRIAL, *FIXED, *dict.fromkeys(name for row in rows for name in row if name not in _OWN)]
    table = pl.DataFrame([{name: row.get(name) for name in names} for row in rows], infer_schema_length=None)
    table.write_parquet(case / TABLE, compression="zstd")
    truth = TRUTHS[kind] | ({"accepted": (helps,)} if kind == "faults" and helps else {})
    if kind == "faults" and not helps:
        truth |= {"verdicts": ("cause explained, remedy refuted", "cause explained, remedy not tried")}
    _write_yaml(case / TRUTH, Truth(**truth))
    _write_yaml(case / CASE, _case_file(key, kind, split, min(3 * runs // 4, pairs // 2)))
    (case / RECORDING).write_text(_recording(pairs).model_dump_json(indent=1))
    (case / LAYERS).write_bytes(write_layers({"process": load_layers()["process"]}))
    sealed(case)
    return case


def sealed(case: Path) -> None:
    """Write the manifest anew, as after a change that is meant."""
    files = sorted(path for path in case.iterdir() if path.name != MANIFEST)
    lines = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    (case / MANIFEST).write_text("".join(lines))


_OWN = frozenset({SERIES, TRIAL, *FIXED})


def _row(series: str, order: int, wall_s: float, **more: Any) -> Made:
    fixed = {"condition": BASELINE, "pair": -1, "ok": 1, "exit_code": 0, "survivors": 0, "layers": ""}
    return {SERIES: series, TRIAL: None, **fixed, "order": order, "outcome": wall_s, "wall_s": wall_s, **more}


def _baseline(program: Program, runs: int) -> Iterator[Made]:
    for order in range(runs):
        wall_s, _ = program.run(calm=False)
        yield _row("baseline", order, wall_s)


def _profile(program: Program, runs: int, seed: int) -> Iterator[Made]:
    # A seed draws three quarters of the bare runs too.
    sets = [*rotated((("process",),), runs, seed), *([BARE] * (bare_runs(runs, runs) // 3 + 1))]
    for order, layers in enumerate(sets):
        wall_s, cells = program.run(calm=False)
        yield _row("profile", order, wall_s, layers="+".join(layers), **(cells if layers else {}))


def _pairs(program: Program, mitigation: str, helps: bool, pairs: int, seed: int) -> Iterator[Made]:
    told = {*load().mitigations[mitigation].moves, "minor_faults"}
    schedule = Crossover((BASELINE, mitigation), pairs, f"{seed}:{mitigation}")
    turns = ((condition, block.number) for block in schedule.blocks(list) for condition in block.order)
    for order, (condition, pair) in enumerate(turns):
        wall_s, cells = program.run(calm=helps and condition == mitigation)
        kept = {name: cell for name, cell in cells.items() if name in told}
        more = {TRIAL: mitigation, "condition": condition, "pair": pair, "layers": "process"}
        yield _row("pairs", order, wall_s, **more, **kept)


def _case_file(key: str, kind: Kind, split: Literal["train", "held-out"], max_runs: int) -> CaseFile:
    return CaseFile(
        key=key,
        title=f"Made by hand: {kind}",
        question="Some runs of my program are slow, and I do not know why.",
        split=split,
        tags=("made", "memory") if kind == "faults" else ("made", "control"),
        difficulty=1 if kind == "faults" else 3,
        made_by="tests/evals/cases_made.py",
        limits=Limits(min_runs=min(30, max_runs), max_runs=max_runs, budget_s=60),
    )


def _recording(pairs: int) -> Recording:
    check = Check(level=1, what="the setting", expected="on", seen="on", passed=True)
    return Recording(
        recorded=date(2026, 1, 1),
        version="0",
        subject=Subject(command=("./made",), argv=("/made",), directory="/"),
        machine=MACHINE,
        machine_words="No machine: made by hand.",
        profiling=Profiling(layers=("process",)),
        trials={mitigation: Trial(pairs=pairs, checks=(check,)) for mitigation in MITIGATIONS},
    )


def _write_yaml(path: Path, model: CaseFile | Truth) -> None:
    shown = model.model_dump(mode="json", exclude_defaults=True)
    path.write_text(yaml.safe_dump(shown, sort_keys=False, allow_unicode=True))
