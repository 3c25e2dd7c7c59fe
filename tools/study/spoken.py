"""What an OpenMP runtime says of itself: which one it is, how many threads it has and where they may run."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...knowledge.shape import Frozen
from ...layers.probes.base import Probe
from ..execution.launch import Launch

ASKING = {
    "OMP_DISPLAY_ENV": "verbose",
    "OMP_DISPLAY_AFFINITY": "true",
    "OMP_AFFINITY_FORMAT": "vgo-study %L %n %N {%A}",
}
"""OpenMP 5.0: GCC 9 and LLVM 9, and later."""
_THREAD = re.compile(r"^vgo-study (\d+) (\d+) (\d+) \{(.*)\}$", re.M)
_SETTING = re.compile(r"^\s*(?:\[host\] )?(\w+) ?= ?'([^']*)'", re.M)
_TELLING = ("OMP_WAIT_POLICY", "OMP_SCHEDULE", "OMP_DYNAMIC", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")
_ASKED = ("OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES")


class Spoken(Frozen):
    """What the runtime of one run said."""

    runtime: str = ""
    """libgomp, libomp or another; empty: nothing was said."""
    threads: int | None = None
    """Of the largest team; None where no parallel region was seen."""
    places: tuple[tuple[int, str], ...] = ()
    """Thread of the first level and the CPUs it may use, as they were said."""
    settings: dict[str, str] = {}
    """Those that matter to how threads run."""

    def alike(self, other: Spoken) -> bool:
        """Tell whether two runs were set up in the same way; False where no threads were seen."""
        return self.threads is not None and self == other


def understood(error: str) -> Spoken:
    """Read it from standard error."""
    said = dict(_SETTING.findall(error))
    found = _THREAD.findall(error)
    telling = _TELLING if found else (*_TELLING, *_ASKED)
    return Spoken(
        runtime=_runtime(said, error),
        threads=max((int(team) for _, _, team, _ in found), default=None),
        places=tuple(sorted({(int(thread), place) for level, thread, _, place in found if level == "1"})),
        settings={name: said[name] for name in telling if name in said},
    )


def _runtime(said: Mapping[str, str], error: str) -> str:
    # libgomp speaks when it is loaded, libomp when it is used: preloaded, it leaves both their say.
    if any(name.startswith("KMP_") for name in said):
        return "libomp"
    if "GOMP_SPINCOUNT" in said:
        return "libgomp"
    return "another runtime" if said or _THREAD.search(error) else ""


class Ear(Probe):
    """Listens to one run."""

    reads_output = True

    def __init__(self) -> None:
        self.heard = Spoken()

    def said(self, output: bytes, error: bytes) -> None:
        """Understand standard error."""
        self.heard = understood(error.decode(errors="replace"))


def asking(launch: Launch) -> Mapping[str, str]:
    """The environment of a launch whose runtime is asked to speak."""
    return {**launch.environment, **ASKING}
