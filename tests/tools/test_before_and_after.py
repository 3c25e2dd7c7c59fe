"""What comparing and applying read in the record: columns by pattern, runs of samples, CPUs that were busy."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from vgo_agent.knowledge.loader import load
from vgo_agent.tools.case import Case
from vgo_agent.tools.execution.outcomes import spread
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.record import Finished, Record, ToolError
from vgo_agent.tools.results import LookUpResult, ProfileResult
from vgo_agent.tools.row import BASELINE, Row
from vgo_agent.tools.run_table import artefacts
from vgo_agent.tools.statistics.shape.describe import describe
from vgo_agent.tools.statistics.spread import summarise
from vgo_agent.tools.steps.apply_mitigation import ApplyMitigationTool
from vgo_agent.tools.steps.compare import CompareTool
from vgo_agent.tools.steps.look_up import LookUpTool
from vgo_agent.tools.steps.screen_levels import ScreenLevelsTool
from vgo_agent.tools.subject import Limits, Subject
from vgo_agent.tools.trial_results import CompareResult

SUBJECT = Subject(command=("./bench",), argv=("/work/bench",), directory="/work", metric="ms", unit="ms")
TWO = Machine(cpus=(0, 1), online=2, root=True)


class Kept:
    """Artefacts in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def put(self, call: str, made: dict[str, bytes]) -> dict[str, str]:
        self.kept |= {f"{call}:{name}": data for name, data in made.items()}
        return {name: f"{call}:{name}" for name in made}

    def get(self, sha256: str) -> bytes:
        return self.kept[sha256]


def case(*calls: Finished, store: Kept | None = None, machine: Machine = TWO) -> Case:
    return Case("c009", SUBJECT, Limits(), machine, load(), Record(calls, store or Kept()))


def row(order: int, condition: str, outcome: float, pair: int = -1, **cells: float) -> Row:
    fixed = {"exit_code": 0, "survivors": 0, "wall_s": 1.0, "layers": ""}
    return {"order": order, "condition": condition, "pair": pair, "ok": 1, "outcome": outcome, **fixed, **cells}


def compared(made: Case, call: str) -> CompareResult:
    return CompareResult.model_validate(
        CompareTool().run(CompareTool().arguments.model_validate({"call": call}), made).result
    )


def test_level_3_shows_every_column_that_a_pattern_stands_for_and_by_how_much_it_fell() -> None:
    rng, store = np.random.default_rng(1), Kept()
    waits = {BASELINE: (8.0, 22178.0), "disk_scheduler_none": (2.0, 22149.0)}
    rows = [
        row(
            at,
            arm,
            100 + rng.normal(),
            at // 2,
            **{f"disk.sd{disk}.read_wait_ms": one for disk, one in zip("ab", both, strict=True)},
        )
        for at, (arm, both) in enumerate(list(waits.items()) * 12)
    ]
    result = {"mitigation": "disk_scheduler_none", "batch": 1, "pairs": 12, "failed": 0, "spent_s": 1.0, "summary": ""}
    result |= {"checks": [], "in_force": True, "told": [], "command": ""}
    call = Finished("c002", "apply_mitigation", {}, result, store.put("c002", artefacts(rows, {})))
    moved = {one.column: one for one in compared(case(call, store=store), "c002").moved}
    assert moved.keys() == {"disk.sda.read_wait_ms", "disk.sdb.read_wait_ms"}
    assert (moved["disk.sda.read_wait_ms"].baseline, moved["disk.sda.read_wait_ms"].mitigated) == (8.0, 2.0)
    assert (
        moved["disk.sda.read_wait_ms"].words == "fell by 75 % (no interval: alike in all runs)"
        and moved["disk.sda.read_wait_ms"].fell
    )
    sdb = moved["disk.sdb.read_wait_ms"]
    assert re.fullmatch(r"fell by 0.131 % \(.*\), which is not shown to be 5 % or more", sdb.words) and not sdb.fell


def test_the_place_of_a_sample_in_its_run_is_never_said_to_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vgo_agent.tools.steps.compare.telling", lambda *_: ("program.*",))
    rows, store = list[Row](), Kept()
    for at in range(24):
        arm = (BASELINE, "disk_scheduler_none")[at % 2]
        values = [{"ms": 100.0 + at % 5 + place, "queued": float(place + at % 3)} for place in range(3)]
        rows += spread(row(len(rows), arm, 0.0, at // 2), values, "ms", at)
    result = {"mitigation": "disk_scheduler_none", "batch": 1, "pairs": 12, "failed": 0, "spent_s": 1.0, "summary": ""}
    result |= {"checks": [], "in_force": True, "told": [], "command": ""}
    call = Finished("c002", "apply_mitigation", {}, result, store.put("c002", artefacts(rows, {})))
    assert [one.column for one in compared(case(call, store=store), "c002").moved] == ["program.queued"]


def samples(condition: str, runs: int, each: int, warm_up: int, seed: int) -> list[Row]:
    """Runs that have a level of their own, each of several samples; those of the warm-up are far off."""
    rng, rows = np.random.default_rng(seed), list[Row]()
    for number in range(runs):
        level = rng.normal() + 50 * (number * each < warm_up)
        values = [{"ms": 100 + level + 0.01 * rng.normal()} for _ in range(each)]
        rows += spread(row(len(rows), condition, 0.0), values, "ms", number)
    return rows


def series(runs: int, each: int, warm_up: int, seed: int) -> Case:
    store = Kept()
    before = samples(BASELINE, runs, each, warm_up, seed)
    after = samples("fix_the_work", runs + 3, each, 0, seed + 1)
    outcomes = np.array([one["outcome"] for one in before])
    measured = {"runs": len(before) - warm_up, "failed": 0, "survivors": 0, "warm_up": warm_up, "stopped_by": "run cap"}
    measured |= {"spent_s": 1.0, "outcome": summarise(outcomes).model_dump(), "sd_interval": None, "steady": False}
    measured |= {"shape": describe(outcomes).model_dump(), "pairs_needed": 40, "processes": runs, "summary": ""}
    by_hand = {"mitigation": "fix_the_work", "runs": len(after), "failed": 0, "warm_up": 0, "spent_s": 1.0}
    return case(
        Finished("c001", "measure", {}, measured, store.put("c001", artefacts(before, {}))),
        Finished("c002", "apply_by_hand", {}, {**by_hand, "summary": ""}, store.put("c002", artefacts(after, {}))),
        store=store,
    )


@pytest.mark.parametrize(("runs", "each", "warm_up"), [(12, 2, 0), (20, 3, 3), (20, 3, 4), (15, 5, 7)])
def test_series_of_samples_are_compared_by_whole_runs(runs: int, each: int, warm_up: int) -> None:
    comparison = compared(series(runs, each, warm_up, seed=7), "c002").comparison.described
    begun = -(-warm_up // each)
    assert (comparison.baseline_runs, comparison.other_runs) == ((runs - begun) * each, (runs + 3) * each)
    assert comparison.block % each == 0
    assert f"Each run gave {each} samples" in " ".join(comparison.notes)
    mean = comparison.ratio("mean").baseline
    assert mean is not None and mean < 110, "a run that the warm-up ends in is left out whole"


def profiled(busy_cpus: float | None, **seen: float) -> Finished:
    summary = summarise(np.arange(20.0)).model_dump()
    result = {"layers": [], "runs": 20, "failed": 0, "spent_s": 1.0, "outcome": summary, "bare": None, "summary": ""}
    result |= {"distortions": [], "columns": 0, "absent": {}, "busy_cpus": busy_cpus, **seen}
    ProfileResult.model_validate(result)
    return Finished("c001", "profile", {}, result, {})


@pytest.mark.parametrize("tool", [ApplyMitigationTool(), ScreenLevelsTool()], ids=lambda tool: tool.name)
def test_real_time_is_refused_where_nothing_would_end_one_that_spins(tool: Any) -> None:
    made = replace(case(profiled(busy_cpus=1.0)), machine=TWO.model_copy(update={"real_time_throttled": False}))
    words: dict[str, Any] = {"mitigation": "sched_fifo", "pairs": 10}
    if isinstance(tool, ScreenLevelsTool):
        words = {"mitigation": "sched_fifo", "parameter": "none", "levels": ("1",), "rounds": 10}
        fifo = load().mitigations["sched_fifo"]
        level = {"name": "none", "description": "Of this test.", "default": "1", "levels": ("1",)}
        searched = fifo.model_validate(fifo.model_dump() | {"parameters": [level]})
        made = Case(
            "c009",
            SUBJECT,
            Limits(),
            made.machine,
            made.plan.model_copy(update={"own": searched}).known(load()),
            made.record,
        )
    with pytest.raises(ToolError, match="a program that spins would hold its CPU for good"):
        tool.run(tool.arguments.model_validate(words), made)


def test_a_limit_below_the_peak_that_the_profile_has_seen_is_refused_and_not_looked_up_as_ready() -> None:
    known = load()
    write = {"path": "{cgroup.memory}/memory.max", "value": "512m"}
    other = known.mitigations["swappiness_low"]
    limit = other.model_validate(other.model_dump() | {"key": "limit", "applies": {}, "apply": {"write": [write]}})
    factor = next(iter(known.factors.values()))
    factors = {**known.factors, factor.key: factor.model_copy(update={"mitigations": ("limit",)})}
    known = replace(known, mitigations={**known.mitigations, "limit": limit}, factors=factors)
    made = replace(case(profiled(1.0, peak_bytes=2e9)), knowledge=known)
    with pytest.raises(ToolError, match="the program has used 2000 MB, and a limit of 537 MB would kill it"):
        ApplyMitigationTool().run(
            ApplyMitigationTool().arguments.model_validate({"mitigation": "limit", "pairs": 10}), made
        )
    found = LookUpTool().run(LookUpTool().arguments.model_validate({"factor": factor.key}), made).result
    assert isinstance(found, LookUpResult)
    assert "would kill it" in found.candidates[0].unmet[0]
