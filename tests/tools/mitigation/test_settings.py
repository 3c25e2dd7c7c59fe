"""Settings of the real kernel, switched on and off, and put back whatever happens."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vgo_agent.knowledge.actions import Write
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.loader import load
from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.by_hand import command_line
from vgo_agent.tools.mitigation.engine import Applied, applied
from vgo_agent.tools.mitigation.journal import Journal
from vgo_agent.tools.mitigation.kernel_file import KernelFiles, KernelRefusal
from vgo_agent.tools.mitigation.kernel_settings import KernelSetting, resolve, rounded, same
from vgo_agent.tools.mitigation.parameters import with_values
from vgo_agent.tools.mitigation.preconditions import unmet
from vgo_agent.tools.mitigation.restore import restore
from vgo_agent.tools.mitigation.verification import Check
from vgo_agent.tools.subject import Subject
from vgo_agent.tools.survey import survey

from .agents import PRELUDE, KnobSet, killed_with_its_watchdog, put_back

KERNEL = KernelFiles()
KNOWN = {m.key: m for m in load().mitigations.values() if m.apply is not None and m.apply.write}
EACH = pytest.mark.parametrize("key", sorted(KNOWN))
DIRTY = Write(path="/proc/sys/vm/dirty_bytes", value="67108864", siblings=("/proc/sys/vm/dirty_ratio",))
THP = "/sys/kernel/mm/transparent_hugepage/enabled"

STOPS_A_CPU = re.compile(r"/cpu\d+/online$|/smt/control$")

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="kernel settings can be written by root only")


def possible(mitigation: Mitigation, subject: Subject) -> Machine:
    condition = mitigation.applies.model_copy(update={"min_numa_nodes": 1})
    machine = survey(subject, [condition])
    reasons = unmet(condition, machine, subject, 2.0 if condition.multi_threaded else 1.0)
    if reasons:
        pytest.skip(f"{mitigation.key} cannot be tried here: {'; '.join(reasons)}")
    return machine


@as_root
@EACH
@pytest.mark.cells(24)
def test_a_known_setting_is_set_switched_and_put_back(
    key: str, subject: Subject, launch: Launch, journal_folder: Path
) -> None:
    mitigation, machine, knobs = resolved(key, subject)
    saved = {path: KERNEL.read(path) for knob in knobs for path in (knob.path, *knob.siblings)}
    with applied(mitigation, launch, subject, machine) as change:
        assert {path: KERNEL.read(path) for path in saved} == saved
        for _ in range(2):
            checks = {check.what: check for check in set_or_skip(change)}
            assert checks and all(check.passed for check in checks.values())
            for knob in knobs:
                seen = KERNEL.read(knob.path)
                refused = knob.optional and any(said.startswith(f"{knob.path}: left out") for said in change.notices)
                assert same(knob.value, seen) or rounded(knob.value, seen) or refused
                assert (knob.path in checks) != refused
            assert Journal(journal_folder).entries()
            assert all(check.passed for check in change.off())
            assert {path: KERNEL.read(path) for path in saved} == saved
        change.on()
    assert {path: KERNEL.read(path) for path in saved} == saved
    assert not Journal(journal_folder).entries()
    assert not any("someone else" in said for said in change.notices)


def set_or_skip(change: Applied) -> tuple[Check, ...]:
    try:
        return change.on()
    except KernelRefusal as refused:
        if "can be set here" not in str(refused):
            raise
        pytest.skip(str(refused))


def resolved(key: str, subject: Subject) -> tuple[Mitigation, Machine, tuple[KernelSetting, ...]]:
    """A known mitigation with what it sets here, or a skip that says why it cannot be tried."""
    machine = possible(KNOWN[key], subject)
    mitigation = with_values(KNOWN[key], {}, machine)
    assert mitigation.apply is not None
    try:
        knobs = resolve(mitigation.apply.write, machine).knobs
    except KernelRefusal as missing:
        pytest.skip(f"this machine has none of the files of {key}: {missing}")
    if any(STOPS_A_CPU.search(knob.path) for knob in knobs):
        pytest.skip(f"{key} stops a CPU, which disturbs whatever else runs here")
    return mitigation, machine, knobs


@as_root
@EACH
@pytest.mark.cells(24)
def test_the_command_line_of_a_setting_sets_it(key: str, subject: Subject, tmp_path: Path) -> None:
    mitigation, machine, knobs = resolved(key, subject)
    line = command_line(mitigation, subject, machine)
    groups = [{path: KERNEL.read(path) for path in (knob.path, *knob.siblings)} for knob in knobs]
    try:
        subprocess.run(["sh", "-c", line], cwd=subject.directory, check=False, timeout=20)
        for knob in knobs:
            seen = KERNEL.read(knob.path)
            assert knob.optional or same(knob.value, seen) or rounded(knob.value, seen), (line, knob, seen)
        if not any(same(knob.value, KERNEL.read(knob.path)) for knob in knobs):
            pytest.skip(f"the kernel refuses all of it here: {line}")
    finally:
        assert not any(KERNEL.put_back(saved) for saved in groups)
    assert (tmp_path / "pid").exists()


@as_root
def test_huge_pages_are_proved_on_both_levels(
    subject: Subject, launch: Launch, spawner: Spawner, machine: Machine
) -> None:
    if KERNEL.read(THP) == "always":
        pytest.skip("huge pages are always on here already")
    mitigation = KNOWN["thp_always"]
    with applied(mitigation, launch, subject, machine) as change:
        checks = change.prove(spawner, timeout_s=10)
        assert KERNEL.read(THP) != "always"
    assert {check.level for check in checks} == {1, 2}
    assert all(check.passed for check in checks), checks


@as_root
def test_the_coupled_dirty_knobs_come_back_as_a_group(
    one: Callable[..., Mitigation], subject: Subject, launch: Launch, machine: Machine
) -> None:
    mitigation = one(scope="system", apply={"write": [DIRTY]})
    before = {path: KERNEL.read(path) for path in ("/proc/sys/vm/dirty_bytes", "/proc/sys/vm/dirty_ratio")}
    if before["/proc/sys/vm/dirty_ratio"] == "0":
        pytest.skip("vm.dirty_bytes is in use here, so that there is no trap")
    with applied(mitigation, launch, subject, machine) as change:
        change.on()
        assert KERNEL.read("/proc/sys/vm/dirty_ratio") == "0"
    assert {path: KERNEL.read(path) for path in before} == before


@as_root
def test_a_value_that_the_kernel_refuses_leaves_all_as_before(
    one: Callable[..., Mitigation], subject: Subject, launch: Launch, machine: Machine, journal_folder: Path
) -> None:
    writes = [{"path": "/proc/sys/vm/swappiness", "value": "11"}, {"path": THP, "value": "sometimes"}]
    before = KERNEL.read("/proc/sys/vm/swappiness")
    with (
        pytest.raises(VgoError, match=r"refuses 'sometimes' for .*--allow process"),
        applied(one(scope="system", apply={"write": writes}), launch, subject, machine) as change,
    ):
        change.on()
    assert KERNEL.read("/proc/sys/vm/swappiness") == before
    assert not Journal(journal_folder).entries()


@as_root
def test_what_a_killed_agent_left_is_put_back(
    one: Callable[..., Mitigation], tmp_path: Path, journal_folder: Path
) -> None:
    before = {path: KERNEL.read(path) for path in (THP, "/proc/sys/vm/dirty_bytes", "/proc/sys/vm/dirty_ratio")}
    other = "always" if before[THP] != "always" else "madvise"
    (tmp_path / "work").mkdir()
    mitigation = one(scope="system", apply={"write": [{"path": THP, "value": other}, DIRTY], "tmpfs_directory": True})
    killed_with_its_watchdog(mitigation, tmp_path / "work")
    assert KERNEL.read(THP) == other
    told = restore()
    assert any(f"{THP}: {other} -> {before[THP]}" in said for said in told)
    assert any("working copy" in said for said in told)
    assert {path: KERNEL.read(path) for path in before} == before
    assert put_back() == []
    assert not list(journal_folder.glob("*.json"))


SWITCHER = (
    PRELUDE
    + """
print("ready", flush=True)
while True:
    with applied(mitigation, launch, subject, Machine(), root=Path(sys.argv[3])) as change:
        for _ in range(3):
            change.on()
            change.off()
"""
)


@as_root
@pytest.mark.parametrize("milliseconds", [0.2, 1, 2, 3, 5, 8, 13, 21])
@pytest.mark.cells(2)
def test_a_kill_at_any_moment_leaves_nothing_after_restore(
    milliseconds: float, one: Callable[..., Mitigation], tmp_path: Path, journal_folder: Path
) -> None:
    before = {path: KERNEL.read(path) for path in (THP, DIRTY.path, *DIRTY.siblings)}
    other = "always" if before[THP] != "always" else "madvise"
    mitigation = one(scope="system", apply={"write": [DIRTY, {"path": THP, "value": other}]})
    words = [sys.executable, "-c", SWITCHER, mitigation.model_dump_json(), str(tmp_path), "/"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as switcher:
        assert switcher.stdout is not None
        assert switcher.stdout.readline() == "ready\n"
        time.sleep(milliseconds / 1000)
        switcher.kill()
    put_back()
    assert {path: KERNEL.read(path) for path in before} == before
    assert not list(journal_folder.glob("*.json"))


def test_what_someone_else_changed_after_the_kill_is_told_and_left(
    sets_knob: Mitigation, knob: Path, tmp_path: Path
) -> None:
    killed_with_its_watchdog(sets_knob, tmp_path, tmp_path / "root")
    assert knob.read_text() == "wanted\n"
    knob.write_text("theirs\n")
    (said,) = put_back()
    assert said == "/sys/knob: left at theirs, because someone else changed it; it was old before vgo-agent"
    assert knob.read_text() == "theirs\n"
    assert put_back() == []


def test_an_entry_of_an_earlier_boot_is_forgotten(
    sets_knob: Mitigation, knob: Path, tmp_path: Path, journal_folder: Path
) -> None:
    killed_with_its_watchdog(sets_knob, tmp_path, tmp_path / "root")
    (path,) = journal_folder.glob("*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"boot_id": "another"}))
    (said,) = put_back()
    assert "ended with the boot" in said
    assert knob.read_text() == "wanted\n"
    assert put_back() == []


def test_the_next_agent_restores_before_it_applies(
    knob_set: KnobSet, sets_knob: Mitigation, knob: Path, tmp_path: Path
) -> None:
    killed_with_its_watchdog(sets_knob, tmp_path, tmp_path / "root")
    with knob_set() as change:
        assert knob.read_text() == "old\n"
        assert change.notices == ("/sys/knob: wanted -> old",)


def test_force_puts_back_the_settings_of_a_living_agent(knob_set: KnobSet, knob: Path) -> None:
    with knob_set() as change:
        change.on()
        assert put_back() == []
        assert put_back(force=True) == ["/sys/knob: wanted -> old"]
        assert knob.read_text() == "old\n"


@pytest.mark.parametrize("off_first", [False, True])
def test_what_someone_else_changed_ends_the_batch_and_is_left(knob_set: KnobSet, knob: Path, off_first: bool) -> None:
    with (
        pytest.raises(VgoError, match="Someone else set /sys/knob to theirs"),
        knob_set() as change,
    ):
        change.on()
        if off_first:
            change.off()
        knob.write_text("theirs\n")
        change.on() if off_first else change.off()
    assert knob.read_text() == "theirs\n"
    left = "/sys/knob: left at theirs, because someone else changed it; it was old before vgo-agent"
    assert off_first or change.notices == (left,)


def test_a_second_agent_is_refused_in_one_sentence(knob_set: KnobSet, knob: Path) -> None:
    with (
        knob_set(),
        pytest.raises(VgoError, match="Another vgo-agent is changing settings"),
        knob_set(),
    ):
        pass
    with knob_set() as change:
        assert all(check.passed for check in change.on())
    assert knob.read_text() == "old\n"


def test_nothing_is_changed_when_the_journal_cannot_be_written(
    knob_set: KnobSet, knob: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VGO_AGENT_JOURNAL", str(tmp_path / "file" / "journal"))
    with (
        pytest.raises(VgoError, match="set VGO_AGENT_JOURNAL"),
        knob_set(),
    ):
        pass
    assert knob.read_text() == "old\n"


def test_a_knob_that_this_kernel_lacks_is_named(
    one: Callable[..., Mitigation], subject: Subject, launch: Launch, machine: Machine, journal_folder: Path
) -> None:
    mitigation = one(scope="system", apply={"write": [{"path": "/proc/sys/vm/no_such_knob", "value": "1"}]})
    with pytest.raises(VgoError, match="/proc/sys/vm/no_such_knob"), applied(mitigation, launch, subject, machine):
        pass
    assert not Journal(journal_folder).entries()


@as_root
def test_what_the_kernel_rounds_is_in_force_and_told(
    one: Callable[..., Mitigation], subject: Subject, launch: Launch, machine: Machine
) -> None:
    path = "/sys/block/loop0/queue/read_ahead_kb"
    if not os.path.exists(path):
        pytest.skip("there is no /sys/block/loop0, whose read-ahead comes in pages (modprobe loop)")
    before = KERNEL.read(path)
    asked = str(int(before) + 65)  # pages have 4 kB or more
    with applied(one(scope="system", apply={"write": [{"path": path, "value": asked}]}), launch, subject, machine) as c:
        (check,) = c.on()
        assert check.passed and check.expected == asked and check.seen != asked
        assert all(check.passed for check in c.off())
        assert c.on() == (check,)
    assert c.notices == (f"{path}: the kernel made {check.seen} of {asked}",)
    assert KERNEL.read(path) == before


@as_root
def test_a_managed_interrupt_is_left_out_and_the_others_move(
    one: Callable[..., Mitigation], subject: Subject, launch: Launch, machine: Machine
) -> None:
    write = {"path": "/proc/irq/*/smp_affinity_list", "value": "{cpus_but_quiet}", "optional": True}
    mitigation = one(scope="system", apply={"write": [write]})
    before = {str(path): KERNEL.read(str(path)) for path in Path("/proc/irq").glob("*/smp_affinity_list")}
    if len(machine.cpus) < 2 or not before:
        pytest.skip("interrupts can be steered only where there are two CPUs and some interrupt")
    with applied(mitigation, launch, subject, machine) as change:
        checks = change.on()
        refused = {said.partition(":")[0] for said in change.notices}
        assert all(check.passed for check in checks)
        assert {check.what for check in checks} | refused == before.keys()
        change.off()
        assert {path: KERNEL.read(path) for path in before} == before
    assert {path: KERNEL.read(path) for path in before} == before


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A disk of two pages that the journal lies on."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "none", disk], capture_output=True).returncode:
        pytest.skip("no tmpfs can be mounted here: needs root with CAP_SYS_ADMIN")
    monkeypatch.setenv("VGO_AGENT_JOURNAL", str(disk / "journal"))
    yield disk
    subprocess.run(["umount", disk], check=True)


@as_root
def test_a_journal_on_a_full_disk_means_that_nothing_is_changed(
    knob_set: KnobSet, knob: Path, small_disk: Path
) -> None:
    (small_disk / "rest").write_bytes(b"x" * 8192)
    with (
        pytest.raises(VgoError, match="No space left on device.* nothing stays changed: make room"),
        knob_set(),
    ):
        pass
    assert knob.read_text() == "old\n"
    (small_disk / "rest").unlink()
    assert put_back() == []
    with knob_set() as change:
        (check,) = change.on()
        assert check.passed
    assert knob.read_text() == "old\n"


@as_root
def test_a_disk_that_fills_up_between_journal_and_knob_puts_back(
    knob_set: KnobSet, knob: Path, small_disk: Path
) -> None:
    with (
        pytest.raises(VgoError, match="No space left on device"),
        knob_set() as change,
    ):
        (small_disk / "rest").write_bytes(b"x" * 4096)
        change.on()
    assert knob.read_text() == "old\n"
    assert [path.name for path in (small_disk / "journal").iterdir()] == ["lock"]


@as_root
def test_a_read_only_tree_is_told_with_its_cure(knob_set: KnobSet, knob: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    if subprocess.run(["mount", "--bind", "-o", "ro", root, root], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here: needs root with CAP_SYS_ADMIN")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", root], check=True)
        with (
            pytest.raises(VgoError, match="mounted read-only here; run vgo-agent on the host"),
            knob_set() as change,
        ):
            change.on()
    finally:
        subprocess.run(["umount", root], check=True)
    assert knob.read_text() == "old\n"


def test_without_root_the_cure_is_named(one: Callable[..., Mitigation]) -> None:
    mitigation = one(scope="system", apply={"write": [{"path": "/proc/sys/vm/stat_interval", "value": "7"}]})
    # The watchdog needs no more than an interpreter; ours may lie in the home of root.
    program = PRELUDE + (
        "import os\n"
        "if os.geteuid() == 0:\n"
        "    sys.executable = '/usr/bin/python3'\n"
        "    os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "with applied(mitigation, launch, subject, Machine(), root=Path(sys.argv[3])) as change: change.on()"
    )
    if os.geteuid() == 0 and not os.path.exists("/usr/bin/python3"):
        pytest.skip("there is no /usr/bin/python3, which another user could run")
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() == 0:
            os.chown(folder, 65534, 65534)
        words = [sys.executable, "-c", program, mitigation.model_dump_json(), folder, "/"]
        environment = os.environ | {"VGO_AGENT_JOURNAL": f"{folder}/journal"}
        ended = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
        assert "Cannot write /proc/sys/vm/stat_interval: run vgo-agent as root, or use --allow process." in ended.stderr
        assert os.listdir(f"{folder}/journal") == ["lock"]
