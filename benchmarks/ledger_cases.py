"""Programs whose states and details are known, and what the ledger says of them: as root, and as any user."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from vgo_agent.evals.workloads.registry import missing, subject_of, surrounded, workloads
from vgo_agent.knowledge.loader import load
from vgo_agent.knowledge.time_states import ON_CPU_KINDS, QUEUES, TimeState
from vgo_agent.tools.ledger.ledger import MOST_RESIDUAL, ledger_of_split, split_recorded
from vgo_agent.tools.ledger.shares import LEAST_MS
from vgo_agent.tools.ledger.split import STACKS
from vgo_agent.tools.recorded.read import read
from vgo_agent.tools.subject import NANOSECONDS

METRIC = "time: ([0-9.]+)"


class Known(NamedTuple):
    """Where the time of slow runs goes, by the mechanism of a program."""

    states: tuple[str, ...]
    """The state that holds the largest share; any of them where there are several."""
    detail: str
    """A regular expression for the call, file, lock, peer or function that it is opened into."""

    @property
    def coarse(self) -> tuple[str, ...]:
        """The states that a user without rights can be told."""
        return tuple(dict.fromkeys(map(coarse, self.states)))


KNOWN: Mapping[str, Known] = {
    name: Known(tuple(states.split()), detail)
    for name, states, detail in (
        line.strip().split(" | ")
        for line in r"""
            acceptq | socket | connect
            slack | sleep | clock_nanosleep
            trim | page_fault system | do_anonymous_page|brk
            tmpdir | disk | (fsync|rename).*/tmp/
            sqlitebusy | sleep | clock_nanosleep
            quota | throttled | by its CPU quota
            thp | page_fault | huge
            gcgen | user | gc_|collect|visit|traverse|refs
            hashorder | user | _PyEval_EvalFrameDefault
            envsize | user | scale
            denormal | user | main in denormal
            cron | queue_own queue_others | behind python
            slowpipe | system user | write|flush|_io_
            cpu-hops | user system | sched_setaffinity|memmove|memcpy
            page-faults | page_fault | do_anonymous_page
            malloc-churn | page_fault system | do_anonymous_page|brk
            cold-cache | disk | readv.*input\.bin
            contention | queue_own queue_others | behind python
            layout | user | main in layout
            hash-seed | user | x_divrem|x_mul|long_pow|l_mod
            malloc-sizes | page_fault system | do_anonymous_page|munmap|mmap
            random-walk | user | (walk|main)\S* in random_walk
            gc-pauses | user | gc_|collect|visit|traverse|refs
            process-starts | user system page_fault | clone|fork|exec|exit|true
            slow-server | sleep | waits in \w+.* for python.*; python.*: clock_nanosleep
            ping-pong | system user | read|write|pipe
            fork-storm | queue_own queue_others | behind python
            lock-convoy | system user | futex|lock_convoy
            noise | user | _PyEval_EvalFrameDefault|perf_counter|clock
            oversubscribed | queue_own user | behind (exe|oversubscribed)|libgomp
            shootdowns | interrupt user | flush_tlb|call_function|compute|main
            sync-writes | disk | fdatasync.*/sync-writes/
            busy-disk | disk | fdatasync.*/busy-disk/
            cpu-quota | throttled | by its CPU quota
            short-sleeps | sleep | clock_nanosleep
        """.strip().splitlines()
    )
}
"""By the mechanism of the program. Of a script the function is one of the interpreter: which of the script it was takes
another way of looking."""
NOBODY = 65534
AS_NOBODY = (
    'mount --bind "$1" "$2" && mount -t tmpfs -o mode=755 nodev "$HOME" && mkdir -p "$1" && mount --bind "$2" "$1" && '
    f'shift 2 && exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups env HOME=/nonexistent "$@"'
)
"""In mounts of its own: the interpreter may lie in the home of root, where nobody else can read."""


class Case(NamedTuple):
    """A program and how to measure it."""

    name: str
    words: tuple[str, ...]
    metric: str
    unit: str
    directory: Path


class Judged(NamedTuple):
    """What the ledger said of a program."""

    name: str
    expected: tuple[str, ...]
    state: str
    share: float
    gap_ms: float
    what: str
    seconds: float
    said: str
    """Why nothing is concluded, if nothing is."""
    off: tuple[float, float] | None = None
    """Milliseconds that the states miss of the time and that time, in the median of runs whose ends were both seen."""
    analysis_s: float = 0.0
    """To make the ledger from the table of the runs."""

    @property
    def right(self) -> bool:
        """The largest share is that of a state that the mechanism lengthens."""
        return not self.said and self.state in self.expected

    @property
    def opened(self) -> bool:
        """What it is made of is what the mechanism uses."""
        return not self.said and bool(re.search(KNOWN[self.name].detail, self.what))

    def row(self, without_root: bool) -> str:
        """As a row of the table."""
        share = f"{self.state} {100 * self.share:.0f} %" if self.state else ""
        share = "; ".join(filter(None, (share, self.said))) + ("" if self.right else " **not**")
        opened = () if without_root else (self.what[:120] + ("" if self.opened else " **not**"),)
        return " | ".join(
            (f"| {self.name}", ", ".join(self.expected), share, f"{self.gap_ms:.3g}", *opened, f"{self.seconds:.0f} |")
        )


def coarse(state: str) -> str:
    """What is told of a state without rights over the machine."""
    if state in ON_CPU_KINDS:
        return TimeState.ON_CPU
    if state == TimeState.THROTTLED:
        return state
    return TimeState.QUEUE if state in QUEUES else TimeState.OFF_CPU


def cases(folder: Path | None, only: Sequence[str], out: Path) -> Iterator[str]:
    """Give a table: each program with what its ledger says."""
    yield f"Cases, {described()}, `python benchmarks/ledger.py cases FOLDER`, 30 runs each by"
    yield "`vgo-agent measure --ledger`. **not**: not what the mechanism of the program says. Of a script the function"
    yield "is one of the interpreter.\n"
    yield "| program | known | largest share | gap ms | opened | seconds |"
    yield "|---|---|---|---:|---|---:|"
    judged = list[Judged]()
    for case in subjects(folder, only):
        judged.append(ledger_of(case, out))
        yield judged[-1].row(without_root=False)
    right, opened = sum(one.right for one in judged), sum(one.opened for one in judged)
    yield f"\nState right: {right} of {len(judged)}. Detail right: {opened} of {len(judged)}"
    yield f"({100 * opened / max(1, len(judged)):.0f} %).\n"
    timed, took = [one.off for one in judged if one.off is not None], sorted(one.analysis_s for one in judged)
    hold = sum(ms <= max(LEAST_MS, MOST_RESIDUAL * of_ms) for ms, of_ms in timed)
    worst = max(timed, default=(0.0, 0.0))[0]
    yield "The states of a run add up to its time, in the median of runs of which both ends were seen by themselves,"
    yield f"within 1 % or .05 ms in {hold} of {len(timed)} programs; at worst {worst:.2g} ms are missed. The ledger of"
    yield f"30 runs is made from their table in {took[len(took) // 2]:.2f} s in the median, {took[-1]:.2f} s at most.\n"


def rung(folder: Path | None, only: Sequence[str]) -> Iterator[str]:
    """Give the same table for a user without rights."""
    paranoid = Path("/proc/sys/kernel/perf_event_paranoid").read_text().strip()
    yield f"Without root, {described()}, `python benchmarks/ledger.py cases FOLDER --rung own`, 30 runs each by"
    yield f"`vgo-agent measure --layer ledger` as nobody, kernel.perf_event_paranoid {paranoid}. Whole runs are split,"
    yield "whatever the metric measures.\n"
    yield "| program | known | largest share | gap ms | seconds |"
    yield "|---|---|---|---:|---:|"
    judged = list[Judged]()
    with tempfile.TemporaryDirectory() as home, patch.dict(os.environ, XDG_CACHE_HOME=home, XDG_STATE_HOME=home):
        for case in subjects(folder, only):
            subprocess.run(["chmod", "-R", "a+rwX", home], check=True)
            judged.append(ledger_of(case, Path(home), without_root=True))
            yield judged[-1].row(without_root=True)
    ran = [one for one in judged if one.state]
    nothing = sum(bool(one.said) for one in ran)
    parts = Counter(part for one in ran for part in KNOWN[one.name].coarse[:1])
    yield f"\nRight: {sum(one.right for one in ran)} of {len(ran)}; {nothing} are told nothing, since whole runs do not"
    yield f"stand for what is measured. {len(judged) - len(ran)} cannot run without root."
    yield f"Lost in all {len(judged)}: every name of a call, file, peer or function. Lost besides: what the program did"
    yield f"on a CPU ({parts[TimeState.ON_CPU]} programs), what it waited for ({parts[TimeState.OFF_CPU]}), who had the"
    yield f"CPU ({parts[TimeState.QUEUE]}). A CPU quota is told.\n"


def subjects(folder: Path | None, only: Sequence[str]) -> Iterator[Case]:
    """The programs of a folder, then the workloads that can run here, each with what must be around it."""
    for path in sorted(folder.iterdir()) if folder else []:
        if path.stem in KNOWN and (path.suffix == ".py" or not path.suffix) and (not only or path.stem in only):
            words = (sys.executable, str(path)) if path.suffix else (str(path),)
            yield Case(path.stem, words, METRIC, "s", Path.cwd())
    for workload in workloads():
        if workload.name in KNOWN and (not only or workload.name in only) and not missing(workload):
            subject = subject_of(workload, steady=False)
            with surrounded(workload):
                yield Case(workload.name, subject.command, subject.metric or "", subject.unit, Path(subject.directory))


def ledger_of(case: Case, out: Path, without_root: bool = False) -> Judged:
    """Say what the ledger of a program names first."""
    answer, seconds, said = asked_for(case, out, without_root)
    print(case.name, f"{seconds:.0f} s", file=sys.stderr, flush=True)
    expected = KNOWN[case.name].coarse if without_root else KNOWN[case.name].states
    ledger = answer.get("ledger")
    if ledger is None:
        return Judged(case.name, expected, "", 0.0, 0.0, "", seconds, said)
    shares = ledger["net"] or ledger["shares"]
    first = shares["states"][0]
    causes = [one for one in ledger["causes"] if one["state"] == first["state"]]
    what = "; ".join(filter(None, (causes[0]["via"], causes[0]["what"], causes[0]["timer"]))) if causes else ""
    lacking = "" if ledger["sums"]["hold"] else "the states miss the time of the runs"
    lacking = lacking if ledger["fits"] else "runs vary beside what is measured, so nothing is concluded"
    took = 0.0 if without_root else analysis_s(Path(answer["run_dir"]))
    found = first["state"], first["share"], first["gap_ms"], what, seconds, lacking
    return Judged(case.name, expected, *found, missed(answer["rows"], NANOSECONDS[case.unit] / 1e6), took)


def missed(rows: Sequence[Mapping[str, Any]], ms_each: float) -> tuple[float, float] | None:
    """Hold the states of runs against their time: what the metric says of a part between two readings, else wall time.

    Not where a part was found by its length, which is then right whatever the states are.
    """
    found = []
    for row in rows:
        own = [value for name, value in row.items() if name.startswith("stacks.") and name.endswith("_ms")]
        region = row.get("stacks.region") or ""
        if own and None not in own and (region in ("clock", "CPU clock") or region.startswith("run")):
            ms = 1e3 * row["wall_s"] if region.startswith("run") else ms_each * row["outcome"]
            found.append((abs(sum(own) - ms), ms))
    return sorted(found)[len(found) // 2] if found else None


def analysis_s(folder: Path) -> float:
    """Seconds that it takes to make the ledger of a folder's runs, from their table as it is read."""
    split, factors = split_recorded(read(folder)), load().factors.values()
    began = time.monotonic()
    ledger_of_split(STACKS, split, 1, factors)
    return time.monotonic() - began


def asked_for(case: Case, out: Path, without_root: bool = False, runs: int = 30) -> tuple[dict[str, Any], float, str]:
    """Ask the command line for the ledger of a program: its answer, the seconds it took, and why there is none."""
    command = [str(Path(sys.executable).with_name("vgo-agent")), "measure", "--json", "--out", str(out)]
    command += ["--runs", str(runs), *(("--layer", "ledger") if without_root else ("--ledger",))]
    with tempfile.TemporaryDirectory() as beside:
        lower = ("unshare", "-m", "sh", "-c", AS_NOBODY, "sh", sys.base_prefix, beside) if without_root else ()
        began = time.monotonic()
        done = subprocess.run(
            [*lower, *command, "--metric", case.metric, "--unit", case.unit, "--", *case.words],
            capture_output=True,
            text=True,
            cwd=case.directory,
        )
    said = (done.stderr.strip().splitlines() or ["no ledger"])[-1][:100]
    return json.loads(done.stdout) if done.returncode == 0 else {}, time.monotonic() - began, said


def described() -> str:
    """Say where, when and at which commit."""
    commit = subprocess.run(("git", "rev-parse", "--short", "HEAD"), capture_output=True, text=True).stdout.strip()
    return (
        f"{time.strftime('%Y-%m-%d %H:%M')}, commit {commit}, Linux {platform.release()}, {os.cpu_count()} CPUs, "
        f"load {os.getloadavg()[0]:.1f}"
    )
