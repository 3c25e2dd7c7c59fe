"""What every mitigation would do, in words, as a launch, as a shell line and as what each keeper is given: as before.

Each on two machines that are made up: one has every file, control groups and four CPUs; the other has next to nothing.
Digests are kept, since the words are a megabyte. `python tests/tools/mitigation/test_golden_words.py` writes those of
today, and with `words` the words themselves, so that two versions can be compared.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from vgo_agent.knowledge.actions import Apply
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.loader import load
from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.machine import GroupPlace, Machine
from vgo_agent.tools.mitigation import kernel_settings
from vgo_agent.tools.mitigation.by_hand import command_line, planned
from vgo_agent.tools.mitigation.engine import mitigated
from vgo_agent.tools.mitigation.observation import proofs
from vgo_agent.tools.mitigation.parameters import levels_of, with_values
from vgo_agent.tools.mitigation.permanent import permanent
from vgo_agent.tools.mitigation.verification import promised
from vgo_agent.tools.subject import Subject

GOLDEN = Path(__file__).parents[2] / "golden/mitigations.json"
SUBJECT = Subject(
    command=("./bench.sh", "a b"), argv=("/work/bench.sh", "a b"), directory="/work", inputs=("/work/in 1", "/work/in2")
)
LAUNCH = Launch(argv=SUBJECT.argv, environment={"PATH": "/usr/bin:/bin", "HOME": "/root", "EDITOR": "vi"})
PROGRAM = ("/usr/bin/solver", "--fast", "a b")
UNIFIED, MEMORY = "/sys/fs/cgroup/unified/mine", "/sys/fs/cgroup/memory"
RICH = Machine(
    cpus=(0, 1, 2, 3),
    cores=((0, 1), (2, 3)),
    quiet_cpu=3,
    root=True,
    groups={
        "cpu": GroupPlace(folder=UNIFIED, version=2),
        "cpuset": GroupPlace(folder=UNIFIED, version=2),
        "memory": GroupPlace(folder=MEMORY, version=1),
    },
)
POOR = Machine(
    cpus=(0, 1),
    quiet_cpu=1,
    groups={
        "cpu": GroupPlace(folder="/sys/fs/cgroup/cpu", version=1),
        "cpuset": GroupPlace(folder="/sys/fs/cgroup/cpuset", version=1, mems="0"),
    },
    launching=("mpirun", "-n", "2"),
    launcher_variables=("OMPI_*", "PRTE_*"),
)
OF_NO_MITIGATION: Mapping[str, dict[str, Any]] = {
    "quota": {"spawn": {"group": {"cpu_quota_us": 50_000}}},
    "memory": {"spawn": {"group": {"memory_bytes": 64 << 20, "swappiness": 0}}},
    "memory_of_the_group": {"write": [{"path": "{cgroup.memory}/memory.max", "value": "512M"}]},
    "quota_read_there": {"write": [{"path": "{cgroup.cpu}/cpu.max", "value": "{min:cpu.max}"}]},
    "deadline": {
        "wrap": ["numactl", "--localalloc"],
        "spawn": {
            "policy": "deadline",
            "deadline": {"runtime_us": 1000, "period_us": 2000},
            "nice": 5,
            "io_class": "idle",
            "fixed_layout": True,
            "thp_disable": True,
        },
    },
    "io": {"spawn": {"io_class": "idle"}},
    "limits": {"spawn": {"limits": {"stack": "8388608", "memlock": "4096"}}},
    "output": {"spawn": {"output": "file"}},
    "gpu": {"gpu": {"lock_clocks": "max", "persistence": True, "clock_cap_mhz": "1200"}},
    "held": {"hold": [{"path": "/dev/other", "int32": -2}]},
    "environment": {"clear_environment": True, "environment": {"A": 'x "y" 10%'}, "preload": "libjemalloc.so.2"},
    "copied": {"tmpfs_directory": True, "clear_environment": True},
    "script": {"script": {"apply": ["true"], "verify": ["test"], "revert": ["false"]}},
    "writes": {
        "write": [
            {"path": "/sys/block/sda/queue/wbt_lat_usec", "value": "1 2"},
            {"path": "/proc/sys/kernel/msgmax", "value": "7 8", "optional": True},
            {"path": "/proc/irq/3/smp_affinity", "value": "%1"},
        ]
    },
}
"""Kinds of action that none that ships has, or not in this way."""
MACHINES = {"rich": RICH, "poor": POOR}


def test_every_mitigation_is_told_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = json.loads(GOLDEN.read_text())
    now = every(tmp_path, monkeypatch)
    assert now.keys() == before.keys()
    for key, told in now.items():
        assert digests(told) == before[key], (key, told)


def test_all_are_told_with_all_their_values() -> None:
    told = {name.partition(" ")[0] for name, _ in cases(RICH)}
    assert told == set(load().mitigations) | set(OF_NO_MITIGATION)
    assert len([name for name, _ in cases(RICH) if "=" in name]) > 50


def every(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Tell all of them; what several say alike is written once."""
    (folder / "rich/proc/self").mkdir(parents=True)
    (folder / "poor").mkdir()
    for name in ("numactl", "mpirun"):
        (folder / name).touch(0o755)
    fill(folder / "rich")
    monkeypatch.setattr("vgo_agent.tools.mitigation.permanent._PROGRAMS", ())
    found: dict[str, Any] = {}
    for name, machine in MACHINES.items():
        root = folder / name
        monkeypatch.setattr(kernel_settings.resolve, "__defaults__", (root,))
        for case, mitigation in cases(machine):
            told = words_of(mitigation, machine, root, folder)
            found[f"{name}: {case}"] = json.loads(json.dumps(told).replace(str(folder), "FOLDER"))
    return found


def digests(told: Mapping[str, Any]) -> dict[str, str]:
    """Give each part of what is told about one mitigation by the beginning of its SHA-256."""
    return {part: hashlib.sha256(json.dumps(words).encode()).hexdigest()[:12] for part, words in told.items()}


def cases(machine: Machine) -> Iterator[tuple[str, Mitigation]]:
    """Each mitigation with the defaults and with each level of each parameter."""
    made = {
        key: Mitigation(
            key=key, name=key, description="", scope="process", when="", hurts="", apply=Apply.model_validate(apply)
        )
        for key, apply in OF_NO_MITIGATION.items()
    }
    for key, mitigation in {**load().mitigations, **made}.items():
        yield key, mitigation
        for parameter in mitigation.parameters:
            for level in levels_of(parameter, machine):
                if level != parameter.default:
                    yield f"{key} {parameter.name}={level}", with_values(mitigation, {parameter.name: level}, machine)


def fill(root: Path) -> None:
    """Make every file that a mitigation writes or reads, two for each pattern; each shows a number."""
    (root / "proc/self/cgroup").write_text("5:memory:/\n4:cpu:/\n3:cpuset:/\n2:blkio:/\n0::/mine\n")
    places = {name: f"/sys/fs/cgroup/{name}" for name in ("cpu", "memory", "cpuset", "blkio")}
    for _, mitigation in cases(RICH):
        for write in mitigation.apply.write if mitigation.apply else ():
            path = re.sub(r"\{cgroup\.(\w+)\}", lambda found: places[found[1]], write.path)
            beside = [*write.siblings, *re.findall(r"\{(?:max|min|\d+%):([^{}]+)\}", write.value)]
            for name in (path, *beside):
                whole = name if "/" in name else f"{path.rpartition('/')[0]}/{name}"
                for number in "01" if "*" in whole else "0":
                    file = root / whole.replace("*", number).lstrip("/")
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text("7\n")
    (root / "sys/devices/system/cpu/online").write_text("0-3\n")
    for name in ("memory.usage_in_bytes", "memory.memsw.usage_in_bytes"):
        (root / places["memory"].lstrip("/") / name).write_text("0\n")


def words_of(mitigation: Mitigation, machine: Machine, root: Path, folder: Path) -> dict[str, Any]:
    launch = Launch(LAUNCH.argv, {**LAUNCH.environment, "PATH": str(folder)})
    whole = said(lambda: with_values(mitigation, {}, machine))
    if isinstance(whole, str):
        return {"refused": whole}
    return {
        "plan": said(lambda: planned(whole, SUBJECT, machine, root)),
        "launch": said(lambda: changes(launch, mitigated(launch, whole, SUBJECT, machine))),
        "proofs": said(lambda: proved(mitigated(launch, whole, SUBJECT, machine), whole)),
        "shell": said(lambda: command_line(whole, SUBJECT, machine)),
        "keep": {
            one.format: f"{one.path}\n{one.text}" if one.text else "\n".join((*one.notes, one.why))
            for one in permanent(whole, machine, PROGRAM if machine is RICH else (), root=root)
        },
    }


def proved(launch: Launch, mitigation: Mitigation) -> list[str]:
    """Say what is looked at in a process, whatever the order."""
    return sorted(what for what, _ in proofs(promised(mitigation, launch)).values())


def said(ask: Any) -> Any:
    try:
        return ask()
    except VgoError as refused:
        return f"refused: {refused}"


def changes(before: Launch, after: Launch) -> dict[str, str]:
    """Name the fields that differ, as they are afterwards."""
    pairs = {field.name: (getattr(before, field.name), getattr(after, field.name)) for field in fields(Launch)}
    return {name: repr(new) for name, (old, new) in pairs.items() if new != old}


def write(whole: bool) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        told = every(Path(folder), patch)
    kept = told if whole else {key: digests(words) for key, words in told.items()}
    lines = [f"{json.dumps(key)}: {json.dumps(words)}" for key, words in kept.items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    if whole:
        sys.stdout.write(text)
    else:
        GOLDEN.write_text(text)


if __name__ == "__main__":
    write(sys.argv[1:] == ["words"])
