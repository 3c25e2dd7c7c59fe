"""Write and build a composed program, measure what its mechanisms cost, and seal the truth about it."""

from __future__ import annotations

import contextlib
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Literal

from scipy.stats import mannwhitneyu

from ...knowledge.errors import VgoError
from ...knowledge.shape import Frozen
from ...tools.mitigation.owned_folder import this_process
from ...tools.mitigation.run_group import PREFIX, quota_files
from ..workloads.build import FLAGS, compile_to, compiler
from ..workloads.registry import LACKS
from ..workloads.surroundings import group_place
from ..workloads.workload import ISOLATED, OBEYS_ENVIRONMENT
from .compose import MadeProgram
from .parts import parts
from .program_truth import TRUTH, ProgramTruth, write_truth

METRIC = r"time_ms ([0-9.]+)"
STRIPPED = (*FLAGS, "-pthread", "-s")
DRAWN, NOTHING = -1, 0
"""Builds: as it was composed; with no mechanism on. Else one bit a mechanism."""
RUNS, LONGEST_S = 15, 60.0
LUCK = 0.05
"""A mechanism whose runs are longer with at least this probability by luck alone costs nothing measurable."""
QUOTA_US, PERIOD_US = 2_000, 10_000
MEGABYTE = 1 << 20
MEMORY_BYTES = 8 * MEGABYTE
"""Two thirds of the file that `outgrown_limit` reads."""
LIMITS = {
    "cpu": {version: quota_files(version, QUOTA_US, PERIOD_US) for version in (1, 2)},
    "memory": {1: {"memory.limit_in_bytes": str(MEMORY_BYTES)}, 2: {"memory.max": str(MEMORY_BYTES)}},
}
"""What control groups are held to, by controller and version."""
NAMES = {"c": "p", "python": "p.py", "sh": "p.sh"}


class ProgramGroup(Frozen):
    """A control group, of a name that tells nothing."""

    folder: Path
    limits: dict[str, str]


class BuiltProgram(Frozen):
    """How a made program is started; nothing here tells the truth about it."""

    folder: Path
    """Where it runs, with all that it reads and writes."""
    command: tuple[str, ...]
    timed: bool
    """The time that it prints is judged."""
    neighbour: Path | None = None
    group: ProgramGroup | None = None


def lacking() -> frozenset[str]:
    """Needs of mechanisms that this machine does not meet, and languages that it does not have."""
    needs = {need for one in (*parts().mechanisms, *parts().decoys) for need in one.needs}
    without = {need for need in needs if LACKS[need]()}
    return frozenset(without | (set() if compiler() else {"c"}))


def made(program: MadeProgram, folder: Path, sealed: Path, runs: int = RUNS) -> BuiltProgram:
    """Write it into `folder` and what tells of it into `sealed`, both new; measure it there, and write the truth."""
    built = written(program, folder, sealed)
    with limited_group(built[DRAWN].group):
        times = forced_times(program, built, runs)
    (folder / "d0").unlink(missing_ok=True)
    truth = program.truth
    on_ms = [times[1 << place] for place in range(len(truth.inserted))]
    write_truth(with_effects(truth, times[NOTHING], on_ms), sealed / TRUTH)
    return built[DRAWN]


def written(program: MadeProgram, folder: Path, sealed: Path) -> dict[int, BuiltProgram]:
    """Write its builds, as drawn into `folder`, those that are forced into `sealed`."""
    folder.mkdir(parents=True)
    sealed.mkdir(mode=0o700, parents=True)
    if program.file_mb:
        (folder / "d1").write_bytes(os.urandom(program.file_mb * MEGABYTE))
    if program.neighbour:
        (sealed / "n.py").write_text(program.neighbour)
    group = _group(program) if program.group else None
    return {forced: _build(program, forced, folder, sealed, group) for forced in _forcings(program)}


def _forcings(program: MadeProgram) -> tuple[int, ...]:
    return (DRAWN, NOTHING, *(1 << place for place in range(len(program.truth.inserted))))


def _build(program: MadeProgram, forced: int, folder: Path, sealed: Path, group: ProgramGroup | None) -> BuiltProgram:
    """One build: what runs lies in `folder` as drawn, else in `sealed`; the source of what is compiled in `sealed`."""
    where = folder if forced == DRAWN else sealed / f"forced-{forced}"
    where.mkdir(exist_ok=True)
    runs, text = where / NAMES[program.language], program.source(forced, str(group.folder) if group else "")
    if program.language == "c":
        source, cc = sealed / f"p{forced}.c", compiler()
        source.write_text(text)
        if cc is None:
            raise VgoError("No C compiler was found; install one (such as gcc) or set CC to its path.")
        compile_to(runs, source, cc, STRIPPED)
    else:
        runs.write_text(text)
    starts = {"c": (), "python": (sys.executable, *OBEYS_ENVIRONMENT), "sh": ("/bin/sh",)}[program.language]
    return BuiltProgram(
        folder=folder,
        command=(*starts, str(runs), *(("d1",) if program.file_mb else ())),
        timed=program.timed,
        neighbour=sealed / "n.py" if program.neighbour else None,
        group=group,
    )


def forced_times(program: MadeProgram, built: dict[int, BuiltProgram], runs: int) -> dict[int, list[float]]:
    """Run what is forced in an order that is drawn; milliseconds of each."""
    rng = random.Random(program.number)
    order = [forced for forced in built if forced != DRAWN] * runs
    rng.shuffle(order)
    left = any(one.trigger == "left" for one in program.truth.inserted)
    times: dict[int, list[float]] = {forced: [] for forced in built}
    for forced in order:
        busy = DRAWN if program.own_neighbour is None else forced >> program.own_neighbour & 1
        with neighbour(built[forced], busy):
            for _ in range(2 if left else 1):  # what the run before left is of the same build
                took = run_ms(built[forced])
        times[forced].append(took)
    return times


def with_effects(truth: ProgramTruth, off_ms: Sequence[float], on_ms: Sequence[Sequence[float]]) -> ProgramTruth:
    """Give the truth what was measured: with nothing on, and with each mechanism alone.

    One that makes runs longer by no more than luck (Mann-Whitney, one-sided) is a decoy, whatever was planned: a
    program of no other is a null. To name its factor is no false alarm.
    """
    base = median(off_ms)
    inserted = [
        one.model_copy(update={"effect_ms": median(times) - base})
        for one, times in zip(truth.inserted, on_ms, strict=True)
    ]
    idle = [
        one
        for one, times in zip(inserted, on_ms, strict=True)
        if mannwhitneyu(times, off_ms, alternative="greater").pvalue >= LUCK
    ]
    kept = tuple(one for one in inserted if one not in idle)
    kinds: tuple[Literal["null", "one", "two"], ...] = ("null", "one", "two")
    return truth.model_copy(
        update={
            "runs": len(off_ms),
            "base_ms": base,
            "noise_ms": 1.4826 * median(abs(each - base) for each in off_ms),
            "kind": kinds[len(kept)],
            "told": truth.told + "".join(f"; without a measurable cost: it {one.what}" for one in idle),
            "inserted": kept,
            "allowed": (*truth.allowed, *(factor for one in idle for factor in one.factors)),
        }
    )


def run_ms(built: BuiltProgram) -> float:
    """Run it once; milliseconds that it printed or took. Raises VgoError for one that fails or does not end."""
    began = time.perf_counter()
    try:
        done = subprocess.run(
            built.command, cwd=built.folder, capture_output=True, text=True, timeout=LONGEST_S, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as error:
        raise VgoError(
            f"{built.folder}: a made program did not end within {LONGEST_S:g} s; report its seed."
        ) from error
    took = 1e3 * (time.perf_counter() - began)
    if done.returncode or done.stderr:
        raise VgoError(f"{built.folder}: a made program failed ({done.stderr.strip()[-200:]}); report its seed.")
    return float(re.findall(METRIC, done.stdout)[-1]) if built.timed else took


@contextlib.contextmanager
def neighbour(built: BuiltProgram, forced: int = DRAWN) -> Iterator[None]:
    """Have its neighbour beside it, if it has one."""
    if built.neighbour is None:
        yield
        return
    words: Sequence[str] = (sys.executable, *ISOLATED, str(built.neighbour), str(forced))
    with subprocess.Popen(words, cwd=built.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        try:
            if process.stdout is None or not process.stdout.readline():
                raise VgoError(f"The neighbour of {built.folder} does not start; run `{' '.join(words)}` to see why.")
            yield
        finally:
            process.kill()


def _group(program: MadeProgram) -> ProgramGroup:
    if (place := group_place(program.group)) is None:
        wanted = f"needs a control group with the controller {program.group}"
        raise VgoError(f"Program {program.number} {wanted}; draw it without root.")
    owner = this_process()
    folder = Path(place.folder) / f"{PREFIX}{owner.pid}-{owner.start}-8{program.number}"
    return ProgramGroup(folder=folder, limits=LIMITS[program.group][place.version])


@contextlib.contextmanager
def limited_group(group: ProgramGroup | None) -> Iterator[None]:
    """Have its control group, which is held to its limits, if it has one."""
    if group is None:
        yield
        return
    group.folder.mkdir()
    try:
        for name, value in group.limits.items():
            (group.folder / name).write_text(value)
        yield
    finally:
        for _ in range(50):
            with contextlib.suppress(OSError):  # a run that was ended may still be leaving it
                group.folder.rmdir()
                break
            time.sleep(0.02)
