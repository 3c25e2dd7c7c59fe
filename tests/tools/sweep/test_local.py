"""Cells on this machine: what is not in force never counts, however often it is run."""

from __future__ import annotations

from pathlib import Path

from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.tools.execution.bench import Bench
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.subject import Subject
from vgo_agent.tools.sweep.cell import Cell
from vgo_agent.tools.sweep.setting import CellSetting
from vgo_agent.tools.sweep.treatments import LocalCells

NOTHING = {"key": "sweep", "name": "a", "description": "", "when": "", "hurts": "", "scope": "process", "apply": {}}
"""Sets nothing, and so cannot be in force."""


def test_a_setting_that_was_not_in_force_is_not_taken_for_proved_the_next_time(tmp_path: Path) -> None:
    subject = Subject(command=("sleep", "1"), argv=("/bin/sleep", "1"), directory=str(tmp_path))
    launch = Launch(argv=subject.argv, directory=tmp_path)
    unproved = CellSetting(subject, launch, Mitigation.model_validate({**NOTHING, "verify": {"thp_disabled": True}}))
    with Spawner() as spawner:
        bench = Bench(subject=subject, spawner=spawner, folder=tmp_path, launch=launch)
        executor = LocalCells(lambda cell: unproved, Machine(cpus=(0,)), bench)
        rows = [row for _ in range(2) if (row := executor.run(Cell("c0001", {"a": 1})))]
        executor.close()
    assert [row["begun"] for row in rows] == [0, 0]
    assert all(row["reason"].startswith("not in force: ") for row in rows)
    assert not executor.proved
