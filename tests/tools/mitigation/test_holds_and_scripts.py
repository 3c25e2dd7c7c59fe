"""What ends with the file that is open, and commands that only trusted files may run."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from vgo_agent.knowledge.actions import Script
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.layers.reading import trust
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.engine import applied
from vgo_agent.tools.mitigation.journal import Journal, new_entry
from vgo_agent.tools.mitigation.restore import restore
from vgo_agent.tools.subject import Subject

from .agents import holding

LATENCY = "/dev/cpu_dma_latency"


def latency() -> int:
    with open(LATENCY, "rb") as file:
        return int(struct.unpack("=i", file.read(4))[0])


@pytest.fixture
def holds(one: Callable[..., Mitigation]) -> Mitigation:
    if not os.access(LATENCY, os.R_OK | os.W_OK):
        pytest.skip(f"{LATENCY} cannot be written: needs root and a kernel with CONFIG_CPU_IDLE")
    return one(scope="system", apply={"hold": [{"path": LATENCY, "int32": 3}]})


def test_a_file_is_held_only_while_it_is_on(
    holds: Mitigation, subject: Subject, launch: Launch, machine: Machine
) -> None:
    before = latency()
    with applied(holds, launch, subject, machine) as change:
        assert latency() == before
        for _ in range(2):
            (check,) = change.on()
            assert check.passed
            assert latency() == 3
            assert all(check.passed for check in change.off())
            assert latency() == before
        change.on()
    assert latency() == before


def test_what_is_held_ends_with_the_agent(holds: Mitigation, tmp_path: Path) -> None:
    before = latency()
    with holding(holds, tmp_path) as agent:
        assert latency() == 3
        agent.kill()
        agent.wait()
        assert latency() == before


@pytest.mark.parametrize(("path", "said"), [("/dev/null", "no file whose value ends"), (LATENCY, "Cannot hold")])
def test_what_cannot_be_held_is_refused(
    path: str,
    said: str,
    one: Callable[..., Mitigation],
    subject: Subject,
    launch: Launch,
    machine: Machine,
    tmp_path: Path,
) -> None:
    mitigation = one(scope="system", apply={"hold": [{"path": path, "int32": 0}]})
    with pytest.raises(VgoError, match=said), applied(mitigation, launch, subject, machine, root=tmp_path):
        pass


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "mark"


@pytest.fixture
def scripted(one: Callable[..., Mitigation], mark: Path) -> Mitigation:
    words = {"apply": ["/bin/touch", str(mark)], "verify": ["test", "-e", str(mark)], "revert": ["rm", "-f", str(mark)]}
    return one(scope="system", apply={"script": words})


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "some_mitigation.yaml"
    path.write_text("key: some_mitigation\n")
    return path


def test_a_script_of_a_file_that_nobody_trusts_is_shown_and_not_run(
    scripted: Mitigation, mark: Path, source: Path, subject: Subject, launch: Launch, machine: Machine
) -> None:
    for where in (None, source):
        with (
            pytest.raises(VgoError, match=rf"not trusted .*it would run: /bin/touch {mark}; test -e {mark}; rm -f"),
            applied(scripted, launch, subject, machine, source=where),
        ):
            pass
    assert not mark.exists()


def test_a_trusted_script_is_run_asked_and_reverted(
    scripted: Mitigation,
    mark: Path,
    source: Path,
    subject: Subject,
    launch: Launch,
    machine: Machine,
    journal_folder: Path,
) -> None:
    trust([source])
    with applied(scripted, launch, subject, machine, source=source) as change:
        assert not mark.exists()
        assert all(check.passed for check in change.on())
        assert mark.exists()
        (entry,) = Journal(journal_folder).entries()
        assert entry.revert == ("rm", "-f", str(mark))
        assert all(check.passed for check in change.off())
        assert not mark.exists()
        change.on()
    assert not mark.exists()
    assert not Journal(journal_folder).entries()


def test_a_script_that_fails_says_what_it_said(
    scripted: Mitigation, source: Path, subject: Subject, launch: Launch, machine: Machine, journal_folder: Path
) -> None:
    assert scripted.apply is not None and scripted.apply.script is not None
    trust([source])
    words = Script(apply=("cat", "/no/such"), verify=("true",), revert=("true",))
    mitigation = scripted.model_copy(update={"apply": scripted.apply.model_copy(update={"script": words})})
    with (
        pytest.raises(VgoError, match=r"`cat /no/such` failed \(cat: /no/such: No such file"),
        applied(mitigation, launch, subject, machine, source=source) as change,
    ):
        change.on()
    assert not Journal(journal_folder).entries()


def test_the_way_back_of_a_script_is_gone_for_a_dead_agent(mark: Path, journal_folder: Path) -> None:
    mark.touch()
    journal_folder.mkdir(mode=0o700)
    entry = new_entry("scripted", (), Path("/")).model_copy(update={"pid": 2**22 + 1, "revert": ("rm", str(mark))})
    Journal(journal_folder).record(entry)
    assert f"scripted: reverted by `rm {mark}`" in restore()  # tests beside this one leave folders of their own
    assert not mark.exists()
    assert not any("scripted" in line for line in restore())
