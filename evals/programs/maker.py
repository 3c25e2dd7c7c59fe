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

from ...knowledge.errors import VgoError
from ...knowledge.shape import Frozen
from ...layers.probes.cgroup_tree import own_groups
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
QUOTA_US, PERIOD_US = 2_000, 10_000
MEGABYTE = 1 << 20
NAMES = {"c": "p", "python": "p.py", "sh": "p.sh"}


class BuiltProgram(Frozen):
    """How a made program is started; nothing here tells the truth about it."""

    folder: Path
    """Where it runs, with all that it reads and writes."""
    command: tuple[str, ...]
    timed: bool
    """The time that it prints is judged."""
    neighbour: Path | None = None
    group: Path | None = None


def lacking() -> frozenset[str]:
    """Needs of mechanisms that this machine does not meet, and languages that it does not have."""
    needs = {need for one in (*parts().mechanisms, *parts().decoys) for need in one.needs}
    without = {need for need in needs if LACKS[need]()}
    return frozenset(without | (set() if compiler() else {"c"}))


def made(program: MadeProgram, folder: Path, sealed: Path, runs: int = RUNS) -> BuiltProgram:
    """Write it into `folder` and what tells of it into `sealed`, both new; measure it there, and write the truth."""
    folder.mkdir(parents=True)
    sealed.mkdir(mode=0o700, parents=True)
    if program.file_mb:
        (folder / "d1").write_bytes(os.urandom(program.file_mb * MEGABYTE))
    if program.neighbour:
        (sealed / "n.py").write_text(program.neighbour)
    group = _group_path(program) if program.group else None
    built = {forced: _build(program, forced, folder, sealed, group) for forced in _forcings(program)}
    with limited_group(group):
        truth = _measured(program, built, runs)
    (folder / "d0").unlink(missing_ok=True)
    write_truth(truth, sealed / TRUTH)
    return built[DRAWN]


def _forcings(program: MadeProgram) -> tuple[int, ...]:
    return (DRAWN, NOTHING, *(1 << place for place in range(len(program.truth.inserted))))


def _build(program: MadeProgram, forced: int, folder: Path, sealed: Path, group: Path | None) -> BuiltProgram:
    """One build: what runs lies in `folder` as drawn, else in `sealed`; the source of what is compiled in `sealed`."""
    where = folder if forced == DRAWN else sealed / f"forced-{forced}"
    where.mkdir(exist_ok=True)
    runs, text = where / NAMES[program.language], program.source(forced, str(group))
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


def _measured(program: MadeProgram, built: dict[int, BuiltProgram], runs: int) -> ProgramTruth:
    """Run what is forced in an order that is drawn, and take the medians."""
    truth, rng = program.truth, random.Random(program.number)
    order = [forced for forced in built if forced != DRAWN] * runs
    rng.shuffle(order)
    left = any(one.trigger == "left" for one in truth.inserted)
    times: dict[int, list[float]] = {forced: [] for forced in built}
    for forced in order:
        busy = DRAWN if program.own_neighbour is None else forced >> program.own_neighbour & 1
        with neighbour(built[forced], busy):
            for _ in range(2 if left else 1):  # what the run before left is of the same build
                took = run_ms(built[forced])
        times[forced].append(took)
    base = median(times[NOTHING])
    return truth.model_copy(
        update={
            "runs": runs,
            "base_ms": base,
            "noise_ms": 1.4826 * median(abs(each - base) for each in times[NOTHING]),
            "inserted": tuple(
                one.model_copy(update={"effect_ms": median(times[1 << place]) - base})
                for place, one in enumerate(truth.inserted)
            ),
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


def _group_path(program: MadeProgram) -> Path:
    if (place := group_place("cpu")) is None:
        raise VgoError(f"Program {program.number} needs a control group with the controller cpu; draw it without root.")
    owner = this_process()
    return Path(place.folder) / f"{PREFIX}{owner.pid}-{owner.start}-8{program.number}"


@contextlib.contextmanager
def limited_group(group: Path | None) -> Iterator[None]:
    """Have its control group, which is held to a share of a CPU, if it has one."""
    if group is None:
        yield
        return
    group.mkdir()
    try:
        for name, value in quota_files(1 if "cpu" in own_groups() else 2, QUOTA_US, PERIOD_US).items():
            (group / name).write_text(value)
        yield
    finally:
        for _ in range(50):
            with contextlib.suppress(OSError):  # a run that was ended may still be leaving it
                group.rmdir()
                break
            time.sleep(0.02)
