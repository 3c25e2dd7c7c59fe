"""What must hold around the whole diagnosis of some workloads: a limited group, a neighbour, a setting of the kernel.

Everything is put back at the end. What kill -9 leaves is put back by `vgo-agent restore`, which each diagnosis and
each of these begins with: settings from the journal, control groups by their name. Neighbours end by themselves.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from platformdirs import user_cache_path

from ...agent.diagnosis import conduct
from ...knowledge.errors import VgoError
from ...layers.probes.cgroup_tree import MOUNT, own_groups
from ...tools.mitigation.journal import Journal, journal_folder, new_entry, put_back
from ...tools.mitigation.kernel_file import KernelFiles
from ...tools.mitigation.kernel_settings import cpu_mask
from ...tools.mitigation.owned_folder import Owner, this_process
from ...tools.mitigation.put_back import SavedKnob
from ...tools.mitigation.run_group import PREFIX, remove_run_groups
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
_numbers = itertools.count(1)


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
    if home_of("cpu") is None:
        yield
        return
    with _limited("cpu", {1: {}, 2: {}}):
        yield


@contextlib.contextmanager
def cpu_limited() -> Iterator[None]:
    """Hold this process and its children to a share of one CPU."""
    conduct()  # to load the libraries takes seconds of a whole CPU
    values = {1: {"cpu.cfs_period_us": str(PERIOD_US), "cpu.cfs_quota_us": str(QUOTA_US)}}
    with _limited("cpu", values | {2: {"cpu.max": f"{QUOTA_US} {PERIOD_US}"}}):
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


def home_of(controller: str) -> tuple[Path, int] | None:
    """Find the group below which one with that controller can be made, and its version; None where there is none."""
    groups = own_groups()
    if controller in groups:
        place, version = groups[controller][0], 1
    else:
        name = "io" if controller == "blkio" else controller
        handing = [group for group in groups.get("", []) if name in _handed(group)]
        if not handing:
            return None
        place, version = handing[0], 2
    return (place, version) if os.access(place, os.W_OK) and os.geteuid() == 0 else None


def whole_disk(folder: Path) -> str | None:
    """Return the numbers of the disk, not the partition, that a folder lies on, as control groups name it."""
    number = folder.stat().st_dev
    device = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not device.exists():
        return None
    real = device.resolve()
    return ((real.parent if (real / "partition").exists() else real) / "dev").read_text().strip()


@contextlib.contextmanager
def _limited(controller: str, values: dict[int, dict[str, str]]) -> Iterator[None]:
    """Put this process into a new group with these values, by version of control groups."""
    remove_left_groups()
    if (found := home_of(controller)) is None:
        raise VgoError(f"No control group with the controller {controller} can be made here; {DELEGATED}.")
    place, version = found
    home = own_groups()[controller if version == 1 else ""][0]
    owner = this_process()
    group = place / f"{PREFIX}{owner.pid}-{owner.start}-9{next(_numbers)}"
    try:
        group.mkdir()
        for name, value in values[version].items():
            (group / name).write_text(value)
        _favour(group)
        (group / MEMBERS).write_text(str(owner.pid))
    except OSError as error:
        _leave(group, home)
        raise VgoError(f"The limit of {group} cannot be set ({error.strerror}); {DELEGATED}.") from error
    try:
        yield
    finally:
        _leave(group, home)


def _favour(group: Path) -> None:
    """Give a group the greatest weight, and real time where that is shared out: as far as the kernel lets it."""
    for name, value in FAVOUR:
        if (group / name).exists():
            with contextlib.suppress(OSError):
                (group / name).write_text(value)


def _leave(group: Path, home: Path) -> None:
    """Move everything to where it was, and remove the group."""
    with contextlib.suppress(FileNotFoundError):
        for _ in range(2):  # a process may fork while the others are moved
            for pid in (group / MEMBERS).read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    (home / MEMBERS).write_text(pid)
        group.rmdir()


def remove_left_groups() -> None:
    """Remove the groups of dead processes; those of blkio are known to this module only."""
    remove_run_groups()
    for parent, names, _ in os.walk(Path("/") / MOUNT / "blkio"):  # unlike rglob, it bears groups that vanish
        for name in (name for name in names if name.startswith(PREFIX)):
            pid, start = name.removeprefix(PREFIX).split("-")[:2]
            if not Owner(int(pid), int(start)).alive:
                _leave(Path(parent, name), Path(parent))


def _handed(group: Path) -> list[str]:
    try:
        return (group / "cgroup.subtree_control").read_text().split()
    except OSError:
        return []


@contextlib.contextmanager
def _set(name: str, path: str, value: str) -> Iterator[None]:
    """Set one file of the kernel, journalled: the watchdog or `vgo-agent restore` puts it back after a kill."""
    journal, files = Journal(journal_folder()), KernelFiles()
    with journal.locked():
        group = SavedKnob(path=path, wanted=value, saved={path: files.read(path)})
        entry = new_entry(name, (group,), files.root)
        journal.record(entry)
        try:
            files.write(path, value)
        except VgoError:
            journal.remove(entry)
            raise
    try:
        yield
    finally:
        put_back(entry)
        journal.remove(entry)


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
