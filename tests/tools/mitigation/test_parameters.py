"""Parameters: put in their places, bounded, never more than a number or a plain word."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.knowledge.actions import MitigationParameter
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.loader import load
from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.layers.probes.cgroup_tree import own_groups
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.engine import applied
from vgo_agent.tools.mitigation.kernel_settings import resolve
from vgo_agent.tools.mitigation.parameters import levels_of, with_values
from vgo_agent.tools.subject import Subject

KNOWN = load().mitigations
EIGHT = Machine(cpus=tuple(range(8)))
THREADS = {"name": "threads", "description": "d", "default": "cpus-1", "least": "1", "most": "cpus"}
Make = Callable[..., Mitigation]


@pytest.fixture
def team(one: Make) -> Mitigation:
    return one(
        parameters=[THREADS],
        apply={"environment": {"OMP_NUM_THREADS": "{threads}", "OTHER": "{cgroup.cpu} {mask_but_quiet}"}},
        permanent={"slurm": "#SBATCH --cpus-per-task={threads}"},
        steps=["Set {threads}."],
    )


def test_values_stand_everywhere_and_words_that_are_no_parameter_stay(team: Mitigation) -> None:
    done = with_values(team, {"threads": "3"}, EIGHT)
    assert done.apply is not None
    assert done.apply.environment == {"OMP_NUM_THREADS": "3", "OTHER": "{cgroup.cpu} {mask_but_quiet}"}
    assert done.permanent["slurm"].endswith("=3")
    assert done.steps == ("Set 3.",)


@pytest.mark.parametrize(("word", "number"), [("cpus", "8"), ("cpus/2", "4"), ("cpus-1", "7"), ("cpus*1", "8")])
def test_words_are_counted_from_the_cpus(team: Mitigation, word: str, number: str) -> None:
    done = with_values(team, {"threads": word}, EIGHT)
    assert done.apply is not None
    assert done.apply.environment["OMP_NUM_THREADS"] == number


def test_a_multiple_of_a_value_is_put_in_another_unit(one: Make) -> None:
    quota = {"name": "percent", "description": "d", "default": "50", "form": "whole number"}
    mitigation = one(parameters=[quota], apply={"spawn": {"group": {"cpu_quota_us": "{percent*1000}"}}})
    done = with_values(mitigation, {"percent": "70"}, EIGHT)
    assert done.apply is not None
    assert done.apply.spawn.group.cpu_quota_us == 70_000
    with pytest.raises(VgoError, match=r"1\.5 is no value for percent of .*: it is a whole number"):
        with_values(mitigation, {"percent": "1.5"}, EIGHT)


@pytest.mark.parametrize(
    ("apply", "value", "said"),
    [
        ({"gpu": {"clock_cap_mhz": "{x}"}}, "fast", "cannot have x=fast: gpu.clock_cap_mhz"),
        ({"spawn": {"affinity": "{x}"}}, "many", "cannot have x=many: spawn.affinity"),
        ({"spawn": {"group": {"cpu_quota_us": "{x*1000}"}}}, "much", "much is no value for x: it is a whole number"),
        ({"spawn": {"group": {"cpu_quota_us": "{x*1}"}}}, "7", "cannot have x=7: spawn.group.cpu_quota_us"),
    ],
)
def test_a_value_that_does_not_fit_where_it_stands_is_refused(
    one: Make, apply: dict[str, object], value: str, said: str
) -> None:
    mitigation = one(parameters=[{"name": "x", "description": "d", "default": "1"}], apply=apply)
    with pytest.raises(VgoError, match=re.escape(said)):
        with_values(mitigation, {"x": value}, EIGHT)


def test_the_default_is_used_where_nothing_is_said(team: Mitigation) -> None:
    done = with_values(team, {}, EIGHT)
    assert done.apply is not None
    assert done.apply.environment["OMP_NUM_THREADS"] == "7"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"thread": "2"}, "has no parameter thread: it has threads"),
        ({"threads": "0"}, "0 is no value for threads of some_mitigation: it is from 1 to 8"),
        ({"threads": "9"}, "from 1 to 8"),
        ({"threads": "many"}, "it is a number"),
        ({"threads": "1; rm -rf /"}, "give a number or a plain word"),
        ({"threads": ""}, "give a number or a plain word"),
        ({"threads": "$(id)"}, "give a number or a plain word"),
        ({"threads": "../x"}, "give a number or a plain word"),
    ],
)
def test_what_is_wrong_is_named(team: Mitigation, values: dict[str, str], said: str) -> None:
    with pytest.raises(VgoError) as refused:
        with_values(team, values, EIGHT)
    assert said in str(refused.value)


def test_a_mitigation_without_parameters_says_so(one: Make) -> None:
    with pytest.raises(VgoError, match="no parameter x: it has none"):
        with_values(one(apply={}), {"x": "1"}, EIGHT)


def test_levels_are_counted_once_and_within_bounds() -> None:
    parameter = MitigationParameter.model_validate(THREADS | {"levels": ["cpus", "cpus-1", "8", "cpus/2", "16"]})
    assert levels_of(parameter, EIGHT) == ("8", "7", "4")
    assert levels_of(MitigationParameter.model_validate(THREADS), Machine(cpus=(0, 1, 2))) == ("1", "2")


@given(st.integers(1, 256), st.integers(1, 256))
def test_doing_it_again_changes_nothing(cpus: int, threads: int) -> None:
    machine = Machine(cpus=tuple(range(cpus)))
    known = KNOWN["omp_threads"]
    done = with_values(known, {"threads": str(min(threads, 4 * cpus))}, machine)
    assert with_values(done, {}, machine) == done
    assert "{threads}" not in done.model_dump_json()


@pytest.mark.parametrize("key", sorted(key for key, known in KNOWN.items() if known.parameters))
def test_every_known_parameter_has_a_default_and_levels_that_are_taken(key: str) -> None:
    known = KNOWN[key]
    with_values(known, {}, EIGHT)
    for parameter in known.parameters:
        levels = levels_of(parameter, EIGHT)
        assert levels
        for level in levels:
            with_values(known, {parameter.name: level}, EIGHT)


def test_a_word_can_be_another_one_in_some_places(one: Make) -> None:
    quota = {"name": "quota", "description": "d", "default": "max", "levels": ["50000", "max"], "least": "1000"}
    values = {"V2": "{quota}", "V1": "{quota?max=-1}", "BESIDE": "{quota?max={max:cpu.cfs_quota_us}}"}
    known = one(parameters=[quota], apply={"environment": values})
    for asked, filled in (
        ("50000", dict.fromkeys(values, "50000")),
        ("max", {"V2": "max", "V1": "-1", "BESIDE": "{max:cpu.cfs_quota_us}"}),
    ):
        done = with_values(known, {"quota": asked}, EIGHT)
        assert done.apply is not None
        assert done.apply.environment == filled
        assert with_values(done, {}, EIGHT) == done
    for wrong in ("min", "999", "max1"):
        with pytest.raises(VgoError, match=f"{wrong} is no value for quota of some_mitigation: it is "):
            with_values(known, {"quota": wrong}, EIGHT)


VERSION_2 = {"cpu.max": "20000 100000", "cpu.max.burst": "0", "memory.max": "1073741824", "memory.current": "4096"}
VERSION_2 |= {"memory.high": "536870912"}


@pytest.fixture
def version_2(tmp_path: Path) -> Path:
    """A tree in which this process is in a group of version 2 with a quota and a memory limit."""
    folder = tmp_path / "tree/sys/fs/cgroup/job"
    folder.mkdir(parents=True)
    (folder.parent / "cgroup.controllers").write_text("cpu memory\n")
    for name, value in VERSION_2.items():
        (folder / name).write_text(f"{value}\n")
    (tmp_path / "tree/proc/self").mkdir(parents=True)
    (tmp_path / "tree/proc/self/cgroup").write_text("0::/job\n")
    return tmp_path / "tree"


@pytest.mark.parametrize(
    ("key", "values", "changed"),
    [
        ("raise_cpu_quota", {}, {"cpu.max": "max"}),
        ("raise_cpu_quota", {"quota": "50000"}, {"cpu.max": "50000"}),
        ("cpu_burst", {}, {"cpu.max.burst": "20000"}),
        ("cpu_burst", {"burst": "5000"}, {"cpu.max.burst": "5000"}),
        ("raise_memory_limit", {}, {"memory.max": "max", "memory.high": "max"}),
        ("raise_memory_limit", {"bytes": "4294967296"}, {"memory.max": "4294967296", "memory.high": "max"}),
    ],
)
def test_limits_of_a_group_of_version_2_are_searched_and_put_back(
    key: str, values: dict[str, str], changed: dict[str, str], version_2: Path, subject: Subject, launch: Launch
) -> None:
    folder = version_2 / "sys/fs/cgroup/job"
    known = with_values(KNOWN[key], values, EIGHT)
    with applied(known, launch, subject, EIGHT, root=version_2) as change:
        assert all(check.passed for check in change.on())
        assert {name: (folder / name).read_text().strip() for name in VERSION_2} == VERSION_2 | changed
        change.off()
    assert {name: (folder / name).read_text().strip() for name in VERSION_2} == VERSION_2


def test_a_memory_limit_below_what_is_in_use_is_refused(version_2: Path) -> None:
    (version_2 / "sys/fs/cgroup/job/memory.current").write_text("4294967296\n")
    known = with_values(KNOWN["raise_memory_limit"], {"bytes": "2147483648"}, EIGHT)
    assert known.apply is not None
    with pytest.raises(VgoError, match="would kill what runs there"):
        resolve(known.apply.write, EIGHT, version_2)


IN_THE_GROUP = """
import sys
from pathlib import Path
from vgo_agent.agent.cli import main
(Path(sys.argv[1]) / "tasks").write_text("0")
search = ["raise_cpu_quota", "--search", "quota=50000,100000,max", "--allow", "system"]
few = ["--pairs", "10", "--min-runs", "10", "--max-runs", "20", "--budget", "900", "--json"]
raise SystemExit(main(["try", *search, *few, "--out", sys.argv[2], "--", "sleep", "0.01"]))
"""


@pytest.fixture
def version_1() -> Iterator[Path]:
    """A new group of version 1 with a quota of one and a half CPUs."""
    above = own_groups(Path("/")).get("cpu", ())
    if not above or os.geteuid() != 0 or not (above[0] / "cpu.cfs_quota_us").exists():
        pytest.skip("this process is root in no control group of version 1 with a quota")
    folder = above[0] / f"vgo-test-{os.getpid()}"
    folder.mkdir()
    (folder / "cpu.cfs_quota_us").write_text("150000")
    yield folder
    folder.rmdir()


@pytest.mark.slow
def test_the_quota_of_a_real_group_of_version_1_is_searched_and_put_back(version_1: Path, tmp_path: Path) -> None:
    code = [sys.executable, "-c", IN_THE_GROUP, str(version_1), str(tmp_path / "out")]
    done = subprocess.run(code, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert all(f'"{level}"' in done.stdout for level in ("50000", "100000", "max"))
    assert (version_1 / "cpu.cfs_quota_us").read_text().strip() == "150000"
