"""What /proc shows of a running process: one reader for each kind of setting, each giving a level 2 check."""

from __future__ import annotations

import os
import re
import resource
import stat
from collections.abc import Callable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from ...knowledge.actions import Apply, Verify
from ...layers.probes.cgroup_tree import own_groups
from ..execution.launch import REAL_TIME, SCHED_DEADLINE, Launch
from ..execution.system_calls import (
    ADDR_NO_RANDOMIZE,
    IOPRIO_CLASS_SHIFT,
    IOPRIO_IDLE,
    IOPRIO_WHO_PROCESS,
    deadline_of,
    io_priority_calls,
    libc,
    resident_share,
)
from .kernel_file import cpu_list
from .mpi_ranks import of_ranks
from .program import Process, ProcessObservation

_POLICY_NAMES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", SCHED_DEADLINE: "deadline"}
_LIMIT_LINES = {resource.RLIMIT_STACK: "Max stack size", resource.RLIMIT_MEMLOCK: "Max locked memory"}
_MOST_DIRTY_KB = 4096  # that waits to be written back just after a sync: other programs write as well
_IO_CLASS_NAMES = {0: "none", 1: "realtime", 2: "best effort", 3: "idle"}
TO_LAUNCHERS = ("OMPI_MCA_", "PRTE_MCA_", "SLURM_CPU_BIND")
"""Variables that say where ranks may run."""
_ENDING = 0x4  # PF_EXITING of include/linux/sched.h, among the flags: set before a process leaves its groups


class Promise(NamedTuple):
    """What a process that was started so should show."""

    apply: Apply
    verify: Verify
    launch: Launch

    @property
    def variables(self) -> list[str]:
        """Names of variables that it should have; those that say where ranks may run are proved by the ranks."""
        names = self.apply.environment
        return [name for name in names if not (self.verify.ranks and name.startswith(TO_LAUNCHERS))]


Reader = Callable[[Promise, Process], ProcessObservation]


def _equal(expected: str, seen: str) -> ProcessObservation:
    return ProcessObservation(expected, seen, seen == expected)


def _affinity(promise: Promise, process: Process) -> ProcessObservation:
    expected = promise.launch.affinity
    seen = process.status("Cpus_allowed_list")
    return ProcessObservation(",".join(map(str, sorted(expected or ()))), seen, frozenset(cpu_list(seen)) == expected)


def _policy(promise: Promise, process: Process) -> ProcessObservation:
    asked = promise.launch.scheduler
    expected = _policy_in_words(asked.policy, asked.priority, asked.policy in REAL_TIME) if asked else "other 0"
    kind = process.stat(41)
    alone = bool(os.sched_getscheduler(process.pid) & os.SCHED_RESET_ON_FORK)  # which the file does not show
    seen = _policy_in_words(kind, process.stat(40), alone)
    if asked and asked.policy == kind == SCHED_DEADLINE:
        runtime_ns, period_ns = deadline_of(process.pid)
        expected += f", {asked.runtime_ns} of {asked.period_ns} ns"
        seen += f", {runtime_ns} of {period_ns} ns"
    return _equal(expected, seen)


def _policy_in_words(kind: int, priority: int, alone: bool) -> str:
    return f"{_POLICY_NAMES.get(kind, kind)} {priority}{', not inherited' if alone else ''}"


def _autogroup(promise: Promise, process: Process) -> ProcessObservation:
    expected, seen = f"nice {promise.launch.autogroup_nice}", process.text("autogroup").strip()
    return ProcessObservation(expected, seen, seen.endswith(f" {expected}"))


def _timer_slack(promise: Promise, process: Process) -> ProcessObservation:
    return _equal(f"{promise.launch.timer_slack_ns} ns", f"{process.text('timerslack_ns').strip()} ns")


def _personality(_: Promise, process: Process) -> ProcessObservation:
    seen = process.text("personality").strip()
    return ProcessObservation(f"{ADDR_NO_RANDOMIZE:08x} set", seen, bool(int(seen, 16) & ADDR_NO_RANDOMIZE))


def _io_class(promise: Promise, process: Process) -> ProcessObservation:
    priority = libc().syscall(io_priority_calls()[1], IOPRIO_WHO_PROCESS, process.pid)
    if priority == -1:
        raise ProcessLookupError(process.pid)
    expected = _io_name(promise.launch.io_class or 0, promise.launch.io_level)
    return _equal(expected, _io_name(priority >> IOPRIO_CLASS_SHIFT, priority & 7))


def _io_name(kind: int, level: int) -> str:
    name = _IO_CLASS_NAMES.get(kind, str(kind))
    return name if kind in (0, IOPRIO_IDLE) else f"{name} {level}"


def _limits(promise: Promise, process: Process) -> ProcessObservation:
    text = process.text("limits")
    expected = {
        _LIMIT_LINES[limit]: "unlimited" if value == resource.RLIM_INFINITY else str(value)
        for limit, value in promise.launch.limits.items()
    }
    seen = {line: found[1] for line in expected if (found := re.search(rf"^{line}\s+(\S+)", text, re.M))}
    return ProcessObservation(_pairs(expected), _pairs(seen), bool(expected) and seen == expected)


def _pairs(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _group(promise: Promise, process: Process) -> ProcessObservation:
    expected: dict[str, str] = {}
    seen: dict[str, str] = {}
    folders = own_groups(process.proc.parent, str(process.pid))
    if process.stat(9) & _ENDING:
        raise ProcessLookupError("cgroup")  # version 1 shows one that ends in the top groups, before it is a zombie
    for one in promise.launch.groups:
        expected |= one.values
        own = next((folders[name][0] for name in (*one.controllers, "") if name in folders), None)
        seen |= {name: (own / name).read_text().strip() for name in one.values if own and (own / name).exists()}
    same = {name: _same(value, seen.get(name, "")) for name, value in expected.items()}
    return ProcessObservation(_pairs(expected), _pairs(seen), bool(expected) and all(same.values()))


def _same(asked: str, shown: str) -> bool:
    lists = re.compile(r"[\d,-]+")
    if lists.fullmatch(asked) and lists.fullmatch(shown):
        return cpu_list(asked) == cpu_list(shown)
    return asked == shown


def _output(promise: Promise, process: Process) -> ProcessObservation:
    link = os.readlink(process.folder / "fd" / "1")
    regular = stat.S_ISREG(os.stat(process.folder / "fd" / "1").st_mode) and not link.startswith("/memfd:")
    if promise.launch.output == "file":
        return ProcessObservation("a file on a disk", link, regular)
    return _equal(os.devnull, link)


def _environment(promise: Promise, process: Process) -> ProcessObservation:
    environments = (promise.launch.environment, process.environment())
    expected, seen = ({name: values.get(name) for name in promise.variables} for values in environments)
    return ProcessObservation(_shown(expected), _shown(seen), seen == expected)


def _shown(variables: Mapping[str, str | None]) -> str:
    return " ".join(f"{name}={value}" if value is not None else f"{name} not set" for name, value in variables.items())


def _environment_cleared(promise: Promise, process: Process) -> ProcessObservation:
    expected, seen = sorted(promise.launch.environment), sorted(process.environment())
    return ProcessObservation(" ".join(expected), " ".join(seen), seen == expected)


def _preloaded(promise: Promise, process: Process) -> ProcessObservation:
    library = promise.apply.preload
    lines = sum(line.rpartition("/")[2].startswith(library) for line in process.text("maps").splitlines())
    return ProcessObservation(f"{library} in its maps", f"{lines} maps", lines > 0)


def _huge_pages(_: Promise, process: Process) -> ProcessObservation:
    most = 0
    for member in process.family():
        found = re.search(r"^AnonHugePages:\s*(\d+)", member.text("smaps_rollup"), re.M)
        most = max(most, int(found.group(1)) if found else 0)
    return ProcessObservation("AnonHugePages > 0 kB", f"{most} kB", most > 0)


def _resident_inputs(promise: Promise, _: Process) -> ProcessObservation:
    shares = {file.name: resident_share(file) for file in promise.launch.prewarm}
    held = bool(shares) and all(share == 1 for share in shares.values())
    return ProcessObservation("all of each in the page cache", _in_percent(shares), held)


def _evicted_inputs(promise: Promise, _: Process) -> ProcessObservation:
    shares = {file.name: resident_share(file) if file.stat().st_size else 0.0 for file in promise.launch.evict}
    return ProcessObservation(
        "none of any in the page cache", _in_percent(shares), bool(shares) and not any(shares.values())
    )


def _in_percent(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {share:.0%}" for name, share in shares.items()) or "no input file"


def _synced(_: Promise, process: Process) -> ProcessObservation:
    text = (process.proc / "meminfo").read_text()
    waiting = sum(int(kb) for kb in re.findall(r"^(?:Dirty|Writeback):\s*(\d+)", text, re.M))
    return ProcessObservation(f"at most {_MOST_DIRTY_KB} kB to write back", f"{waiting} kB", waiting <= _MOST_DIRTY_KB)


def _tmpfs(_: Promise, process: Process) -> ProcessObservation:
    device = os.stat(process.folder / "cwd").st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        if fields[2] == number:
            return _equal("tmpfs", fields[fields.index("-") + 1])
    return ProcessObservation("tmpfs", f"device {number}, not mounted here", False)


def _memory_policy(promise: Promise, process: Process) -> ProcessObservation:
    asked = promise.verify.memory_policy
    policies = {line.split()[1] for line in process.text("numa_maps").splitlines()}
    passed = any(kind.split(":")[0] == asked for kind in policies)
    return ProcessObservation(asked, " ".join(sorted(policies)), passed)


def _ranks(promise: Promise, process: Process) -> ProcessObservation:
    return of_ranks(promise.verify.ranks, promise.launch.affinity, process)


READERS: Mapping[str, tuple[str, Reader]] = {
    "apply.evict_inputs": ("input files", _evicted_inputs),
    "apply.sync_first": ("dirty pages", _synced),
    "apply.prewarm_inputs": ("input files", _resident_inputs),
    "apply.spawn.affinity": ("Cpus_allowed_list", _affinity),
    "verify.ranks": ("CPUs of every MPI rank", _ranks),
    "apply.spawn.policy": ("scheduling policy", _policy),
    "apply.spawn.autogroup_nice": ("autogroup", _autogroup),
    "apply.spawn.nice": ("nice value", lambda asked, process: _equal(str(asked.launch.nice), str(process.stat(19)))),
    "apply.spawn.timer_slack_ns": ("timer slack", _timer_slack),
    "apply.spawn.fixed_layout": ("personality", _personality),
    "apply.spawn.thp_disable": ("THP_enabled", lambda _, process: _equal("0", process.status("THP_enabled"))),
    "apply.spawn.io_class": ("I/O class", _io_class),
    "apply.spawn.limits": ("resource limits", _limits),
    "apply.spawn.group": ("control group", _group),
    "apply.spawn.output": ("standard output", _output),
    "apply.environment": ("environment", _environment),
    "apply.clear_environment": ("names in the environment", _environment_cleared),
    "apply.preload": ("preloaded library", _preloaded),
    "verify.anon_huge_pages": ("huge pages", _huge_pages),
    "apply.tmpfs_directory": ("working directory", _tmpfs),
    "verify.memory_policy": ("memory policy", _memory_policy),
}
"""For each action, and each effect, what is looked at, in words, and its reader; what soon no longer holds first."""


def proofs(promise: Promise) -> dict[str, tuple[str, Reader]]:
    """Choose what is looked at: every action that is other than without a word, and every effect.

    Ranks prove an affinity that they are to stay within, and variables that say to their launcher where they may run.
    """
    told = {key for key in READERS if attrgetter(key)(promise) != attrgetter(key)(_NOTHING)}
    told |= {"apply.spawn.affinity"} if promise.launch.affinity else set()
    told -= {"apply.spawn.affinity"} if promise.verify.ranks == "within" else set()
    told -= {"apply.environment"} if not promise.variables else set()
    return {key: reader for key, reader in READERS.items() if key in told}


_NOTHING = Promise(Apply(), Verify(), Launch(()))
