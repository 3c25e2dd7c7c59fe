"""Hosts for tests: network namespaces with a name and a Dask worker each, and a scheduler that they reach."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...conftest import control_groups

COMMAND = str(Path(sys.executable).with_name("vgo-agent"))
DASK = str(Path(sys.executable).with_name("dask"))
NET = "10.197.73"
SCHEDULER = f"{NET}.1"
UP_S = 60.0
QUIET = ("--no-dashboard", "--dashboard-address", "127.0.0.1:0")
"""Else Dask answers HTTP on every address of the machine."""


@dataclass
class Hosts:
    """A scheduler, and workers on hosts with names of their own; `undo` ends every process, namespace and link."""

    folder: Path
    network: bool = True
    """Each host has a network namespace on a bridge; else all are on loopback, and only their names differ."""
    tag: str = field(default_factory=lambda: f"v{os.getpid() % 100_000}")
    port: int = 0
    scheduler: subprocess.Popen[bytes] | None = None
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    undo: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def address(self) -> str:
        return f"tcp://{self.listens}:{self.port}"

    @property
    def listens(self) -> str:
        return SCHEDULER if self.network else "127.0.0.1"

    def begin(self) -> None:
        """Make the bridge and start the scheduler on it."""
        if self.network:
            bridge = f"{self.tag}b"
            ip("link", "add", bridge, "type", "bridge")
            self.undo.callback(ip, "link", "del", bridge)
            ip("addr", "add", f"{SCHEDULER}/24", "dev", bridge)
            ip("link", "set", bridge, "up")
        self.port = free_port(self.listens)
        self.start_scheduler()
        self.undo.callback(self.end_processes)

    def start_scheduler(self) -> None:
        words = [DASK, "scheduler", "--host", self.listens, "--port", str(self.port), *QUIET]
        self.scheduler = self._start("scheduler", words)
        until = time.monotonic() + UP_S
        while time.monotonic() < until:
            with contextlib.suppress(OSError), socket.create_connection((self.listens, self.port), 1):
                return
            time.sleep(0.1)
        raise AssertionError(self.log("scheduler"))

    def add(self, name: str, number: int, *, group: Path | None = None) -> None:
        """Start a host with one worker, in a control group."""
        space, inside, outside = f"{self.tag}{name}", f"{self.tag}{name}i", f"{self.tag}{name}o"
        ip("netns", "add", space)
        self.undo.callback(ip, "netns", "del", space)
        ip("link", "add", outside, "type", "veth", "peer", "name", inside, "netns", space)
        ip("link", "set", outside, "master", f"{self.tag}b", "up")
        ip("-n", space, "addr", "add", f"{NET}.{number}/24", "dev", inside)
        ip("-n", space, "link", "set", inside, "up")
        ip("-n", space, "link", "set", "lo", "up")
        self.start_worker(name, number, group=group)

    def start_worker(
        self,
        host: str,
        number: int = 0,
        *,
        worker: str = "",
        group: Path | None = None,
        options: str = "--resources bench=1",
        before: str = "",
    ) -> None:
        """Start a worker on a host; its name is that of the host where none is given."""
        worker = worker or host
        enter = f"echo $$ > {group}/cgroup.procs; " if group else ""
        at = f"{NET}.{number}" if self.network else self.listens
        line = (
            f"{enter}hostname {host}; {before} exec {DASK} worker {self.address} --host {at} --nthreads 1 {options} "
            f"{' '.join(QUIET)} --no-nanny --name {worker} --local-directory {self.folder / worker}"
        )
        within = ["nsenter", f"--net=/run/netns/{self.tag}{host}"] if self.network else []
        self.workers[worker] = self._start(worker, [*within, "unshare", "--uts", "--mount", "bash", "-c", line])

    def _start(self, name: str, words: list[str]) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def wait(self, *names: str) -> None:
        """Wait until workers have registered."""
        until = time.monotonic() + UP_S
        while not all("Starting established connection" in self.log(name) for name in names):
            assert time.monotonic() < until, {name: self.log(name) for name in names}
            time.sleep(0.1)

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        os.kill(self.workers[name].pid, number)

    def end_processes(self) -> None:
        for process in (*self.workers.values(), *([self.scheduler] if self.scheduler else [])):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGCONT)
            process.kill()
            process.wait()


@contextlib.contextmanager
def hosts(folder: Path, network: bool = True) -> Iterator[Hosts]:
    """Begin, and clean up whatever happens."""
    folder.mkdir(exist_ok=True)
    made = Hosts(folder, network)
    with made.undo:
        made.begin()
        yield made


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def free_port(host: str) -> int:
    with socket.socket() as one:
        one.bind((host, 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def quota(name: str, share: float) -> Iterator[Path]:
    """A control group whose members get that share of one CPU; version 1 or 2, whichever has the controller."""
    group = quota_parent() / name
    group.mkdir()
    try:
        hold_back(group, share)
        yield group
    finally:
        until = time.monotonic() + 20
        while group.exists():
            with contextlib.suppress(OSError):
                for below in sorted(control_groups(group), reverse=True):
                    below.rmdir()
                group.rmdir()
            assert time.monotonic() < until, (group / "cgroup.procs").read_text()
            time.sleep(0.05)


def hold_back(group: Path, share: float) -> None:
    """Give the members of a group that share of one CPU."""
    if (group / "cpu.max").exists():
        (group / "cpu.max").write_text(f"{int(share * 100_000)} 100000")
    else:
        (group / "cpu.cfs_quota_us").write_text(str(int(share * 100_000)))


def quota_parent() -> Path:
    """Where a group with a CPU quota can be made; raises FileNotFoundError where there is none."""
    for folder in (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")):
        named = folder / "cgroup.subtree_control"
        if (folder / "cpu.cfs_period_us").exists() or (named.exists() and "cpu" in named.read_text()):
            return folder
    raise FileNotFoundError("no control group with a CPU quota can be made here")


def begun_command(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start the command in a folder and go on beside it."""
    return subprocess.Popen(
        [COMMAND, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        stdin=subprocess.DEVNULL,
    )
