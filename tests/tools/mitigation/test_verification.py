"""Proofs that fail, and readings of processes that are gone."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal
from unittest.mock import Mock

import pytest

from vgo_agent.knowledge.actions import Apply, Spawn, Verify
from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.tools.execution.launch import Launch, Run
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.execution.system_calls import resident_share
from vgo_agent.tools.mitigation.kernel_file import in_force
from vgo_agent.tools.mitigation.observation import READERS, Promise, proofs
from vgo_agent.tools.mitigation.program import Process
from vgo_agent.tools.mitigation.verification import ENDED, Watcher, observe, prove

Output = Literal["", "null", "file"]
OUTPUTS: tuple[tuple[Output, bool], ...] = (("null", True), ("file", False))
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
CHILD = """
import mmap, time
heap = mmap.mmap(-1, 16 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
heap.madvise(mmap.MADV_HUGEPAGE)
heap.write(b"1" * (16 << 20))
time.sleep(0.1)
""".replace("'", '"')
TWO_RANKS = """
import os, subprocess, sys, time
RANK = "import os, sys, time; all_of = os.sched_getaffinity(0)"
RANK += "; os.sched_setaffinity(0, {sorted(all_of)[int(sys.argv[1])]}); time.sleep(0.2)"
RANK += "; FREE and os.sched_setaffinity(0, all_of); time.sleep(0.6)"
ranks = [
    subprocess.Popen(
        [sys.executable, "-c", RANK.replace("FREE", sys.argv[1]), str(rank)],
        env=os.environ | {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_LOCAL_SIZE": "2"},
    )
    for rank in (0, 1)
]
for rank in ranks:
    rank.wait()
"""
"""As a library of MPI does while it looks at the machine: each rank is bound for a moment, then stays so or not."""
GONE = 2**22 + 1
"""More than /proc/sys/kernel/pid_max can be."""
OF_NO_PROCESS = {"apply.prewarm_inputs", "apply.evict_inputs", "apply.sync_first"}
EVERY = Promise(
    Apply.model_validate(
        {
            "environment": {"A": "1"},
            "clear_environment": True,
            "preload": "libnothing.so",
            "tmpfs_directory": True,
            "spawn": {
                "affinity": "one_cpu",
                "policy": "batch",
                "autogroup_nice": 1,
                "nice": 1,
                "timer_slack_ns": 1,
                "fixed_layout": True,
                "thp_disable": True,
                "io_class": "idle",
                "limits": {"stack": "unlimited"},
                "group": {"cpu_weight": 1},
                "output": "null",
            },
        }
    ),
    Verify(anon_huge_pages=True, memory_policy="bind"),
    Launch(argv=("/bin/true",)),
)


def test_a_library_that_the_loader_does_not_find_is_not_in_force(
    one: Callable[..., Mitigation], spawner: Spawner
) -> None:
    launch = Launch(argv=("/bin/sleep", "0.05"), environment={"LD_PRELOAD": "libnothing.so.9"})
    (check,) = prove(one(apply={"preload": "libnothing.so.9"}), launch, spawner)
    assert not check.passed


def test_a_short_program_is_tried_again_until_it_is_seen(one: Callable[..., Mitigation], spawner: Spawner) -> None:
    launch = Launch(argv=("/bin/true",), environment={"SHORT": "1"})
    (check,) = prove(one(apply={"environment": {"SHORT": "1"}}), launch, spawner)
    assert check.passed, check


@pytest.mark.parametrize(("from_attempt", "passed"), [(150, True), (10**6, False)])
def test_runs_that_end_before_they_are_seen_say_nothing_for_a_while(
    one: Callable[..., Mitigation], from_attempt: int, passed: bool
) -> None:
    attempts = itertools.count(1)

    def run(_: Launch, *, on_started: Callable[[int], None], **__: object) -> Run:
        on_started(os.getpid() if next(attempts) >= from_attempt else GONE)
        return Run(wall_ns=30_000_000, exit_code=0, counters={})

    launch = Launch(argv=("/bin/true",), environment={"PATH": os.environ["PATH"]})
    (check,) = prove(one(apply={"environment": launch.environment}), launch, Mock(run=run, over=False))
    assert check.passed is passed
    assert 150 < next(attempts) < 400


def test_a_proof_ends_with_the_budget(one: Callable[..., Mitigation]) -> None:
    spawner, runs = Mock(over=False), itertools.count(1)

    def run(_: Launch, *, on_started: Callable[[int], None], **__: object) -> Run:
        on_started(GONE)
        spawner.over = next(runs) == 5
        return Run(wall_ns=1_000_000, exit_code=0, counters={})

    spawner.run = run
    (check,) = prove(one(apply={"environment": {"A": "1"}}), Launch(("/bin/true",), {"A": "1"}), spawner)
    assert not check.passed and next(runs) == 6


def test_the_work_of_a_child_counts_as_the_program_s(one: Callable[..., Mitigation], spawner: Spawner) -> None:
    if in_force(THP.read_text()) == "never":
        pytest.skip("huge pages are off here")
    launch = Launch(argv=("/bin/sh", "-c", f"{sys.executable} -c '{CHILD}'; true"))
    (check,) = prove(one(verify={"anon_huge_pages": True}), launch, spawner)
    assert check.passed, check


def test_a_process_that_is_gone_shows_nothing_and_passes_nothing() -> None:
    for promise in (EVERY, EVERY._replace(verify=Verify(ranks="free"))):
        watcher = Watcher(promise)
        watcher.start(GONE)
        checks = watcher.stop()
        assert checks.keys() == proofs(promise).keys()
        assert {check.seen for check in checks.values()} == {ENDED}
        assert not any(check.passed for check in checks.values())


def test_every_kind_of_action_and_every_effect_has_a_proof() -> None:
    ranks = proofs(EVERY._replace(verify=Verify(ranks="free")))
    assert set(proofs(EVERY)) | set(ranks) == set(READERS) - OF_NO_PROCESS
    shown = {key.rpartition(".")[2] for key in READERS}
    assert set(Verify.model_fields) <= shown
    assert set(Spawn.model_fields) - shown == {"reserved_cpus", "priority", "deadline", "io_level"}
    assert set(Apply.model_fields) - shown == {"spawn", "wrap", "cool_down", "write", "hold", "gpu", "script"}


def test_the_cpus_of_the_ranks_prove_what_is_told_to_their_launcher() -> None:
    told = Apply(environment={"OMPI_MCA_rmaps_base_mapping_policy": "numa", "MINE": "1"})
    assert set(proofs(Promise(told, Verify(ranks="numa"), EVERY.launch))) == {"apply.environment", "verify.ranks"}
    alone = told.model_copy(update={"environment": {"SLURM_CPU_BIND": "none"}})
    assert set(proofs(Promise(alone, Verify(ranks="free"), EVERY.launch))) == {"verify.ranks"}
    pinned = replace(EVERY.launch, affinity=frozenset({0}))
    own = Apply(spawn=Spawn(affinity="one_cpu"))
    assert set(proofs(Promise(own, Verify(ranks="within"), pinned))) == {"verify.ranks"}
    assert set(proofs(Promise(alone, Verify(ranks="free"), pinned))) == {"verify.ranks", "apply.spawn.affinity"}


def test_nothing_asked_means_no_run(one: Callable[..., Mitigation], spawner: Spawner) -> None:
    assert prove(one(), Launch(argv=("/no/such/program",)), spawner) == ()


def test_a_fake_process_is_read_as_a_real_one(tmp_path: Path) -> None:
    folder = tmp_path / "7"
    folder.mkdir()
    (folder / "status").write_text("Name:\tx\nCpus_allowed_list:\t0-2\n")
    (folder / "stat").write_text("7 (a) b) S " + " ".join(str(number) for number in range(4, 53)))
    (folder / "environ").write_bytes(b"A=1\0B=2=3\0")
    apply = Apply.model_validate({"spawn": {"affinity": "one_cpu", "nice": 19}, "environment": {"A": "1", "B": "2=3"}})
    launch = Launch(argv=("x",), affinity=frozenset({0, 1, 2}), nice=19, environment={"A": "1", "B": "2=3"})
    promise, process = Promise(apply, Verify(), launch), Process(7, tmp_path)
    affinity, nice, environment = (observe(promise, *proof, process) for proof in proofs(promise).values())
    # Field n of the fake stat file holds n.
    assert (nice.seen, nice.passed) == ("19", True)
    assert environment.passed
    assert affinity.seen == "0-2"
    assert affinity.passed


def test_an_empty_file_is_all_there(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert resident_share(tmp_path / "empty") == 1


def test_standard_output_is_looked_at(one: Callable[..., Mitigation], spawner: Spawner) -> None:
    launch = Launch(argv=("/bin/sleep", "0.05"))
    for output, passed in OUTPUTS:
        seen = prove(one(apply={"spawn": {"output": output}}), replace(launch, output=output), spawner)
        assert all(check.passed for check in seen), seen
        watched = verify_output_of(spawner, launch, output)
        assert watched is passed


def verify_output_of(spawner: Spawner, launch: Launch, output: Output) -> bool:
    """Whether the plain launch passes for one with this output: to /dev/null it goes anyway."""
    watcher = Watcher(Promise(Apply(spawn=Spawn(output=output)), Verify(), replace(launch, output=output)))
    spawner.run(launch, on_started=watcher.start)
    return watcher.stop()["apply.spawn.output"].passed


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
@pytest.mark.parametrize("free", [True, False])
def test_ranks_are_judged_by_where_they_stay(one: Callable[..., Mitigation], spawner: Spawner, free: bool) -> None:
    launch = Launch(argv=(sys.executable, "-c", TWO_RANKS, str(free)))
    (check,) = prove(one(verify={"ranks": "apart"}), launch, spawner)
    assert check.passed is not free, check
