"""Advice too says what a program can check of its conditions, so that what cannot apply here says why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vgo_agent.agent.cli import main
from vgo_agent.knowledge.actions import Precondition
from vgo_agent.knowledge.loader import load
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.preconditions import unmet
from vgo_agent.tools.subject import Subject

KNOWN = load().mitigations
BY_HAND = {key: known for key, known in KNOWN.items() if known.apply is None}
SUBJECT = Subject(command=("./bench",), argv=("/work/bench",), directory="/work")
OF_THE_PROGRAM_OR_NOTHING = {
    *("align_data", "batch_system_calls", "code_preallocate", "complete_where_asked", "diagnose_the_phase"),
    *("direct_io", "fewer_file_lookups", "fewer_syncs", "find_the_waited_for", "fix_the_work", "guide_branches"),
    *("fixed_heap_and_warm_code", "keep_connections", "keep_workers", "less_output", "local_files", "send_at_once"),
    *("measure_without_tools", "prefetch_in_code", "quiet_output", "recompile_for_target", "smaller_code"),
    *("steadier_io_sizes", "warm_up_first", "stop_the_others"),
    *("larger_cache", "more_memory", "own_disk", "replace_hardware", "same_machine", "steadier_network"),
    *("boot_idle_poll", "faster_resolver", "fewer_checks_at_boot", "fewer_file_locks", "longer_accept_queue"),
    "wait_to_be_told",
}
"""What any machine can do: a change of the program, another machine, a word that every kernel takes."""
SMALL_GUEST = Machine(
    cpus=(0, 1), online=2, virtual="KVM", root=True, kernel_lacks=("NO_HZ_FULL",), executables=("ionice", "systemctl")
)
LARGE_SERVER = Machine(
    cpus=tuple(range(64)),
    numa_nodes=2,
    gpus=4,
    root=True,
    executables=tuple(known.applies.executable for known in KNOWN.values()),
    files=tuple(known.applies.file for known in KNOWN.values()),
    program_dynamic=True,
)


def reasons(key: str, machine: Machine) -> str:
    return "; ".join(unmet(KNOWN[key].applies, machine, SUBJECT, 8.0))


@pytest.mark.parametrize("key", sorted(set(BY_HAND) - OF_THE_PROGRAM_OR_NOTHING))
def test_advice_says_what_it_needs(key: str) -> None:
    assert BY_HAND[key].applies != Precondition()


@pytest.mark.parametrize("key", sorted(BY_HAND.keys() & {k for k in BY_HAND if "cuda" in k or "gpu" in k}))
def test_advice_for_a_gpu_needs_one(key: str) -> None:
    assert "NVML sees no GPU" in reasons(key, SMALL_GUEST)
    assert reasons(key, LARGE_SERVER) == ""


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("tickless_cores", "built without CONFIG_NO_HZ_FULL"),
        ("cache_partition", "/sys/fs/resctrl is not there"),
        ("efficiency_cores_for_system", "/sys/devices/cpu_atom/cpus is not there"),
        ("firmware_power_profile", "this is a virtual machine (KVM)"),
        ("lower_refresh_rate", "this is a virtual machine (KVM)"),
        ("better_cooling", "this is a virtual machine (KVM)"),
        ("first_touch", "it needs 2 memory nodes"),
        ("neither_few_nor_all_cores", "it needs 3 CPUs"),
        ("bind_ranks", "mpirun or srun is not installed"),
        ("tuned_latency_profile", "tuned-adm is not installed"),
        ("isolated_partition", "/sys/fs/cgroup/cgroup.controllers is not there"),
    ],
)
def test_what_a_small_guest_cannot_do_says_why_and_a_large_server_can(key: str, why: str) -> None:
    assert why in reasons(key, SMALL_GUEST)
    assert reasons(key, LARGE_SERVER) == ""


def test_a_host_of_ones_own_is_for_a_virtual_machine() -> None:
    assert reasons("dedicated_host", SMALL_GUEST) == ""
    assert "no hypervisor is seen" in reasons("dedicated_host", LARGE_SERVER)


def test_a_list_says_no_and_why_where_advice_cannot_be_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("proc", "sys"):
        (tmp_path / name).mkdir()
    assert main(["mitigations", "--root", str(tmp_path), "--json", "efficiency_cores_for_system", "align_data"]) == 0
    small_cores, align = json.loads(capsys.readouterr().out)["mitigations"]
    assert (small_cores["here"], align["here"]) == ("no", "you")
    assert "/sys/devices/cpu_atom/cpus is not there" in small_cores["why_not"][0]
