"""Cells on this machine: what is not in force never counts, however often it is run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.tools.execution.bench import Bench
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.series import Series
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.experiment.conditions import AppliedConditions, Condition
from vgo_agent.tools.experiment.experiment import Experiment, carry_out
from vgo_agent.tools.experiment.schedules import Repeat
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.subject import Subject
from vgo_agent.tools.sweep import cell_runs
from vgo_agent.tools.sweep.cell import CellSettings
from vgo_agent.tools.sweep.cell_runs import CellSetting
from vgo_agent.tools.sweep.space import Space

NOTHING = {"key": "sweep", "name": "a", "description": "", "when": "", "hurts": "", "scope": "process", "apply": {}}
"""Sets nothing, and so cannot be in force."""
SPACE = Space.model_validate(
    {"parameters": {"size": {"levels": [1, 2]}, "mine": {"levels": [7], "environment": "MINE"}}}
)


def run(tmp_path: Path, command: tuple[str, ...], order: Iterable[str], **cells: CellSettings) -> tuple[Bench, Series]:
    """Run cells one after the other."""
    subject = Subject(command=command, argv=command, directory=str(tmp_path))
    conditions = {name: Condition(name=name, cell=cell) for name, cell in cells.items()}
    with Spawner() as spawner:
        bench = Bench(subject=subject, spawner=spawner, folder=tmp_path, launch=Launch(command, directory=tmp_path))
        with bench.series("sweep") as series, AppliedConditions(bench, conditions, Machine(cpus=(0,))) as applied:
            for key in order:
                applied.run(series, key, 0)
    return bench, series


def test_a_setting_that_was_not_in_force_is_not_taken_for_proved_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = Subject(command=("sleep", "1"), argv=("/bin/sleep", "1"), directory=str(tmp_path))
    launch = Launch(argv=subject.argv, directory=tmp_path)
    unproved = CellSetting(subject, Mitigation.model_validate({**NOTHING, "verify": {"memory_policy": "bind"}}))
    monkeypatch.setattr(cell_runs, "cell_setting", lambda cell, machine: unproved)
    conditions = {"c0001": Condition(name="c0001", cell=CellSettings(parameters={}))}
    with Spawner() as spawner:
        bench = Bench(subject=subject, spawner=spawner, folder=tmp_path, launch=launch)
        with bench.series("sweep") as series, AppliedConditions(bench, conditions, Machine(cpus=(0,))) as applied:
            carry_out(Experiment(applied, Repeat(2, "c0001")), series)
    assert [row["begun"] for row in series.rows] == [0, 0]
    assert all(row["reason"].startswith("not in force: ") for row in series.rows)
    assert not applied.proved


def cell_of(size: int, tmp_path: Path) -> CellSettings:
    """A cell of the space, of a program that ends at once."""
    subject = Subject(command=("true", str(size)), argv=("/bin/true", str(size)), directory=str(tmp_path))
    return CellSettings.of(SPACE, {"size": size, "mine": 7}, lambda _: subject)


def test_a_program_of_a_millisecond_is_seen_in_its_environment_and_no_switch_leaves_anything(tmp_path: Path) -> None:
    cells = {f"c{size}": cell_of(size, tmp_path) for size in (1, 2)}
    bench, series = run(tmp_path, ("/bin/true",), ("c1", "c2") * 5, **cells)
    assert [row["ok"] for row in series.rows] == [1] * 10
    assert not bench._ways._made
