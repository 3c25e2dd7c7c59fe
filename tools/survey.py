"""Survey the machine and the program once, without changing anything: the facts that preconditions ask for."""

from __future__ import annotations

import gzip
import os
import platform
import re
import shutil
import zlib
from collections.abc import Iterable
from functools import cache
from glob import glob
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from ..knowledge.actions import Precondition
from ..layers.launcher import Launcher
from ..layers.probes.cgroup_tree import own_groups
from ..layers.probes.machine import interrupts_of_cpus
from ..layers.probes.nvidia import Nvidia
from ..layers.probes.sysfs import text_of
from ..layers.probes.thermal import sensors
from .execution.conditions import group_without_real_time
from .machine import Machine, autogrouped, groups_with, limited
from .mitigation.kernel_file import cpu_list, in_force
from .mitigation.program import Program, input_files, inspect, kind_of_machine, read_elf, starts_ranks
from .mitigation.run_group import places
from .subject import Subject

__all__ = ["input_files", "survey"]

_VERDICT_LIBRARIES = ("vgo-agent", "numpy", "scipy", "polars", "scikit-learn")
_LIBRARY_FOLDERS = ("lib", "lib64", "usr/lib", "usr/lib64", "usr/local/lib")
_CAPABILITIES = {"ipc_lock": 14, "sys_nice": 23, "sys_resource": 24}
"""Bits of CapEff, from linux/capability.h."""
_HYPERVISORS = re.compile(r"KVM|QEMU|VMware|VirtualBox|Xen|Microsoft|Amazon EC2|Google|Bochs|Parallels|bhyve", re.I)

# A source, where it shows (any of these), and why it may be missing.
_SOURCES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "cpufreq",
        ("sys/devices/system/cpu/cpu*/cpufreq",),
        "The kernel shows no CPU frequency control (/sys/devices/system/cpu/cpu*/cpufreq), as in most virtual machines "
        "and containers.",
    ),
    (
        "thermal",
        ("sys/class/thermal/thermal_zone*", "sys/class/hwmon/hwmon*/temp*_input"),
        "The kernel shows no temperature sensor (/sys/class/thermal, /sys/class/hwmon).",
    ),
    (
        "rapl",
        ("sys/class/powercap/*rapl*:*",),
        "The kernel shows no energy counter (RAPL, /sys/class/powercap).",
    ),
    (
        "hardware counters",
        ("sys/bus/event_source/devices/cpu", "sys/bus/event_source/devices/cpu_*", "sys/bus/event_source/devices/arm*"),
        "The kernel shows no hardware performance counters (/sys/bus/event_source/devices/cpu): the hypervisor or "
        "the processor does not offer them.",
    ),
    (
        "gpu",
        (
            "proc/driver/nvidia/gpus/*",
            "dev/nvidia[0-9]*",
            "sys/class/kfd/kfd/topology/nodes/*",
            "sys/class/drm/card[0-9]*",
        ),
        "No GPU driver is loaded (neither /dev/nvidia* nor /sys/class/drm/card*).",
    ),
)


def survey(
    subject: Subject,
    knowledge_conditions: Iterable[Precondition],
    *,
    root: Path = Path("/"),
    launcher: Launcher | None = None,
) -> Machine:
    """Gather what `knowledge_conditions` may ask for, and what a report names as the system under test."""
    conditions = tuple(knowledge_conditions)
    program = inspect(subject.argv)
    libraries = _libraries(root, conditions, program)
    cpus = cpu_list(_field(root, "proc/self/status", "Cpus_allowed_list")) or (0,)
    return Machine(
        cpu=_field(root, "proc/cpuinfo", "model name") or _field(root, "proc/cpuinfo", "Model") or "unknown",
        architecture=os.uname().machine,
        kernel=text_of(root / "proc/sys/kernel/osrelease") or "unknown",
        kernel_lacks=_kernel_lacks(root, {c.kernel_config for c in conditions} - {""}),
        distribution=_distribution(root),
        python=platform.python_version(),
        glibc=_glibc(),
        cpus=cpus,
        quiet_cpu=_quietest(root, cpus),
        cores=_cores(root, cpus),
        online=len(cpu_list(text_of(root / "sys/devices/system/cpu/online"))),
        groups=places(root),
        limited=limited(root),
        autogroups=autogrouped(root),
        real_time_throttled=text_of(root / "proc/sys/kernel/sched_rt_runtime_us") != "-1",
        real_time_by_group=any((group / "cpu.rt_runtime_us").exists() for group in own_groups(root).get("cpu", [])),
        group_without_real_time=str(group_without_real_time(root) or ""),
        sensor=bool(sensors(root)),
        gpus=_gpus() if any(condition.gpu for condition in conditions) else 0,
        numa_nodes=max(1, len(list(root.glob("sys/devices/system/node/node[0-9]*")))),
        memory_bytes=1024 * int((_field(root, "proc/meminfo", "MemTotal") or "0").split()[0]),
        root=os.geteuid() == 0,
        capabilities=_capabilities(root),
        virtual=_hypervisor(root),
        governor=text_of(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        thp=in_force(text_of(root / "sys/kernel/mm/transparent_hugepage/enabled")),
        libraries=_distinct(libraries.here),
        foreign_libraries=libraries.foreign,
        executables=_distinct(c.executable for c in conditions if any(map(shutil.which, c.executable.split("|")))),
        files=_distinct(c.file for c in conditions if c.file and _usable(root, c.file, c.root)),
        absent=_absent(root),
        hosts=launcher.hosts if launcher else (),
        away=launcher.away if launcher else "",
        launching=launcher.before_program if launcher else (),
        launcher_variables=launcher.layer.own if launcher else (),
        load_1min=float((text_of(root / "proc/loadavg") or "0").split()[0]),
        program_sha256=program.sha256,
        program_dynamic=program.dynamic,
        program_static=program.elf is not None and not program.dynamic,
        program_machine=kind_of_machine(program.elf) if program.elf else "",
        program_python=program.python,
        program_openmp=program.openmp,
        program_mpi=starts_ranks((*(launcher.before_program if launcher else ()), *subject.argv)),
        versions={name: version for name in _VERDICT_LIBRARIES if (version := _version(name))},
    )


def _field(root: Path, name: str, key: str) -> str:
    """Read one `key : value` line."""
    found = re.search(rf"^{re.escape(key)}\s*:\s*(.*)$", text_of(root / name), re.M)
    return found.group(1).strip() if found else ""


def _kernel_lacks(root: Path, options: Iterable[str]) -> tuple[str, ...]:
    """Look the options up in the kernel's configuration; none is missing where it is not shown."""
    built = _kernel_config(root)
    return _distinct(one for one in options if built and not re.search(rf"^CONFIG_{one}=[ym]", built, re.M))


def _kernel_config(root: Path) -> str:
    release = text_of(root / "proc/sys/kernel/osrelease")
    try:
        return gzip.decompress((root / "proc/config.gz").read_bytes()).decode(errors="replace")
    except (OSError, EOFError, zlib.error):  # most distributions ship it as a file instead
        return text_of(root / f"boot/config-{release}") or text_of(root / f"lib/modules/{release}/config")


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def _quietest(root: Path, cpus: tuple[int, ...]) -> int:
    """Find the CPU with the fewest interrupts so far; a busy device or timer tends to stay where it is."""
    seen = interrupts_of_cpus(text_of(root / "proc/interrupts").encode())
    return min(cpus, key=lambda cpu: (seen.get(cpu, 0), cpu))


def _distribution(root: Path) -> str:
    found = re.search(r'^PRETTY_NAME="?([^"\n]*)', text_of(root / "etc/os-release"), re.M)
    return found.group(1) if found else "unknown"


def _glibc() -> str:
    name, version = platform.libc_ver()
    return version if name == "glibc" else ""


def _hypervisor(root: Path) -> str:
    named = text_of(root / "sys/hypervisor/type")
    vendor = " ".join(
        filter(None, (text_of(root / f"sys/class/dmi/id/{part}") for part in ("sys_vendor", "product_name")))
    )
    if named:
        return named
    if _HYPERVISORS.search(vendor):
        return vendor
    flags = _field(root, "proc/cpuinfo", "flags").split()
    return "a hypervisor that does not give its name" if "hypervisor" in flags else ""


class _Libraries(NamedTuple):
    here: list[str]
    foreign: dict[str, str]
    """Those that are there for another kind of machine only."""


def _libraries(root: Path, conditions: tuple[Precondition, ...], program: Program) -> _Libraries:
    """Find the sonames that the loader would; a library built for another machine is not found."""
    machine = program.elf or read_elf(Path("/proc/self/exe"))
    cache = _cache(root)
    found = _Libraries([], {})
    for name in sorted({condition.library for condition in conditions if condition.library}):
        built = [elf for path in _paths_of(root, cache, name) if (elf := read_elf(path))]
        if any(machine and elf.machine == machine.machine for elf in built):
            found.here.append(name)
        elif built:
            found.foreign[name] = kind_of_machine(built[0])
    return found


def _cache(root: Path) -> bytes:
    """The loader's own index; reading it loads nothing and starts no `ldconfig`."""
    try:
        return (root / "etc/ld.so.cache").read_bytes()
    except OSError:
        return b""


def _paths_of(root: Path, cache: bytes, soname: str) -> Iterable[Path]:
    for found in re.finditer(rb"/[^\0]*/" + re.escape(soname.encode()) + rb"(?=\0)", cache):
        yield root / found.group().decode(errors="replace").lstrip("/")
    for folder in filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":")):
        yield Path(folder) / soname
    # A C library without a cache looks here.
    yield from (root / folder / soname for folder in _LIBRARY_FOLDERS)


def _usable(root: Path, file: str, as_root: bool) -> bool:
    """Any of the files that the words of a path stand for will do."""
    patterns = (_in_own_group(root, one) if "{" in one else str(root / one.lstrip("/")) for one in file.split("|"))
    return any(os.access(path, os.W_OK) or not as_root for pattern in patterns for path in glob(pattern))


def _in_own_group(root: Path, file: str) -> str:
    """Put the folder of this process's control group in the place of `{cgroup.cpu}`."""
    controller = file.removeprefix("{cgroup.").partition("}")[0]
    folders = groups_with(controller, root)
    return f"{folders[0]}{file.partition('}')[2]}" if folders else ""


def _capabilities(root: Path) -> tuple[str, ...]:
    effective = int(_field(root, "proc/self/status", "CapEff") or "0", 16)
    return tuple(name for name, bit in _CAPABILITIES.items() if effective >> bit & 1)


def _cores(root: Path, cpus: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Group the allowed CPUs by core; empty where the kernel does not tell for all of them."""
    siblings = [
        cpu_list(text_of(root / f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")) for cpu in cpus
    ]
    if not all(siblings):
        return ()
    return tuple(sorted({tuple(cpu for cpu in cores if cpu in cpus) for cores in siblings}))


def _gpus() -> int:
    found = Nvidia(rates=False)
    try:
        return len(found.cards)
    finally:
        found.close()


def _absent(root: Path) -> dict[str, str]:
    absent = {
        name: reason for name, patterns, reason in _SOURCES if not any(any(root.glob(pattern)) for pattern in patterns)
    }
    smt = text_of(root / "sys/devices/system/cpu/smt/control")
    if smt not in ("on", "off", "forceoff"):
        absent["smt"] = f"SMT cannot be switched here (/sys/devices/system/cpu/smt/control: {smt or 'missing'})."
    return absent


@cache
def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
