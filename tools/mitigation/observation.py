"""What /proc shows of a running process: one reader for each field of `Verify`, each giving a level 2 check."""

from __future__ import annotations

import os
import re
import resource
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ...knowledge.actions import Verify
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
)
from .checks import ENDED, UNREADABLE, Check
from .kernel_file import cpu_list
from .mpi_ranks import of_ranks
from .program import Process, ProcessObservation
from .residency import resident_share

_POLICY_NAMES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", SCHED_DEADLINE: "deadline"}
_LIMIT_LINES = {resource.RLIMIT_STACK: "Max stack size", resource.RLIMIT_MEMLOCK: "Max locked memory"}
_MOST_DIRTY_KB = 4096  # that waits to be written back just after a sync: other programs write as well
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_IO_CLASS_NAMES = {0: "none", 1: "realtime", 2: "best effort", 3: "idle"}
_ENDING = 0x4  # PF_EXITING of include/linux/sched.h, among the flags: set before a process leaves its groups


Reader = Callable[[Verify, Launch, Process], ProcessObservation]


def _affinity(_: Verify, launch: Launch, process: Process) -> ProcessObservation:
    expected = ",".join(map(str, sorted(launch.affinity or ())))
    seen = process.status("Cpus_allowed_list")
    return ProcessObservation(expected, seen, frozenset(cpu_list(seen)) == launch.affinity)


def _policy(_: Verify, launch: Launch, process: Process) -> ProcessObservation:
    asked = launch.scheduler
    expected = _policy_in_words(asked.policy, asked.priority, asked.policy in REAL_TIME) if asked else "other 0"
    policy = process.stat(41)
    alone = bool(os.sched_getscheduler(process.pid) & os.SCHED_RESET_ON_FORK)  # which the file does not show
    seen = _policy_in_words(policy, process.stat(40), alone)
    if asked and asked.policy == policy == SCHED_DEADLINE:
        runtime_ns, period_ns = deadline_of(process.pid)
        times = f", {runtime_ns} of {period_ns} ns"
        expected, seen = f"{expected}, {asked.runtime_ns} of {asked.period_ns} ns", seen + times
    return ProcessObservation(expected, seen, seen == expected)


def _policy_in_words(policy: int, priority: int, alone: bool) -> str:
    return f"{_POLICY_NAMES.get(policy, policy)} {priority}{', not inherited' if alone else ''}"


def _autogroup(_: Verify, launch: Launch, process: Process) -> ProcessObservation:
    seen = process.text("autogroup").strip()
    return ProcessObservation(f"nice {launch.autogroup_nice}", seen, seen.endswith(f" nice {launch.autogroup_nice}"))


def _nice(_: Verify, launch: Launch, process: Process) -> ProcessObservation:
    seen = str(process.stat(19))
    return ProcessObservation(str(launch.nice), seen, seen == str(launch.nice))


def _timer_slack(_: Verify, launch: Launch, process: Process) -> ProcessObservation:
    seen = process.text("timerslack_ns").strip()
    return ProcessObservation(f"{launch.timer_slack_ns} ns", f"{seen} ns", seen == str(launch.timer_slack_ns))


def _personality(_: Verify, __: Launch, process: Process) -> ProcessObservation:
    seen = process.text("personality").strip()
    return ProcessObservation(f"{ADDR_NO_RANDOMIZE:08x} set", seen, bool(int(seen, 16) & ADDR_NO_RANDOMIZE))


def _thp_disabled(_: Verify, __: Launch, process: Process) -> ProcessObservation:
    seen = process.status("THP_enabled")
    return ProcessObservation("0", seen, seen == "0")


def _io_class(_: Verify, launch: Launch, process: Process) -> ProcessObservation:
    priority = libc().syscall(io_priority_calls()[1], IOPRIO_WHO_PROCESS, process.pid)
    if priority == -1:
        raise ProcessLookupError(process.pid)
    expected = _io_name(launch.io_class or 0, launch.io_level)
    seen = _io_name(priority >> IOPRIO_CLASS_SHIFT, priority & 7)
    return ProcessObservation(expected, seen, seen == expected)


def _io_name(kind: int, level: int) -> str:
    name = _IO_CLASS_NAMES.get(kind, str(kind))
    return name if kind in (0, IOPRIO_IDLE) else f"{name} {level}"


def _limits(_: Verify, launch: Launch, process: Process) -> ProcessObservation:
    text = process.text("limits")
    expected = {_LIMIT_LINES[limit]: _amount(value) for limit, value in launch.limits.items()}
    seen = {line: found[1] for line in expected if (found := re.search(rf"^{line}\s+(\S+)", text, re.M))}
    return ProcessObservation(_pairs(expected), _pairs(seen), bool(expected) and seen == expected)


def _amount(value: int) -> str:
    return "unlimited" if value == resource.RLIM_INFINITY else str(value)


def _pairs(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _group(_: Verify, launch: Launch, process: Process) -> ProcessObservation:
    """The values of the groups that the process is in: one made by hand has another name and the same values."""
    expected: dict[str, str] = {}
    seen: dict[str, str] = {}
    folders = own_groups(process.proc.parent, str(process.pid))
    if process.stat(9) & _ENDING:
        raise ProcessLookupError("cgroup")  # version 1 shows one that ends in the top groups, before it is a zombie
    for group in launch.groups:
        expected |= group.values
        own = next((folders[name][0] for name in (*group.controllers, "") if name in folders), None)
        seen |= {name: (own / name).read_text().strip() for name in group.values if own and (own / name).exists()}
    same = {name: _same(value, seen.get(name, "")) for name, value in expected.items()}
    return ProcessObservation(_pairs(expected), _pairs(seen), bool(expected) and all(same.values()))


def _same(asked: str, shown: str) -> bool:
    """`0,1` is shown as `0-1`."""
    lists = re.compile(r"[\d,-]+")
    if lists.fullmatch(asked) and lists.fullmatch(shown):
        return cpu_list(asked) == cpu_list(shown)
    return asked == shown


def _output(_: Verify, launch: Launch, process: Process) -> ProcessObservation:
    link = os.readlink(process.folder / "fd" / "1")
    regular = stat.S_ISREG(os.stat(process.folder / "fd" / "1").st_mode) and not link.startswith("/memfd:")
    if launch.output == "file":
        return ProcessObservation("a file on a disk", link, regular)
    return ProcessObservation(os.devnull, link, link == os.devnull)


def _threads(_: Verify, launch: Launch, process: Process) -> ProcessObservation:
    asked = [value for name in _THREAD_VARIABLES if (value := launch.environment.get(name, "")).isdigit()]
    seen = process.status("Threads")
    if not asked:
        return ProcessObservation("a number of threads in the environment", "none", False)
    return ProcessObservation(
        f"at most {min(asked, key=int)}", seen, seen.isdigit() and int(seen) <= min(map(int, asked))
    )


def _environment(verify: Verify, launch: Launch, process: Process) -> ProcessObservation:
    environment = process.environment()
    expected = {name: launch.environment.get(name) for name in verify.environment}
    seen = {name: environment.get(name) for name in verify.environment}
    return ProcessObservation(_shown(expected), _shown(seen), seen == expected)


def _shown(variables: Mapping[str, str | None]) -> str:
    return " ".join(f"{name}={value}" if value is not None else f"{name} not set" for name, value in variables.items())


def _environment_cleared(_: Verify, launch: Launch, process: Process) -> ProcessObservation:
    expected, seen = sorted(launch.environment), sorted(process.environment())
    return ProcessObservation(" ".join(expected), " ".join(seen), seen == expected)


def _mapped(verify: Verify, _: Launch, process: Process) -> ProcessObservation:
    lines = sum(line.rpartition("/")[2].startswith(verify.mapped) for line in process.text("maps").splitlines())
    return ProcessObservation(f"{verify.mapped} in its maps", f"{lines} maps", lines > 0)


def _anon_huge_pages(_: Verify, __: Launch, process: Process) -> ProcessObservation:
    most = 0
    for member in process.family():
        found = re.search(r"^AnonHugePages:\s*(\d+)", member.text("smaps_rollup"), re.M)
        most = max(most, int(found.group(1)) if found else 0)
    return ProcessObservation("AnonHugePages > 0 kB", f"{most} kB", most > 0)


def _resident_inputs(_: Verify, launch: Launch, __: Process) -> ProcessObservation:
    shares = [(file.name, resident_share(file)) for file in launch.prewarm]
    held = bool(shares) and all(share == 1 for _, share in shares)
    return ProcessObservation("all of each in the page cache", _in_percent(shares), held)


def _evicted_inputs(_: Verify, launch: Launch, __: Process) -> ProcessObservation:
    shares = [(file.name, resident_share(file) if file.stat().st_size else 0.0) for file in launch.evict]
    gone = bool(shares) and not any(share for _, share in shares)
    return ProcessObservation("none of any in the page cache", _in_percent(shares), gone)


def _in_percent(shares: Sequence[tuple[str, float]]) -> str:
    return ", ".join(f"{name} {share:.0%}" for name, share in shares) or "no input file"


def _synced(_: Verify, __: Launch, process: Process) -> ProcessObservation:
    text = (process.proc / "meminfo").read_text()
    waiting = sum(int(kb) for kb in re.findall(r"^(?:Dirty|Writeback):\s*(\d+)", text, re.M))
    return ProcessObservation(f"at most {_MOST_DIRTY_KB} kB to write back", f"{waiting} kB", waiting <= _MOST_DIRTY_KB)


def _tmpfs(_: Verify, __: Launch, process: Process) -> ProcessObservation:
    device = os.stat(process.folder / "cwd").st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        if fields[2] == number:
            kind = fields[fields.index("-") + 1]
            return ProcessObservation("tmpfs", kind, kind == "tmpfs")
    return ProcessObservation("tmpfs", f"device {number}, not mounted here", False)


def _memory_policy(verify: Verify, _: Launch, process: Process) -> ProcessObservation:
    policies = {line.split()[1] for line in process.text("numa_maps").splitlines()}
    seen = " ".join(sorted(policies))
    return ProcessObservation(
        verify.memory_policy, seen, any(policy.split(":")[0] == verify.memory_policy for policy in policies)
    )


def _ranks(verify: Verify, launch: Launch, process: Process) -> ProcessObservation:
    return of_ranks(verify.ranks, launch.affinity, process)


READERS: dict[str, tuple[str, Reader]] = {
    "affinity": ("Cpus_allowed_list", _affinity),
    "ranks": ("CPUs of every MPI rank", _ranks),
    "policy": ("scheduling policy", _policy),
    "autogroup": ("autogroup", _autogroup),
    "nice": ("nice value", _nice),
    "timer_slack": ("timer slack", _timer_slack),
    "personality": ("personality", _personality),
    "thp_disabled": ("THP_enabled", _thp_disabled),
    "io_class": ("I/O class", _io_class),
    "limits": ("resource limits", _limits),
    "group": ("control group", _group),
    "output": ("standard output", _output),
    "threads": ("threads", _threads),
    "environment": ("environment", _environment),
    "environment_cleared": ("names in the environment", _environment_cleared),
    "mapped": ("preloaded library", _mapped),
    "anon_huge_pages": ("huge pages", _anon_huge_pages),
    "resident_inputs": ("input files", _resident_inputs),
    "evicted_inputs": ("input files", _evicted_inputs),
    "synced": ("dirty pages", _synced),
    "tmpfs": ("working directory", _tmpfs),
    "memory_policy": ("memory policy", _memory_policy),
}
"""For each field of `Verify` what is looked at, in words, and its reader."""


def observe(name: str, verify: Verify, launch: Launch, process: Process) -> Check:
    """Make the check of one field now; a process that has ended shows nothing."""
    what, read = READERS[name]
    try:
        expected, seen, passed = read(verify, launch, process)
    except (FileNotFoundError, ProcessLookupError):
        return Check(level=2, what=what, expected="", seen=ENDED, passed=False)
    except PermissionError as error:
        return Check(level=2, what=what, expected="", seen=f"{UNREADABLE} ({error.strerror})", passed=False)
    return Check(level=2, what=what, expected=expected, seen=seen, passed=passed)
