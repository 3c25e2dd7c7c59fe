"""What must not be done is refused, with the cure; what may be done is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.tools.machine import GroupPlace, Machine
from vgo_agent.tools.mitigation.preconditions import beyond_reach, dangers
from vgo_agent.tools.subject import Subject

SUBJECT = Subject(command=("./bench",), argv=("/work/bench",), directory="/work")
FOUR = Machine(cpus=(0, 1, 2, 3), online=4, root=True)
FIFO = {"spawn": {"policy": "fifo", "priority": 10}}
DEADLINE = {"spawn": {"policy": "deadline", "deadline": {"runtime_us": 1, "period_us": 2}}}
Make = Callable[..., Mitigation]


@pytest.mark.parametrize("policy", ["fifo", "rr"])
def test_real_time_is_taken_since_its_main_thread_alone_has_it(one: Make, policy: str) -> None:
    assert dangers(one(apply={"spawn": {"policy": policy, "priority": 1}}), FOUR, SUBJECT) == ()


def test_without_real_time_throttling_it_is_refused_on_every_cpu(one: Make) -> None:
    machine = FOUR.model_copy(update={"real_time_throttled": False})
    (reason,) = dangers(one(apply=FIFO), machine, SUBJECT)
    assert "write 950000 to /proc/sys/kernel/sched_rt_runtime_us" in reason
    assert dangers(one(apply={"spawn": {**FIFO["spawn"], "affinity": "one_cpu"}}), machine, SUBJECT) == ()


def test_a_group_without_real_time_is_told_as_that(one: Make) -> None:
    machine = FOUR.model_copy(update={"group_without_real_time": "/sys/fs/cgroup/cpu/session"})
    (reason,) = dangers(one(apply=FIFO), machine, SUBJECT)
    assert "/sys/fs/cgroup/cpu/session/cpu.rt_runtime_us is 0" in reason
    assert dangers(one(apply=DEADLINE), machine, SUBJECT) == ()


def test_a_new_cpu_group_and_real_time_do_not_go_together(one: Make) -> None:
    place = {"cpu": GroupPlace(folder="/sys/fs/cgroup/cpu", version=1)}
    machine = FOUR.model_copy(update={"real_time_by_group": True, "groups": place})
    apply = {"spawn": {**FIFO["spawn"], "group": {"cpu_weight": 1000}}}
    (reason,) = dangers(one(scope="cgroup", apply=apply), machine, SUBJECT)
    assert "take one" in reason


def test_a_deadline_task_has_to_be_allowed_every_cpu(one: Make) -> None:
    assert dangers(one(apply=DEADLINE), FOUR, SUBJECT) == ()
    (reason,) = dangers(one(apply=DEADLINE), FOUR.model_copy(update={"online": 8}), SUBJECT)
    assert "may use only 4 of 8 CPUs" in reason


def test_reserving_every_cpu_is_refused(one: Make) -> None:
    apply = {"spawn": {"affinity": "all_but_reserved", "reserved_cpus": "4"}}
    (reason,) = dangers(one(apply=apply), FOUR, SUBJECT)
    assert "would leave none to the program: leave 3 at most" in reason


def test_two_choices_that_exclude_each_other_leave_none(one: Make) -> None:
    spawn = {"affinity": "one_per_core", "group": {"cpus": "all_but_reserved"}, "reserved_cpus": "3"}
    machine = FOUR.model_copy(update={"cores": ((0, 1, 2, 3),), "quiet_cpu": 3})
    (reason,) = dangers(one(scope="cgroup", apply={"spawn": spawn}), machine, SUBJECT)
    assert "none of the CPUs that this process may use (0,1,2,3)" in reason


def test_an_outcome_on_standard_output_is_not_thrown_away(one: Make) -> None:
    quiet = one(apply={"spawn": {"output": "null"}})
    assert dangers(quiet, FOUR, SUBJECT) == ()
    assert dangers(quiet, FOUR, SUBJECT.model_copy(update={"metric": "(.*)"}))
    assert dangers(one(apply={"spawn": {"output": "file"}}), FOUR, SUBJECT.model_copy(update={"metric": "x"})) == ()


LIMITED = [("1M", True), ("3G", False), ("max", False), ("-1", False), ("1m", True), ("512k", True), ("1t", False)] + [
    ("0x100000", True),
    ("0x1p", False),
    ("04000000", True),
    ("K", True),
]


@pytest.mark.parametrize(("value", "refused"), LIMITED)
def test_a_limit_below_what_the_program_has_used_is_refused(one: Make, value: str, refused: bool) -> None:
    write = [{"path": "{cgroup.memory}/memory.max", "value": value}]
    limit = one(scope="cgroup", apply={"write": write})
    assert bool(dangers(limit, FOUR, SUBJECT, peak_bytes=2e9)) is refused
    assert dangers(limit, FOUR, SUBJECT) == ()


def test_whoever_asks_what_is_out_of_reach_hears_of_dangers(one: Make) -> None:
    limit = one(scope="cgroup", apply={"write": [{"path": "{cgroup.memory}/memory.max", "value": "1M"}]})
    assert "would kill it" in beyond_reach(limit, FOUR, SUBJECT, 2e9)[0]
    assert beyond_reach(one(apply=FIFO), FOUR.model_copy(update={"real_time_throttled": False}), SUBJECT)
    away = FOUR.model_copy(update={"away": "the program runs elsewhere"})
    assert "apply it there by hand" in beyond_reach(one(apply=FIFO), away, SUBJECT)[0]
    assert beyond_reach(one(scope="reboot"), FOUR, SUBJECT) == ()
