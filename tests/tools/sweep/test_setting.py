"""From a cell to what is done: one mitigation of all that is set, and conflicts told before anything is touched."""

import os
from pathlib import Path

import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.machine import GroupPlace, Machine
from vgo_agent.tools.mitigation.engine import mitigated
from vgo_agent.tools.mitigation.observation import proofs
from vgo_agent.tools.mitigation.parameters import with_values
from vgo_agent.tools.mitigation.verification import promised
from vgo_agent.tools.subject import Subject
from vgo_agent.tools.sweep.cell import CellSettings
from vgo_agent.tools.sweep.cell_runs import CellSetting, cell_setting, kinds, mitigation_of, preconditions
from vgo_agent.tools.sweep.space import Parameter, Space

MACHINE = Machine(
    cpus=(0, 1),
    glibc="2.36",
    root=True,
    program_dynamic=True,
    groups={name: GroupPlace(folder=f"/sys/fs/cgroup/{name}", version=1) for name in ("cpu", "memory")},
)
SUBJECT = Subject(command=("true",), argv=("/bin/true",), directory="/")


def setting(machine: Machine = MACHINE, **parameters) -> CellSetting:
    """The setting of the first cell of a space."""
    space = Space.model_validate({"parameters": parameters})
    levels = {name: parameter.grid()[0] for name, parameter in space.parameters.items()}
    return cell_setting(CellSettings.of(space, levels, lambda _: SUBJECT), machine)


def test_an_argument_alone_changes_nothing_of_the_machine():
    found = setting(size={"levels": [1]})
    assert (found.mitigation.scope, found.would(MACHINE)) == ("process", ())


def test_several_parameters_become_one_mitigation():
    found = setting(
        quota={"levels": [50], "to": "cpu_quota"},
        memory={"levels": [64], "to": "memory"},
        team={"levels": [2], "to": "threads"},
        mine={"levels": ["x"], "environment": "MINE"},
        cpus={"levels": ["0-1"], "to": "affinity"},
        cache={"levels": [7], "mitigation": "glibc_tcache", "parameter": "blocks"},
    )
    apply = found.mitigation.apply
    assert apply is not None
    assert (apply.spawn.group.cpu_quota_us, apply.spawn.group.memory_bytes) == (50_000, 64 << 20)
    assert apply.environment["OMP_NUM_THREADS"] == apply.environment["MKL_NUM_THREADS"] == "2"
    assert apply.environment["MINE"] == "x"
    assert apply.environment["GLIBC_TUNABLES"] == "glibc.malloc.tcache_count=7"
    launch = mitigated(found.launch, found.mitigation, SUBJECT, MACHINE)
    assert launch.affinity == frozenset({0, 1})
    proved = {"apply.spawn.affinity", "apply.spawn.group", "apply.environment"}
    assert set(proofs(promised(found.mitigation, launch))) == proved
    assert found.mitigation.scope == "cgroup"
    assert any("cpu.cfs_quota_us = 50000" in line for line in found.would(MACHINE))


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"a": {"levels": ["9"], "to": "affinity"}}, "CPUs 9 are not among those that this process may use: 0,1"),
        ({"a": {"levels": ["0-"], "to": "affinity"}}, "0- is no value for level of a: it is a list of CPUs"),
        (
            {"a": {"levels": ["0-99999999999"], "to": "affinity"}},
            "0-99999999999 is no value for level of a: it is a list of CPUs",
        ),
        ({"a": {"levels": ["many"], "to": "threads"}}, "many is no value for level of a: it is a whole number"),
        ({"a": {"levels": [0], "to": "cpu_quota"}}, "0 is no value for level of a: it is at least 1 %"),
        ({"a": {"levels": [1.5], "to": "memory"}}, "1.5 is no value for level of a: it is a whole number"),
        ({"a": {"levels": ["x"], "environment": "E"}, "b": {"levels": ["y"], "environment": "E"}}, "set environment.E"),
        (
            {"a": {"levels": ["0"], "to": "affinity"}, "b": {"levels": ["1"], "to": "affinity"}},
            "Two parameters set spawn.affinity",
        ),
        (
            {"a": {"levels": ["on"], "mitigation": "reserve_cores"}, "b": {"levels": ["1"], "to": "affinity"}},
            "Two parameters set spawn.affinity",
        ),
        (
            {
                "a": {"levels": ["on"], "mitigation": "thp_always"},
                "b": {"levels": ["on"], "mitigation": "thp_never"},
            },
            "Two parameters write /sys/kernel/mm/transparent_hugepage/enabled",
        ),
        (
            {"a": {"levels": ["9"], "mitigation": "reserve_cores", "parameter": "cores"}},
            "9 is no value for cores of reserve_cores",
        ),
        ({"a": {"levels": ["bfq"], "to": "scheduler", "device": "nothing9"}}, "nothing9/queue/scheduler"),
    ],
)
def test_an_impossible_cell_is_told_before_anything_is_touched(parameters, said):
    machine = MACHINE.model_copy(update={"files": ("/sys/kernel/mm/transparent_hugepage/enabled",)})
    with pytest.raises(VgoError) as refused:
        setting(machine, **parameters)
    assert said in str(refused.value)


@pytest.mark.parametrize("device", ["*", "vda"])
def test_a_disk_that_is_named_must_take_the_scheduler(device):
    parameter = Parameter(levels=("none",), to="scheduler", device=device)
    found = mitigation_of("a", parameter)
    assert found and found.apply
    (write,) = found.apply.write
    assert (write.path, write.optional) == (f"/sys/block/{device}/queue/scheduler", device == "*")


def test_what_needs_consent_is_told_from_what_it_sets():
    scopes = {"affinity": "process", "threads": "process", "cpu_quota": "cgroup", "memory": "cgroup"}
    assert {key: kind.scope for key, kind in kinds().items()} == scopes | {"frequency": "system", "scheduler": "system"}


def test_where_no_control_group_can_be_made_the_cure_is_told():
    with pytest.raises(VgoError, match="controller cpu can be made here"):
        setting(Machine(), quota={"levels": [50], "to": "cpu_quota"})


def test_a_mitigation_that_is_off_is_not_there():
    found = setting(thp={"mitigation": "thp_always"})
    assert found.would(MACHINE) == ()
    assert found.launch.environment == dict(os.environ)


def test_what_the_mitigations_ask_for_is_surveyed():
    space = Space.model_validate(
        {"parameters": {"t": {"mitigation": "thp_always"}, "f": {"levels": [1], "to": "frequency"}}}
    )
    files = {condition.file for condition in preconditions(space.parameters)}
    assert files == {
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq",
    }


def test_a_clock_is_written_for_every_policy_in_khz():
    made = with_values(kinds()["frequency"], {"level": "2400"}, MACHINE)
    assert made.apply is not None
    (write,) = made.apply.write
    assert (write.value, Path(write.path).name, write.siblings) == (
        "2400000",
        "scaling_max_freq",
        ("scaling_min_freq",),
    )
