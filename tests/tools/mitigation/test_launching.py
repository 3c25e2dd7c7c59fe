"""From a mitigation to a launch, and to a shell line."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.system_calls import resident_share
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.by_hand import command_line
from vgo_agent.tools.mitigation.engine import mitigated
from vgo_agent.tools.subject import Subject

MACHINE = Machine(cpus=(0, 1), quiet_cpu=1, root=True)
SUBJECT = Subject(command=("./bench.sh", "a b"), argv=("/work/bench.sh", "a b"), directory="/work")
LAUNCH = Launch(argv=SUBJECT.argv, environment={"PATH": "/usr/bin:/bin", "HOME": "/root", "EDITOR": "vi"})

Make = Callable[..., Mitigation]


def test_a_mitigation_that_applies_nothing_changes_nothing(one: Make) -> None:
    assert mitigated(LAUNCH, one(apply={}), SUBJECT, MACHINE) == LAUNCH


def test_what_the_launch_had_before_stays(one: Make) -> None:
    slow = replace(LAUNCH, nice=5, timer_slack_ns=7)
    pinned = mitigated(slow, one(apply={"spawn": {"affinity": "one_cpu"}}), SUBJECT, MACHINE)
    assert pinned == replace(slow, affinity=frozenset({1}))


def test_lists_of_the_loader_are_joined_and_our_tunable_wins(one: Make) -> None:
    user = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=2:glibc.malloc.arena_max=1", "LD_PRELOAD": "libuser.so"}
    launch = replace(LAUNCH, environment={**LAUNCH.environment, **user})
    mitigation = one(apply={"environment": {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}, "preload": "libours.so"})
    environment = mitigated(launch, mitigation, SUBJECT, MACHINE).environment
    assert environment["GLIBC_TUNABLES"] == "glibc.malloc.hugetlb=1:glibc.malloc.arena_max=1"
    assert environment["LD_PRELOAD"] == "libours.so:libuser.so"


def test_a_cleared_environment_keeps_what_a_program_needs(one: Make) -> None:
    mitigation = one(apply={"clear_environment": True, "environment": {"OURS": "1"}})
    environment = mitigated(LAUNCH, mitigation, SUBJECT, MACHINE).environment
    assert environment == {"PATH": "/usr/bin:/bin", "HOME": "/root", "OURS": "1"}


def test_a_wrapper_is_resolved_and_stands_first(one: Make) -> None:
    argv = mitigated(LAUNCH, one(apply={"wrap": ["sh", "-e"]}), SUBJECT, MACHINE).argv
    assert argv == (shutil.which("sh", path="/usr/bin:/bin"), "-e", "/work/bench.sh", "a b")


def test_a_wrapper_that_is_missing_is_named(one: Make) -> None:
    with pytest.raises(VgoError, match="no-such-launcher is not on PATH"):
        mitigated(LAUNCH, one(apply={"wrap": ["no-such-launcher"]}), SUBJECT, MACHINE)


def test_what_only_a_person_can_do_is_not_applied(one: Make) -> None:
    with pytest.raises(VgoError, match="follow the steps"):
        mitigated(LAUNCH, one(scope="reboot"), SUBJECT, MACHINE)


@pytest.mark.parametrize(
    ("apply", "line"),
    [
        ({"spawn": {"affinity": "one_cpu"}}, "taskset -c 1 ./bench.sh 'a b'"),
        ({"spawn": {"policy": "fifo", "priority": 10}}, "chrt -R --fifo 10 ./bench.sh 'a b'"),
        ({"spawn": {"affinity": "one_per_core"}}, "taskset -c 0,1 ./bench.sh 'a b'"),
        ({"spawn": {"affinity": "all_but_reserved", "reserved_cpus": "1"}}, "taskset -c 1 ./bench.sh 'a b'"),
        (
            {"spawn": {"policy": "deadline", "deadline": {"runtime_us": 5, "period_us": 10}}},
            "chrt -R -d --sched-runtime 5000 --sched-deadline 10000 --sched-period 10000 0 ./bench.sh 'a b'",
        ),
        (
            {"spawn": {"limits": {"stack": "unlimited", "memlock": "4096"}}},
            "prlimit --stack=unlimited --memlock=4096 ./bench.sh 'a b'",
        ),
        ({"spawn": {"io_class": "best_effort", "io_level": 0}}, "ionice -c 2 -n 0 ./bench.sh 'a b'"),
        ({"spawn": {"output": "null"}}, "./bench.sh 'a b' > /dev/null"),
        ({"sync_first": True}, "sync && ./bench.sh 'a b'"),
        (
            {"hold": [{"path": "/dev/cpu_dma_latency", "int32": 0}]},
            "(exec 8> /dev/cpu_dma_latency && printf '\\000\\000\\000\\000' >&8 && ./bench.sh 'a b')",
        ),
        ({"spawn": {"fixed_layout": True}}, "setarch -R ./bench.sh 'a b'"),
        ({"preload": "libjemalloc.so.2"}, "env LD_PRELOAD=libjemalloc.so.2 ./bench.sh 'a b'"),
        ({"environment": {"A": "x y"}}, "env 'A=x y' ./bench.sh 'a b'"),
        (
            {"spawn": {"autogroup_nice": -20}},
            "setsid -w sh -c 'echo -20 > /proc/self/autogroup; exec \"$@\"' sh ./bench.sh 'a b'",
        ),
        ({"write": [{"path": "/sys/knob", "value": "always"}]}, "echo always > /sys/knob && ./bench.sh 'a b'"),
    ],
)
def test_the_shell_line_is_what_a_person_would_type(apply: dict[str, object], line: str, one: Make) -> None:
    assert command_line(one(apply=apply), SUBJECT, MACHINE) == line


def test_without_root_the_line_asks_for_it(one: Make) -> None:
    mitigation = one(apply={"write": [{"path": "/sys/knob", "value": "always"}]})
    line = command_line(mitigation, SUBJECT, MACHINE.model_copy(update={"root": False}))
    assert line == "sudo sh -c 'echo always > /sys/knob' && ./bench.sh 'a b'"


def test_inputs_are_read_before(one: Make) -> None:
    subject = SUBJECT.model_copy(update={"inputs": ("/work/in 1", "/work/in2")})
    mitigation = one(apply={"prewarm_inputs": True})
    assert mitigated(LAUNCH, mitigation, subject, MACHINE).prewarm == (Path("/work/in 1"), Path("/work/in2"))
    line = command_line(mitigation, subject, MACHINE)
    assert line == "cat '/work/in 1' /work/in2 > /dev/null && ./bench.sh 'a b'"


def test_a_shell_line_of_the_user_stays_one(one: Make) -> None:
    typed = "echo $((1 + 1)) | cat; echo 'it is'"
    subject = Subject(command=(typed,), argv=("/bin/sh", "-c", typed), shell=True, directory="/")
    line = command_line(one(apply={"environment": {"A": "$HOME"}}), subject, MACHINE)
    assert subprocess.run(["sh", "-c", line], capture_output=True, text=True).stdout == "2\nit is\n"


def test_everything_at_once_still_runs_the_program(one: Make, subject: Subject, tmp_path: Path) -> None:
    mitigation = one(
        apply={
            "spawn": {"affinity": "one_cpu", "policy": "batch", "timer_slack_ns": 1, "thp_disable": True, "nice": 5},
            "clear_environment": True,
            "tmpfs_directory": True,
            "prewarm_inputs": True,
        }
    )
    before = set(Path("/dev/shm").iterdir())
    line = command_line(mitigation, subject, MACHINE.model_copy(update={"quiet_cpu": 0}))
    subprocess.run(["sh", "-c", line], cwd=subject.directory, check=True, timeout=20)
    assert (tmp_path / "pid").exists()
    assert set(Path("/dev/shm").iterdir()) <= before


@pytest.mark.parametrize("value", ["a lot", "-1", "1.5", "1G"])
def test_a_limit_is_a_number_of_bytes_or_unlimited(value: str, one: Make) -> None:
    with pytest.raises(VgoError, match="give a number of bytes, or unlimited"):
        mitigated(LAUNCH, one(apply={"spawn": {"limits": {"stack": value}}}), SUBJECT, MACHINE)


def test_inputs_are_evicted_by_hand_as_well(one: Make, tmp_path: Path) -> None:
    file = tmp_path / "in put"
    file.write_bytes(b"1" * 4096 * 16)
    subject = SUBJECT.model_copy(update={"command": ("true",), "inputs": (str(file),)})
    assert mitigated(LAUNCH, one(apply={"evict_inputs": True}), subject, MACHINE).evict == (file,)
    line = command_line(one(apply={"evict_inputs": True}), subject, MACHINE)
    file.read_bytes()
    assert resident_share(file) == 1
    subprocess.run(["sh", "-c", line], check=True)
    if resident_share(file) == 1:
        pytest.skip("files under the temporary directory stay in the page cache (tmpfs?)")
    assert resident_share(file) == 0


def test_a_parameter_has_its_default_wherever_nothing_is_said(one: Make) -> None:
    parameter = {"name": "threads", "description": "d", "default": "cpus"}
    mitigation = one(parameters=[parameter], apply={"environment": {"OMP_NUM_THREADS": "{threads}"}})
    assert mitigated(LAUNCH, mitigation, SUBJECT, MACHINE).environment["OMP_NUM_THREADS"] == "2"
    assert command_line(mitigation, SUBJECT, MACHINE) == "env OMP_NUM_THREADS=2 ./bench.sh 'a b'"
