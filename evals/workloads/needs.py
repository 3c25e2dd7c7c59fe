"""What workloads need of the machine: for each need, what is lacking here and its cure."""

from __future__ import annotations

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
REAL_TIME = (sys.executable, *ISOLATED, "-c", "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))")
Lack = Callable[[], str | None]
"""Says what is lacking and its cure; None where nothing is."""


def _unless(met: Callable[[], object], words: str) -> Lack:
    return lambda: None if met() else words


def _group(controller: str) -> Lack:
    words = f"no control group with the controller {controller} can be made; {DELEGATED}"
    return _unless(lambda: home_of(controller), words)


def _no_disk() -> str | None:
    if whole_disk(input_folder()):
        return None
    return f"{input_folder()} lies on no disk; set XDG_CACHE_HOME to a folder on one"


def _small_pages() -> bool:
    return not HUGE_PAGES.exists() or "[always]" not in HUGE_PAGES.read_text()


def _ends_well(*words: str) -> bool:
    """Try it in a child, so that nothing here changes."""
    return subprocess.run(words, capture_output=True).returncode == 0


LACKS: Mapping[Need, Lack] = {
    "cc": _unless(compiler, "no C compiler was found; install one (such as gcc) or set CC to its path"),
    "openmp": _unless(
        openmp, "the C compiler has no OpenMP; install its runtime (gcc has libgomp, clang needs libomp-dev)"
    ),
    "2 cpus": _unless(
        lambda: len(os.sched_getaffinity(0)) > 1,
        "it needs two CPUs and one is allowed; start vgo-agent without taskset",
    ),
    "glibc": _unless(
        lambda: platform.libc_ver()[0] == "glibc",
        "it needs Python on glibc; use a Python of a distribution with glibc",
    ),
    "small pages": _unless(_small_pages, "huge pages are always on, so faults are few; choose malloc-churn"),
    "cpu group": _group("cpu"),
    "memory group": _group("memory"),
    "io group": lambda: _no_disk() or _group("blkio")(),
    "real time": _unless(
        lambda: _ends_well(*REAL_TIME),
        "real-time priority is refused; start vgo-agent as root, in a group that is granted real time",
    ),
    "deadline": _unless(
        lambda: _ends_well(*neighbour_words("promised", 1)),
        "the deadline policy is refused; start vgo-agent as root, with all CPUs, and nothing else under that policy",
    ),
    "packet steering": _unless(
        lambda: os.access(LOOPBACK_STEERING, os.W_OK),
        f"{LOOPBACK_STEERING} cannot be written; start vgo-agent as root, outside of containers",
    ),
    "disk": _no_disk,
}
