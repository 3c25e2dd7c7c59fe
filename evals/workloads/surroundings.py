"""What must hold around the whole diagnosis of some workloads: a limited group, a neighbour, a setting of the kernel.

Everything is put back at the end. What kill -9 leaves is put back by `vgo-agent restore`, which each diagnosis and
each of these begins with: settings from the journal, control groups by their name. Neighbours end by themselves.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from platformdirs import user_cache_path

from ...agent.diagnosis import conduct
from ...knowledge.errors import VgoError
from ...layers.probes.cgroup_tree import own_groups
from ...tools.machine import GroupPlace
from ...tools.mitigation.journal import Journal, journal_folder
from ...tools.mitigation.kernel_settings import KernelSetting, cpu_mask
from ...tools.mitigation.run_group import ControlGroupFolder, made_group, place_of, quota_files, remove_run_groups
from ...tools.mitigation.settings import switchable
from .build import make_folder
from .workload import ISOLATED, Around

PROGRAMS = Path(__file__).parent / "programs"
BEGAN = "VGO_BEGAN"
MEMBERS = "cgroup.procs"
MEGABYTE = 1 << 20
MEMORY_BYTES = 96 * MEGABYTE
"""Room for what vgo-agent allocates in a diagnosis, and for a part of the file of `memory-limit`."""
QUOTA_US, PERIOD_US = 20_000, 100_000
READS_PER_SECOND = 60
FAVOUR = (("cpu.shares", "262144"), ("cpu.weight", "10000"), ("cpu.rt_runtime_us", "500000"))
LOOPBACK_STEERING = "/sys/class/net/lo/queues/rx-0/rps_cpus"
DELEGATED = "start vgo-agent as root, below control groups of version 2 with systemd-run --scope -p Delegate=yes"


def input_folder() -> Path:
    """A folder on the disk that outlives the run, since a resumed one reads the same file."""
    folder = user_cache_path("vgo-agent") / "workloads"
    make_folder(folder)
    return folder


def evict(path: str) -> None:
    """Drop a file from the page cache."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)


@contextlib.contextmanager
def favoured() -> Iterator[None]:
    """Let this process and its children go before other ordinary ones, so that these are no second cause.

    Nothing happens where no such group can be made: then the machine should be quiet.
    """
    if group_place("cpu") is None:
        yield
        return
    with _limited("cpu", {1: {}, 2: {}}):
        yield


@contextlib.contextmanager
def cpu_limited() -> Iterator[None]:
    """Hold this process and its children to a share of one CPU."""
    conduct()  # to load the libraries takes seconds of a whole CPU
    with _limited("cpu", {version: quota_files(version, QUOTA_US, PERIOD_US) for version in (1, 2)}):
        yield


@contextlib.contextmanager
def memory_limited() -> Iterator[None]:
    """Hold this process and its children, and the files that they read, to MEMORY_BYTES.

    What this process has used before stays with its old group, so the libraries of a diagnosis are loaded first.
    """
    values = {1: {"memory.limit_in_bytes": str(MEMORY_BYTES)}, 2: {"memory.max": str(MEMORY_BYTES)}}
    conduct()
    with favoured(), _limited("memory", values):
        yield


@contextlib.contextmanager
def reads_limited() -> Iterator[None]:
    """Hold the reads of this process and its children from the disk of the cache folder to some a second."""
    disk = whole_disk(input_folder())
    if disk is None:
        raise VgoError(f"{input_folder()} lies on no disk; set XDG_CACHE_HOME to a folder on one.")
    values = {1: {"blkio.throttle.read_iops_device": f"{disk} {READS_PER_SECOND}"}}
    with favoured(), _limited("blkio", values | {2: {"io.max": f"{disk} riops={READS_PER_SECOND}"}}):
        yield


@contextlib.contextmanager
def beside_packets() -> Iterator[None]:
    """Have a neighbour that sends packets, which the kernel works through on the last allowed CPU."""
    cpus = os.sched_getaffinity(0)
    steered = _set("workload-packet-flood", LOOPBACK_STEERING, cpu_mask({max(cpus)}))
    with steered, _neighbour("packets", min(cpus)):
        yield


@contextlib.contextmanager
def since_the_beginning() -> Iterator[None]:
    """Tell the program when the diagnosis began."""
    before = os.environ.get(BEGAN)
    os.environ[BEGAN] = f"{time.monotonic():.6f}"
    try:
        yield
    finally:
        os.environ.pop(BEGAN)
        if before is not None:
            os.environ[BEGAN] = before


def group_place(controller: str) -> GroupPlace | None:
    """Find where a group with that controller can be made by root; None where there is no such place."""
    return place_of(controller) if os.geteuid() == 0 else None


def whole_disk(folder: Path) -> str | None:
    """Return the numbers of the disk, not the partition, that a folder lies on, as control groups name it."""
    number = folder.stat().st_dev
    device = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not device.exists():
        return None
    real = device.resolve()
    return ((real.parent if (real / "partition").exists() else real) / "dev").read_text().strip()


@contextlib.contextmanager
def _limited(controller: str, values: Mapping[int, dict[str, str]]) -> Iterator[None]:
    """Put this process into a new group with these values, by version of control groups."""
    remove_run_groups()
    if (place := group_place(controller)) is None:
        raise VgoError(f"No control group with the controller {controller} can be made here; {DELEGATED}.")
    with made_group(ControlGroupFolder(place, (controller,), values[place.version]), own_groups()) as group:
        _favour(group.folder)
        try:
            _move([str(os.getpid())], group.folder)
            yield
        finally:
            for _ in range(2):  # a process may fork while the others are moved
                _move((group.folder / MEMBERS).read_text().split(), group.home)


def _favour(group: Path) -> None:
    """Give a group the greatest weight, and real time where that is shared out: as far as the kernel lets it."""
    for name, value in FAVOUR:
        if (group / name).exists():
            with contextlib.suppress(OSError):
                (group / name).write_text(value)


def _move(pids: Iterable[str], group: Path) -> None:
    for pid in pids:
        try:
            (group / MEMBERS).write_text(pid)
        except ProcessLookupError:  # it has just ended
            continue
        except OSError as error:
            raise VgoError(f"{group} takes no process ({error.strerror}); {DELEGATED}.") from error


@contextlib.contextmanager
def _set(name: str, path: str, value: str) -> Iterator[None]:
    """Set one file of the kernel, journalled: the watchdog or `vgo-agent restore` puts it back after a kill."""
    journal = Journal(journal_folder())
    with contextlib.ExitStack() as undo:
        with journal.locked():
            undo.enter_context(switchable(name, [KernelSetting(path, value)], journal)).on()
        yield


@contextlib.contextmanager
def _neighbour(kind: str, where: object) -> Iterator[None]:
    """Have a neighbour for the time of the context, and go before it; it ends by itself when this process is gone."""
    words = neighbour_words(kind, where)
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            if process.stdout is None or not process.stdout.readline():
                raise VgoError(f"The neighbour does not start; run `{' '.join(words)}` to see why.")
            with favoured():
                yield
        finally:
            # What it forked, too: it leads a session of its own, and is not reaped before the wait below.
            os.killpg(process.pid, signal.SIGKILL)


def neighbour_words(kind: str, where: object) -> tuple[str, ...]:
    """Return the command line of a neighbour."""
    return sys.executable, *ISOLATED, str(PROGRAMS / "neighbour.py"), kind, str(where)


AROUND: Mapping[Around, Callable[[], AbstractContextManager[None]]] = {
    "favoured": favoured,
    "since_the_beginning": since_the_beginning,
    "cpu_limited": cpu_limited,
    "memory_limited": memory_limited,
    "reads_limited": reads_limited,
    "beside_realtime": lambda: _neighbour("realtime", max(os.sched_getaffinity(0))),
    "beside_packets": beside_packets,
    "beside_disk": lambda: _neighbour("disk", input_folder()),
    "beside_tenant": lambda: _neighbour("tenant", len(os.sched_getaffinity(0))),
}
