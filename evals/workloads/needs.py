"""What workloads need of the machine: for each need, what is lacking here and its cure."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from .build import compiler, openmp
from .surroundings import DELEGATED, LOOPBACK_STEERING, home_of, input_folder, neighbour_words, whole_disk
from .workload import ISOLATED, Need

HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def no_compiler() -> str | None:
    """A C compiler."""
    return None if compiler() else "no C compiler was found; install one (such as gcc) or set CC to its path"


def no_openmp() -> str | None:
    """A C compiler with the runtime of OpenMP."""
    return (
        None
        if openmp()
        else "the C compiler has no OpenMP; install its runtime (gcc has libgomp, clang needs libomp-dev)"
    )


def one_cpu() -> str | None:
    """Two CPUs that this process may use."""
    if len(os.sched_getaffinity(0)) > 1:
        return None
    return "it needs two CPUs and one is allowed; start vgo-agent without taskset"


def no_glibc() -> str | None:
    """The GNU C library below Python."""
    if platform.libc_ver()[0] == "glibc":
        return None
    return "it needs Python on glibc; use a Python of a distribution with glibc"


def huge_pages_always() -> str | None:
    """Small pages unless a program asks for huge ones."""
    if not HUGE_PAGES.exists() or "[always]" not in HUGE_PAGES.read_text():
        return None
    return "huge pages are always on, so faults are few; choose malloc-churn"


def no_group(controller: str) -> str | None:
    """A control group with that controller, which this process can make."""
    if home_of(controller):
        return None
    return f"no control group with the controller {controller} can be made; {DELEGATED}"


def no_disk() -> str | None:
    """A disk below the folder in which workloads work."""
    if whole_disk(input_folder()):
        return None
    return f"{input_folder()} lies on no disk; set XDG_CACHE_HOME to a folder on one"


def no_io_group() -> str | None:
    """A control group that limits what is read from a disk."""
    return no_disk() or no_group("blkio")


def no_real_time() -> str | None:
    """Real-time priority; tried in a child, so that nothing here changes."""
    words = (sys.executable, *ISOLATED, "-c", "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))")
    if subprocess.run(words, capture_output=True).returncode == 0:
        return None
    return "real-time priority is refused; start vgo-agent as root, in a group that is granted real time"


def no_deadline() -> str | None:
    """The deadline policy with nearly all time of a CPU; tried in a child."""
    words = neighbour_words("promised", 1)
    if subprocess.run(words, capture_output=True).returncode == 0:
        return None
    return "the deadline policy is refused; start vgo-agent as root, with all CPUs, and nothing else under that policy"


def no_packet_steering() -> str | None:
    """The right to say which CPU works through packets."""
    if os.access(LOOPBACK_STEERING, os.W_OK):
        return None
    return f"{LOOPBACK_STEERING} cannot be written; start vgo-agent as root, outside of containers"


LACKS: Mapping[Need, Callable[[], str | None]] = {
    "cc": no_compiler,
    "openmp": no_openmp,
    "2 cpus": one_cpu,
    "glibc": no_glibc,
    "small pages": huge_pages_always,
    "cpu group": functools.partial(no_group, "cpu"),
    "memory group": functools.partial(no_group, "memory"),
    "io group": no_io_group,
    "real time": no_real_time,
    "deadline": no_deadline,
    "packet steering": no_packet_steering,
    "disk": no_disk,
}
"""Each gives None where nothing is lacking."""
