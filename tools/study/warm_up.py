"""A run of each setting outside the data: what fails, what its runtime says, which settings are alike here."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ...knowledge.errors import VgoError
from ...knowledge.shape import Frozen
from ...layers.probes.base import Probe
from ..execution.bench import Bench
from ..execution.launch import Launch
from ..execution.outcomes import judge
from ..execution.row_log import Remark
from .setting import StudySetting, beside

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


class WarmUpRun(Frozen):
    """What the warm-up run of a setting gave."""

    setting: str
    failure: str = ""
    """Why it does not count, in words; empty where it ended well."""
    alike: str = ""
    """The earlier setting that is the same on this machine, whose runs count for both; empty: there is none."""
    spoken: Spoken = Spoken()
    wall_s: float = 0.0


class _Seen(NamedTuple):
    setting: StudySetting
    tried: WarmUpRun


def warm_up(bench: Bench, settings: Sequence[StudySetting]) -> tuple[WarmUpRun, ...]:
    """Run every setting once; raises VgoError where the program fails as it is given, or shows no OpenMP."""
    seen: list[_Seen] = []
    for setting in settings:
        tried = _try(bench, setting)
        if setting.baseline:
            _refuse(tried)
        if tried.failure:
            bench.listener(left_out(tried))
        else:
            tried = tried.model_copy(update={"alike": next(_alike(setting, tried, seen), "")})
        seen.append(_Seen(setting, tried))
    return tuple(one.tried for one in seen)


def left_out(tried: WarmUpRun) -> Remark:
    """Say which setting has no runs, and why."""
    return Remark(f"{tried.setting} is left out: {tried.failure}")


def _try(bench: Bench, setting: StudySetting) -> WarmUpRun:
    launch, ear, subject = setting.launch(bench.launch), Ear(), bench.subject
    if bench.deadline.over:
        raise bench.deadline.no_run(cut=False)
    spoken = replace(launch, environment=asking(launch))
    with beside(setting.background, launch):
        try:
            way = bench.way(launch)
            own_s = bench.limit_s(way, not setting.baseline, times=len(os.sched_getaffinity(0)))
            limit_s = bench.deadline.limit_s(own_s)
            run = bench.spawner.run(spoken, (ear,), timeout_s=limit_s, capture=subject.metric is not None)
        except VgoError as refused:
            if setting.baseline:
                raise
            return WarmUpRun(setting=setting.name, failure=str(refused))
    if run.timed_out and limit_s != own_s:
        raise bench.deadline.no_run(cut=setting.baseline)
    if setting.baseline:
        bench.took(run)
    failure = judge(run, subject, limit_s=limit_s).failure
    return WarmUpRun(setting=setting.name, failure=failure, spoken=ear.heard, wall_s=run.wall_ns / 1e9)


def _refuse(baseline: WarmUpRun) -> None:
    if baseline.failure:
        raise VgoError(f"A trial run failed: {baseline.failure}; run it by hand first.")
    if not baseline.spoken.runtime:
        raise VgoError(
            "The program showed no OpenMP runtime (nothing answered OMP_DISPLAY_ENV): build it with -fopenmp by GCC 9, "
            "LLVM 9 or later, and see that its standard error is not sent elsewhere."
        )


def _alike(setting: StudySetting, tried: WarmUpRun, seen: Sequence[_Seen]) -> Iterator[str]:
    """Find earlier settings that are set up in the same way, whatever was asked for."""
    for earlier, its in seen:
        same = (earlier.program, earlier.background, earlier.affinity) == (
            setting.program,
            setting.background,
            setting.affinity,
        )
        if same and not its.failure and not its.alike and its.spoken.alike(tried.spoken):
            yield earlier.name


def ignores_threads(settings: Sequence[StudySetting], tried: Sequence[WarmUpRun]) -> str:
    """Say it where the program has the same number of threads whatever it is asked for; empty elsewhere."""
    ended = [(one, its) for one, its in zip(settings, tried, strict=True) if one.threads and not its.failure]
    asked = {one.threads for one, _ in ended}
    shown = {its.spoken.threads for _, its in ended}
    if len(asked) < 2 or len(shown) > 1:
        return ""
    (threads,) = shown
    if threads is None:
        return "No parallel region was seen, so the number of threads changes nothing that the runtime shows."
    return (
        f"The program ignores OMP_NUM_THREADS: its teams have {threads} threads whatever is asked "
        "(num_threads or omp_set_num_threads in its source, or a setting of its own)."
    )
