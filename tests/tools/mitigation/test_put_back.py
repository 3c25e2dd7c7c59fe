"""What is ours is put back, however far the dead agent had come; what is another's is left."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vgo_agent.knowledge.actions import Apply, Write
from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.by_hand import planned
from vgo_agent.tools.mitigation.journal import Journal, JournalEntry, new_entry
from vgo_agent.tools.mitigation.kernel_file import KernelFiles, SavedKnob
from vgo_agent.tools.subject import Subject

from .agents import put_back

SAVED = {"/sys/knob": "1", "/sys/sibling": "5"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root/sys").mkdir(parents=True)
    return tmp_path / "root"


def shown(root: Path, knob: str, sibling: str) -> None:
    (root / "sys/knob").write_text(f"{knob}\n")
    (root / "sys/sibling").write_text(f"{sibling}\n")


def left_behind(root: Path, journal: Path, **group: Any) -> JournalEntry:
    """An applied entry of a dead agent."""
    knob = replace(SavedKnob("/sys/knob", "0", SAVED), **group)
    entry = new_entry("some_mitigation", (knob,), root).model_copy(update={"pid": 2**22 + 1, "applied": True})
    journal.mkdir(mode=0o700, exist_ok=True)
    Journal(journal).record(entry)
    return entry


@pytest.mark.parametrize(("knob", "sibling"), [("0", "0"), ("0", "5"), ("1", "0")])
def test_a_group_that_was_half_back_is_put_back(knob: str, sibling: str, root: Path, journal_folder: Path) -> None:
    shown(root, knob, sibling)
    left_behind(root, journal_folder)
    assert len(put_back()) == 1
    assert {path: KernelFiles(root).read(path) for path in SAVED} == SAVED
    assert put_back() == []


@pytest.mark.parametrize(("coupled", "after"), [(False, "7"), (True, "1")])
def test_another_value_is_another_s_unless_a_coupled_knob_may_show_it_meanwhile(
    coupled: bool, after: str, root: Path, journal_folder: Path
) -> None:
    shown(root, "7", "5")
    left_behind(root, journal_folder, coupled=coupled)
    put_back()
    assert KernelFiles(root).read("/sys/knob") == after


def test_a_knob_that_is_gone_is_told_and_forgotten(root: Path, journal_folder: Path) -> None:
    left_behind(root, journal_folder)
    assert put_back() == ["/sys/knob: gone, so that there is nothing to put back"]
    assert put_back() == []


def test_what_would_be_done_is_listed_in_order_and_not_done(root: Path) -> None:
    shown(root, "1", "5")
    apply = Apply(
        write=(
            Write(path="/sys/knob", value="0", siblings=("sibling",)),
            Write(path="/sys/missing", value="0", optional=True),
        ),
        environment={"NAME": "value"},
    )
    mitigation = Mitigation(key="k", name="k", description="d", scope="system", when="w", hurts="h", apply=apply)
    subject = Subject(command=("true",), argv=("/bin/true",), directory="/")
    assert planned(mitigation, subject, Machine(), root) == (
        "write 0 to /sys/knob (now 1)",
        "  and put back with it /sys/sibling (now 5)",
        "/sys/missing: left out, it is not there",
        "set NAME=value",
    )
    assert KernelFiles(root).read("/sys/knob") == "1"


def test_what_a_dead_agent_had_begun_to_write_is_removed_and_that_of_a_living_one_is_not(
    root: Path, journal_folder: Path
) -> None:
    journal_folder.mkdir(mode=0o700)
    living = new_entry("living", (), root)
    (journal_folder / f"dead-{2**22 + 1}-5.draft").write_text("{")
    (journal_folder / f"living-{living.pid}-{living.start}.draft").write_text("{")
    assert put_back() == []
    (left,) = journal_folder.iterdir()
    assert left.name.startswith("living-")
