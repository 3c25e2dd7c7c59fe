"""What /proc shows of a running process: one reader for each field of `Verify`, each giving a level 2 check."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from ...knowledge.actions import Verify
from ..execution.conditions import ADDR_NO_RANDOMIZE, IOPRIO_CLASS_SHIFT, IOPRIO_WHO_PROCESS, io_priority_calls, libc
from ..execution.launch import Launch
from .checks import ENDED, UNREADABLE, Check
from .kernel_file import cpu_list
from .residency import resident_share

_POLICY_NAMES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline"}
_IO_CLASS_NAMES = {0: "none", 1: "realtime", 2: "best effort", 3: "idle"}


class Seen(NamedTuple):
    """One observation of a process."""

    expected: str
    seen: str
    passed: bool


class Process:
    """The files of one process; a file that is gone or empty raises ProcessLookupError."""

    def __init__(self, pid: int, proc: Path = Path("/proc")) -> None:
        """Open nothing yet."""
        self.pid = pid
        self.proc = proc
        self.folder = proc / str(pid)

    def text(self, name: str) -> str:
        """Read a file of the process; those of a process that has ended are empty."""
        text = (self.folder / name).read_text(errors="replace")
        if not text:
            raise ProcessLookupError(name)
        return text

    def status(self, key: str) -> str:
        """Read one line of the status file."""
        found = re.search(rf"^{key}:\s*(.*)$", self.text("status"), re.M)
        return found.group(1).strip() if found else "not shown by this kernel"

    def stat(self, field: int) -> int:
        """Read a field of the stat file, numbered from 1 as in proc(5); not the first two."""
        return int(self.text("stat").rpartition(")")[2].split()[field - 3])

    def environment(self) -> dict[str, str]:
        """Read the environment that the program was started with."""
        words = self.text("environ").split("\0")
        return dict(word.split("=", 1) for word in words if "=" in word)

    def family(self) -> Iterator[Process]:
        """The process and all below it: a script's work is done by its children."""
        yield self
        try:
            children = (self.folder / "task" / str(self.pid) / "children").read_text().split()
        except OSError:
            return
        for child in children:
            yield from Process(int(child), self.proc).family()


Reader = Callable[[Verify, Launch, Process], Seen]


def _affinity(_: Verify, launch: Launch, process: Process) -> Seen:
    expected = ",".join(map(str, sorted(launch.affinity or ())))
    seen = process.status("Cpus_allowed_list")
    return Seen(expected, seen, frozenset(cpu_list(seen)) == launch.affinity)


def _policy(_: Verify, launch: Launch, process: Process) -> Seen:
    asked = launch.scheduler
    expected = f"{_POLICY_NAMES.get(asked.policy, asked.policy)} {asked.priority}" if asked else "other 0"
    policy = process.stat(41)
    seen = f"{_POLICY_NAMES.get(policy, policy)} {process.stat(40)}"
    return Seen(expected, seen, seen == expected)


def _autogroup(_: Verify, launch: Launch, process: Process) -> Seen:
    seen = process.text("autogroup").strip()
    return Seen(f"nice {launch.autogroup_nice}", seen, seen.endswith(f" nice {launch.autogroup_nice}"))


def _nice(_: Verify, launch: Launch, process: Process) -> Seen:
    seen = str(process.stat(19))
    return Seen(str(launch.nice), seen, seen == str(launch.nice))


def _timer_slack(_: Verify, launch: Launch, process: Process) -> Seen:
    seen = process.text("timerslack_ns").strip()
    return Seen(f"{launch.timer_slack_ns} ns", f"{seen} ns", seen == str(launch.timer_slack_ns))


def _personality(_: Verify, __: Launch, process: Process) -> Seen:
    seen = process.text("personality").strip()
    return Seen(f"{ADDR_NO_RANDOMIZE:08x} set", seen, bool(int(seen, 16) & ADDR_NO_RANDOMIZE))


def _thp_disabled(_: Verify, __: Launch, process: Process) -> Seen:
    seen = process.status("THP_enabled")
    return Seen("0", seen, seen == "0")


def _io_class(_: Verify, launch: Launch, process: Process) -> Seen:
    priority = libc().syscall(io_priority_calls()[1], IOPRIO_WHO_PROCESS, process.pid)
    if priority == -1:
        raise ProcessLookupError(process.pid)
    seen = priority >> IOPRIO_CLASS_SHIFT
    return Seen(_IO_CLASS_NAMES[launch.io_class or 0], _IO_CLASS_NAMES.get(seen, str(seen)), seen == launch.io_class)


def _environment(verify: Verify, launch: Launch, process: Process) -> Seen:
    environment = process.environment()
    expected = {name: launch.environment.get(name) for name in verify.environment}
    seen = {name: environment.get(name) for name in verify.environment}
    return Seen(_shown(expected), _shown(seen), seen == expected)


def _shown(variables: dict[str, str | None]) -> str:
    return " ".join(f"{name}={value}" if value is not None else f"{name} not set" for name, value in variables.items())


def _environment_cleared(_: Verify, launch: Launch, process: Process) -> Seen:
    expected, seen = sorted(launch.environment), sorted(process.environment())
    return Seen(" ".join(expected), " ".join(seen), seen == expected)


def _mapped(verify: Verify, _: Launch, process: Process) -> Seen:
    lines = sum(line.rpartition("/")[2].startswith(verify.mapped) for line in process.text("maps").splitlines())
    return Seen(f"{verify.mapped} in its maps", f"{lines} maps", lines > 0)


def _anon_huge_pages(_: Verify, __: Launch, process: Process) -> Seen:
    most = 0
    for member in process.family():
        found = re.search(r"^AnonHugePages:\s*(\d+)", member.text("smaps_rollup"), re.M)
        most = max(most, int(found.group(1)) if found else 0)
    return Seen("AnonHugePages > 0 kB", f"{most} kB", most > 0)


def _resident_inputs(_: Verify, launch: Launch, __: Process) -> Seen:
    shares = {file.name: resident_share(file) for file in launch.prewarm}
    seen = ", ".join(f"{name} {share:.0%}" for name, share in shares.items()) or "no input file"
    return Seen("all of each in the page cache", seen, bool(shares) and all(share == 1 for share in shares.values()))


def _tmpfs(_: Verify, __: Launch, process: Process) -> Seen:
    device = os.stat(process.folder / "cwd").st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        if fields[2] == number:
            kind = fields[fields.index("-") + 1]
            return Seen("tmpfs", kind, kind == "tmpfs")
    return Seen("tmpfs", f"device {number}, not mounted here", False)


def _memory_policy(verify: Verify, _: Launch, process: Process) -> Seen:
    policies = {line.split()[1] for line in process.text("numa_maps").splitlines()}
    seen = " ".join(sorted(policies))
    return Seen(verify.memory_policy, seen, any(policy.split(":")[0] == verify.memory_policy for policy in policies))


READERS: dict[str, tuple[str, Reader]] = {
    "affinity": ("Cpus_allowed_list", _affinity),
    "policy": ("scheduling policy", _policy),
    "autogroup": ("autogroup", _autogroup),
    "nice": ("nice value", _nice),
    "timer_slack": ("timer slack", _timer_slack),
    "personality": ("personality", _personality),
    "thp_disabled": ("THP_enabled", _thp_disabled),
    "io_class": ("I/O class", _io_class),
    "environment": ("environment", _environment),
    "environment_cleared": ("names in the environment", _environment_cleared),
    "mapped": ("preloaded library", _mapped),
    "anon_huge_pages": ("huge pages", _anon_huge_pages),
    "resident_inputs": ("input files", _resident_inputs),
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
