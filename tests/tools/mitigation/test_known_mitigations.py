"""Every known mitigation of the process and its group that is possible here, on a real child, proved by /proc."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from vgo_agent.knowledge.actions import Apply
from vgo_agent.knowledge.loader import load
from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.execution.system_calls import resident_share
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.by_hand import command_line
from vgo_agent.tools.mitigation.engine import applied
from vgo_agent.tools.mitigation.observation import proofs
from vgo_agent.tools.mitigation.preconditions import unmet
from vgo_agent.tools.mitigation.verification import Check, Watcher, promised
from vgo_agent.tools.subject import Subject
from vgo_agent.tools.survey import survey

KNOWN = {
    mitigation.key: mitigation
    for mitigation in load().mitigations.values()
    if mitigation.scope in ("process", "cgroup")
    and mitigation.apply is not None
    and not (mitigation.apply.write or mitigation.apply.cool_down)
}
EACH = pytest.mark.parametrize("key", sorted(KNOWN))
PATIENCE_S = 20
OPENMP = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <omp.h>
int main(int n, char **words) {
    FILE *out = fopen(words[1], "w");
    fprintf(out, "%d", getpid());
    fclose(out);
    char *heap = malloc(32 << 20);
    memset(heap, 1, 32 << 20);
    if (words[2][0] == '/')
        while (access(words[2], F_OK) != 0) usleep(5000);
    else
        usleep((int)(1e6 * atof(words[2])));
    return heap[n] == omp_get_max_threads() - 1000;
}
"""


@pytest.fixture(scope="module")
def openmp_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed, so there is no OpenMP program")
    folder = tmp_path_factory.mktemp("openmp")
    (folder / "program.c").write_text(OPENMP)
    subprocess.run(["gcc", "-fopenmp", "-o", folder / "program", folder / "program.c"], check=True)
    return folder / "program"


class Case:
    """A mitigation with a program to which it applies, or a skip that says why it cannot be tried here."""

    def __init__(self, mitigation: Mitigation, subject: Subject) -> None:
        # The mechanism of memory policies works on a machine with one node as well.
        condition = mitigation.applies.model_copy(update={"min_numa_nodes": 1})
        self.mitigation = mitigation
        self.subject = subject
        self.machine: Machine = survey(subject, [condition])
        self.launch = Launch(argv=subject.argv, directory=Path(subject.directory))
        reasons = unmet(condition, self.machine, subject, 2.0 if condition.multi_threaded else 1.0)
        if reasons:
            pytest.skip(f"{mitigation.key} cannot be tried here: {'; '.join(reasons)}")


def doing(case: Case) -> Apply:
    assert case.mitigation.apply is not None
    return case.mitigation.apply


@pytest.fixture
def case(key: str, subject: Subject, request: pytest.FixtureRequest) -> Case:
    mitigation = KNOWN[key]
    if mitigation.applies.openmp:
        program = str(request.getfixturevalue("openmp_program"))
        command = (program, *subject.argv[2:])
        subject = subject.model_copy(update={"command": command, "argv": command})
    return Case(mitigation, subject)


@EACH
@pytest.mark.cells(16)
def test_it_is_proved_on_a_real_child(case: Case, spawner: Spawner) -> None:
    evict(case.subject)
    with applied(case.mitigation, case.launch, case.subject, case.machine) as change:
        checks = change.prove(spawner, timeout_s=10)
    assert checks
    assert all(check.passed for check in checks), checks


@EACH
@pytest.mark.cells(16)
def test_the_same_program_without_it_does_not_pass(case: Case, spawner: Spawner, tmp_path: Path) -> None:
    if case.mitigation.verify.anon_huge_pages and case.machine.thp == "always":
        pytest.skip("huge pages are always on here, so that the program has them anyway")
    unlike(case, tmp_path)
    with applied(case.mitigation, case.launch, case.subject, case.machine) as change:
        watcher = Watcher(promised(case.mitigation, change.launch))
        spawner.run(case.launch, timeout_s=10, on_started=watcher.start)
    checks = watcher.stop()
    assert checks
    assert not any(check.passed for check in checks.values()), checks


@EACH
@pytest.mark.cells(16)
def test_its_command_line_gives_the_same_evidence(case: Case, tmp_path: Path) -> None:
    if doing(case).spawn.timer_slack_ns and not case.machine.root:
        pytest.skip("without root the kernel shows the timer slack to the process itself only")
    evict(case.subject)
    # It stays until it has been looked at.
    done = tmp_path / "done"
    command = tuple(str(done) if word == "0.08" else word for word in case.subject.command)
    line = command_line(case.mitigation, case.subject.model_copy(update={"command": command}), case.machine)
    with (
        applied(case.mitigation, case.launch, case.subject, case.machine) as change,
        by_hand(line, case.subject, tmp_path / "pid", done) as pid,
    ):
        checks = soon(case.mitigation, change.launch, pid)
    assert all(check.passed for check in checks), (line, checks)


def test_at_least_twelve_are_known() -> None:
    assert len(KNOWN) >= 12


@pytest.mark.parametrize("key", sorted(KNOWN))
def test_each_says_how_it_is_verified(key: str) -> None:
    assert proofs(promised(KNOWN[key], Launch(argv=("x",))))


@contextlib.contextmanager
def by_hand(line: str, subject: Subject, pid_file: Path, done: Path) -> Iterator[int]:
    """The line in a shell, as a person would run it; gives the program's process once it has told its number."""
    pid_file.unlink(missing_ok=True)
    with subprocess.Popen(["sh", "-c", line], cwd=subject.directory) as shell:
        try:
            deadline = time.monotonic() + PATIENCE_S
            while not (pid_file.exists() and pid_file.read_text()):
                assert shell.poll() is None and time.monotonic() < deadline, "the program did not start"
                time.sleep(0.002)
            yield int(pid_file.read_text())
        finally:
            done.touch()
        assert shell.wait() == 0


def soon(mitigation: Mitigation, launch: Launch, pid: int) -> tuple[Check, ...]:
    """Look until everything shows, or patience ends."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        watcher = Watcher(promised(mitigation, launch))
        watcher.start(pid)
        checks = tuple(watcher.stop().values())
        if all(check.passed for check in checks) or time.monotonic() > deadline:
            return checks
        time.sleep(0.005)


def unlike(case: Case, folder: Path) -> None:
    """Bring the page cache into the state that the mitigation is there to change."""
    if doing(case).evict_inputs:
        for name in case.subject.inputs:
            Path(name).read_bytes()
    elif doing(case).sync_first:
        (folder / "dirty").write_bytes(os.urandom(32 << 20))
        if not dirty_kb(least=16 << 10):
            pytest.skip("what is written under the temporary directory is never dirty (tmpfs?)")
    else:
        evict(case.subject)


def dirty_kb(least: int) -> bool:
    text = Path("/proc/meminfo").read_text()
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Dirty:")) >= least


def evict(subject: Subject) -> None:
    """Drop the inputs from the page cache, so that their being there is the mitigation's doing."""
    for name in subject.inputs:
        with open(name, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        if resident_share(Path(name)) > 0:
            pytest.skip("files under the temporary directory stay in the page cache (tmpfs?)")


@pytest.fixture(autouse=True)
def no_copy_by_hand_stays() -> Iterator[None]:
    before = set(Path("/dev/shm").glob("tmp.*"))
    yield
    assert set(Path("/dev/shm").glob("tmp.*")) <= before
