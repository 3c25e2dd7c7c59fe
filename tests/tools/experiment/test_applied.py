"""What conditions set is put back whatever fails, and what they are does not depend on what was looked up."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.loader import load
from vgo_agent.tools.execution.bench import Bench
from vgo_agent.tools.execution.row_log import RowsInMemory
from vgo_agent.tools.execution.series import OUTSIDE, Block
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.experiment.conditions import AS_GIVEN, AppliedConditions, Condition
from vgo_agent.tools.fleet import host_process
from vgo_agent.tools.fleet.host import HostAnswer, Order
from vgo_agent.tools.fleet.host_process import HostProcess
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.study.setting import StudySetting
from vgo_agent.tools.subject import Subject
from vgo_agent.tools.sweep.cell import CellSettings
from vgo_agent.tools.sweep.space import Space
from vgo_agent.tools.sweep.sweep import CellConditions, Sweep

MITIGATION = next(iter(load().mitigations.values()))
SUBJECT = Subject(command=("true",), argv=("/bin/true",), directory="/")
MANY = Space.model_validate(
    {"parameters": {"size": {"levels": list(range(999))}, "mine": {"levels": list(range(999)), "environment": "MINE"}}}
)


def test_a_cell_that_cannot_be_put_back_keeps_nothing_else_from_being_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, ended = Mock(spec=Bench, launch=None), []

    @contextmanager
    def change(*_: Any) -> Any:
        try:
            yield Mock(notices=("told",))
        finally:
            ended.append(True)

    bench.change = change
    cells = Mock(close=Mock(side_effect=VgoError("no")))
    monkeypatch.setattr("vgo_agent.tools.experiment.conditions.CellRuns", Mock(return_value=cells))
    conditions = {
        "mitigation": Condition(name="mitigation", mitigation=MITIGATION),
        "cell": Condition(name="cell", cell=CellSettings(parameters={})),
    }
    applied = AppliedConditions(bench, conditions, Machine())
    for key in conditions:
        applied.run(Mock(), key, 0)
    with pytest.raises(VgoError, match="no"):
        applied.close()
    assert ended and applied.heard == ["told"]
    applied.close()
    cells.close.assert_called_once()


def test_conditions_are_alike_where_one_at_most_changes_anything_and_cells_never_are() -> None:
    changed = [Condition(name=name, mitigation=MITIGATION) for name in "ab"]
    for number, alike in ((0, True), (1, True), (2, False)):
        conditions = {one.name: one for one in (AS_GIVEN, *changed[:number])}
        assert AppliedConditions(Mock(), conditions).alike is alike
    sweep = Sweep(
        MANY,
        1,
        RowsInMemory([{"batch": 0, "cells": [{"id": "c0001", "values": {"size": 1, "mine": 1}}]}]),
        Mock(rows=[]),
    )
    cells = CellConditions(sweep, lambda _: SUBJECT)
    assert not AppliedConditions(Mock(), cells).alike
    assert cells["c0001"].cell
    assert not AppliedConditions(Mock(), cells).alike


def test_a_cell_travels_with_what_it_sets_alone() -> None:
    cell = CellSettings.of(MANY, {"size": 7, "mine": 8}, lambda _: SUBJECT)
    assert cell.texts == {"mine": "8"}
    sent = Condition(name="c0001", cell=cell).model_dump_json()
    assert len(sent) < 2000
    assert Condition.model_validate(json.loads(sent)).cell == cell


@pytest.mark.parametrize("one", [AS_GIVEN, Condition(name="two", setting=StudySetting(name="two"))])
def test_a_host_is_surveyed_for_mitigations_only_where_there_is_one(
    one: Condition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_process, "survey", Mock(side_effect=AssertionError("surveyed")))
    order = Order(
        act="run",
        subject=SUBJECT.model_copy(update={"directory": str(tmp_path)}),
        series="c001",
        blocks=(Block(OUTSIDE, (one.name,)),),
        conditions={one.name: one},
    )
    with Spawner() as spawner:
        answer: HostAnswer = HostProcess(spawner, tmp_path).answer(order.model_dump_json())
    assert (answer.error, [row["ok"] for row in answer.rows]) == ("", [1])
