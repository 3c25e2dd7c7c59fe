"""Limits of the group that the agent itself is in: raised for the runs, as before after; on real version 1 groups."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vgo_agent.tools.mitigation.run_group import places

HERE = places()
AGENT = """
import sys
from pathlib import Path
from vgo_agent.knowledge.loader import load
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.mitigation.engine import applied
from vgo_agent.tools.mitigation.preconditions import unmet
from vgo_agent.tools.subject import Subject
from vgo_agent.tools.survey import survey
known, folder, names = load().mitigations[sys.argv[1]], Path(sys.argv[2]), sys.argv[3:]
subject = Subject(command=("true",), argv=("/bin/true",), directory="/")
machine = survey(subject, [known.applies])
assert not unmet(known.applies, machine, subject, None), unmet(known.applies, machine, subject, None)
def values():
    return [(folder / name).read_text().strip() for name in names]
before = values()
with applied(known, Launch(argv=subject.argv), subject, machine) as change:
    checks = change.on()
    assert checks and all(check.passed for check in checks), checks
    print(*values())
    change.off()
    assert values() == before, values()
    change.on()
assert values() == before, values()
"""


@pytest.fixture
def group(request: pytest.FixtureRequest) -> Iterator[Path]:
    controller = request.param
    if controller not in HERE or HERE[controller].version != 1:
        pytest.skip(f"no writable control group of version 1 with {controller} here")
    folder = Path(HERE[controller].folder) / f"vgo-test-{os.getpid()}"
    folder.mkdir()
    yield folder
    folder.rmdir()


def agent_in(group: Path, key: str, *names: str) -> list[str]:
    """Apply a mitigation in a process that is in the group; give the values while it is in force."""
    line = f'echo $$ > {group}/cgroup.procs; exec "$@"'
    command = ("sh", "-c", line, "sh", sys.executable, "-c", AGENT, key, str(group), *names)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("group", ["cpu"], indirect=True)
def test_a_quota_is_lifted_and_comes_back_with_its_period(group: Path) -> None:
    (group / "cpu.cfs_period_us").write_text("50000")
    (group / "cpu.cfs_quota_us").write_text("100000")
    during = agent_in(group, "raise_cpu_quota", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.cfs_burst_us")
    assert during == ["-1", "50000", "0"]
    assert (group / "cpu.cfs_quota_us").read_text() == "100000\n"


@pytest.mark.parametrize("group", ["cpu"], indirect=True)
def test_a_quota_can_be_saved_up(group: Path) -> None:
    (group / "cpu.cfs_quota_us").write_text("150000")
    assert agent_in(group, "cpu_burst", "cpu.cfs_burst_us") == ["150000"]


@pytest.mark.parametrize("group", ["memory"], indirect=True)
def test_a_memory_limit_is_lifted_and_comes_back(group: Path) -> None:
    (group / "memory.limit_in_bytes").write_text(str(1 << 30))
    (during,) = agent_in(group, "raise_memory_limit", "memory.limit_in_bytes")
    assert int(during) > 1 << 60
    assert int((group / "memory.limit_in_bytes").read_text()) == 1 << 30
