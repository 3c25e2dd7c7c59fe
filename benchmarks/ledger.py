"""The ledger: what it costs a program, and whether it finds where the milliseconds of known programs go.

`python benchmarks/ledger.py cost`: CPU time and wall time of six programs with a layer on over without, in turns.
`python benchmarks/ledger.py cases FOLDER --save`: the workloads that come along, and the programs of a folder whose
states are known (`STATES`); 30 runs each, by `vgo-agent measure --ledger`.
`python benchmarks/ledger.py nulls --rounds 20 --save`: series of programs that do the same work in each run, or draw
it: what the ledger claims beyond the program's own time on a CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from vgo_agent.evals.workloads.registry import missing, subject_of, surrounded, workloads
from vgo_agent.knowledge.time_states import TimeState
from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes.base import Probe
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.ledger.ledger import Ledger

PAGE = Path(__file__).parents[1] / "docs/results/ledger.md"
PYTHON = (sys.executable, "-S", "-c")
PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "true": ("/bin/true",),
    "20 ms CPU": (*PYTHON, "import time\nwhile time.process_time() < .03: pass"),
    "100,000 calls": (*PYTHON, "import os\nfor _ in range(100000): os.getppid()"),
    "10,000 faults": (
        *PYTHON,
        "import mmap\nm = mmap.mmap(-1, 40960000)\nfor i in range(10000): m[i * 4096] = 1",
    ),
    "1,500 round trips": (
        *PYTHON,
        "import os\na, b = os.pipe(), os.pipe()\n"
        "if os.fork() == 0:\n for _ in range(1500): os.write(b[1], os.read(a[0], 1))\n os._exit(0)\n"
        "for _ in range(1500): os.write(a[1], b'x'); os.read(b[0], 1)\nos.wait()",
    ),
    "40 spawns": ("/bin/sh", "-c", "i=0; while [ $i -lt 40 ]; do /bin/true; i=$((i+1)); done"),
}
STATES: Mapping[str, tuple[str, ...]] = {
    name: tuple(states.split())
    for name, _, states in (
        line.strip().partition(": ")
        for line in """
            acceptq: socket
            slack: sleep
            trim: page_fault system
            tmpdir: disk
            sqlitebusy: sleep
            quota: throttled
            thp: page_fault
            gcgen: user
            hashorder: user
            envsize: user
            denormal: user
            cron: queue_own queue_others
            slowpipe: pipe queue_own system
            cpu-hops: user cpu_move system
            page-faults: page_fault
            malloc-churn: page_fault system
            cold-cache: disk
            contention: queue_own queue_others
            layout: user
            hash-seed: user
            malloc-sizes: page_fault system
            random-walk: user
            gc-pauses: user
            process-starts: user system page_fault
            slow-server: sleep
            ping-pong: system user
            fork-storm: queue_own queue_others
            lock-convoy: lock queue_own user
            noise: user
            oversubscribed: queue_own user
            shootdowns: system user page_fault
            sync-writes: disk
            busy-disk: disk
            cpu-quota: throttled
            short-sleeps: sleep
        """.strip().splitlines()
    )
}
"""The state that holds the largest share, by the mechanism of the program; any of them where there are several."""
METRIC = "time: ([0-9.]+)"
TIMED = "import time, random\ns = time.perf_counter()\n{}\nprint('time:', time.perf_counter() - s)"
NULLS: Mapping[str, tuple[str, ...]] = {
    name: (*PYTHON, TIMED.format(work))
    for name, work in {
        "the same loop": "for _ in range(300000): pass",
        "the same sleep": "time.sleep(.02)",
        "a loop, uniform": "for _ in range(random.randrange(100000, 500000)): pass",
        "a loop, exponential": "for _ in range(int(random.expovariate(1 / 300000))): pass",
        "a loop, of two lengths": "for _ in range(random.choice((200000, 400000))): pass",
    }.items()
}
"""Steady, or of drawn work."""
OWN = frozenset({TimeState.USER, TimeState.ON_CPU})
OTHERS = frozenset({TimeState.QUEUE_OTHERS, TimeState.INTERRUPT})
"""Doing of other programs, which a shared machine has."""


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
    """Why there is nothing, if there is nothing."""

    @property
    def right(self) -> bool:
        """The largest share is that of a state that the mechanism lengthens."""
        return self.state in self.expected


def main() -> None:
    """Measure, print and perhaps save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("cost", "cases", "nulls"))
    parser.add_argument("folder", nargs="?", type=Path, help="programs of other people's cases, built")
    parser.add_argument("--rounds", type=int, default=21, help="runs of each arm of the cost; series of each null")
    parser.add_argument("--only", action="append", help="only this case; repeatable")
    parser.add_argument("--save", action="store_true", help=f"write {PAGE.relative_to(PAGE.parents[2])}")
    asked = parser.parse_args()
    tables = {"cost": lambda: cost(asked.rounds), "cases": lambda: cases(asked.folder, asked.only or ())}
    lines = list({**tables, "nulls": lambda: nulls(asked.rounds)}[asked.what]())
    text = "\n".join(lines) + "\n"
    print(text)
    if asked.save:
        mark = f"<!-- {asked.what} -->\n"
        before = (
            PAGE.read_text()
            if PAGE.exists()
            else "# The ledger, measured\n\n<!-- cost -->\n<!-- cases -->\n<!-- nulls -->\n"
        )
        head, _, rest = before.partition(mark)
        following = rest[rest.index("<!-- ") :] if "<!-- " in rest else ""
        PAGE.write_text(f"{head}{mark}{text}{following}")


def cost(rounds: int) -> Iterator[str]:
    """Give a table: each program by the layers, in turns with bare runs."""
    yield f"Cost, {described()}, `python benchmarks/ledger.py cost`, {rounds} runs of each arm in turns: the median"
    yield "with the layer over that without, of CPU time and of wall time; beside: ms until the next run may begin.\n"
    yield "| program | ms CPU | ledger CPU | ledger wall | stacks CPU | stacks wall | ledger beside | stacks beside |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    with Spawner() as spawner:
        for name, argv in PROGRAMS.items():
            with ExitStack() as undo:  # anew: one that costs a program too much stops by itself
                probes = {key: open_probe(find_layer(key)) for key in ("ledger", "stacks")}
                for probe in probes.values():
                    undo.callback(probe.close)
                yield _row(name, argv, spawner, probes, rounds)


def _row(name: str, argv: tuple[str, ...], spawner: Spawner, probes: Mapping[str, Probe], rounds: int) -> str:
    arms: dict[str, list[tuple[float, float, float]]] = {"": [], **{key: [] for key in probes}}
    for _ in range(rounds):
        for key, taken in arms.items():
            began = time.perf_counter()
            run = spawner.run(Launch(argv), [probes[key]] if key else [])
            if key:
                probes[key].split(None)
            whole = 1e3 * (time.perf_counter() - began)
            cpu = 1e3 * (float(run.counters["user_s"]) + float(run.counters["system_s"]))
            taken.append((cpu, run.wall_ns / 1e6, whole - run.wall_ns / 1e6))
    medians = {key: [statistics.median(one) for one in zip(*taken, strict=True)] for key, taken in arms.items()}
    bare = medians[""]
    cells = [f"{medians[key][place] / bare[place]:.3f}" for key in probes for place in (0, 1)]
    beside = [f"{medians[key][2] - bare[2]:.2f}" for key in probes]
    return f"| {name} | {bare[0]:.1f} | {' | '.join((*cells, *beside))} |"


def cases(folder: Path | None, only: Sequence[str]) -> Iterator[str]:
    """Give a table: each program with what its ledger says."""
    yield f"Cases, {described()}, `python benchmarks/ledger.py cases FOLDER`, 30 runs each by"
    yield "`vgo-agent measure --ledger`.\n"
    yield "| program | known | largest share | gap ms | opened | seconds |"
    yield "|---|---|---|---:|---|---:|"
    judged = [one for one in judge(folder, only)]
    for one in judged:
        share = f"{one.state} {100 * one.share:.0f} %" if one.state else one.said
        right = "" if one.right else " **not**"
        numbers = f"{one.gap_ms:.3g} | {one.what} | {one.seconds:.0f}"
        yield f"| {one.name} | {', '.join(one.expected)} | {share}{right} | {numbers} |"
    yield f"\nRight: {sum(one.right for one in judged)} of {len(judged)}.\n"


def judge(folder: Path | None, only: Sequence[str]) -> Iterator[Judged]:
    """Measure the programs of a folder, then the workloads that can run here."""
    programs = sorted(folder.iterdir()) if folder else []
    for path in programs:
        if path.stem in STATES and (path.suffix == ".py" or not path.suffix) and (not only or path.stem in only):
            words = (sys.executable, str(path)) if path.suffix else (str(path),)
            yield ledger_of(path.stem, words, METRIC, "s", Path.cwd())
    for workload in workloads():
        if workload.name in STATES and (not only or workload.name in only) and not missing(workload):
            subject = subject_of(workload, steady=False)
            with surrounded(workload):
                yield ledger_of(
                    workload.name, subject.command, subject.metric or "", subject.unit, Path(subject.directory)
                )


def nulls(series: int) -> Iterator[str]:
    """Give a table: of each program the series by what the ledger claims."""
    yield f"Nulls, {described()}, `python benchmarks/ledger.py nulls`, {series} series of 30 runs each: what"
    yield "surely goes with slow runs.\n"
    yield "| program | nothing, or its own work | other programs too | anything else |"
    yield "|---|---:|---:|---|"
    every = Counter[str]()
    for name, words in NULLS.items():
        found = [material_in(words) for _ in range(series)]
        print(name, found, file=sys.stderr, flush=True)
        wrong = Counter(state for one in found for state in one - OWN - OTHERS)
        count = Counter("wrong" if one - OWN - OTHERS else "others" if one & OTHERS else "right" for one in found)
        every += count
        said = ", ".join(f"{state} {times}" for state, times in wrong.items())
        yield f"| {name} | {count['right']} | {count['others']} | {count['wrong']}{f' ({said})' if said else ''} |"
    right = every.total() - every["wrong"]
    yield f"\nNo claim beyond the program's own work and other programs: {right} of {every.total()}.\n"


def material_in(words: Sequence[str]) -> frozenset[TimeState]:
    """States that the ledger of a program names."""
    answer, _, said = asked_for(words, METRIC, "s", Path.cwd())
    if "ledger" not in answer:
        raise SystemExit(said)
    return frozenset(TimeState(one.state) for one in Ledger.model_validate(answer["ledger"]).material)


def ledger_of(name: str, words: Sequence[str], metric: str, unit: str, directory: Path) -> Judged:
    """Say what the ledger of a program names first."""
    answer, seconds, said = asked_for(words, metric, unit, directory)
    print(name, f"{seconds:.0f} s", file=sys.stderr, flush=True)
    ledger = answer.get("ledger")
    if ledger is None:
        return Judged(name, STATES[name], "", 0.0, 0.0, "", seconds, said)
    shares = ledger["net"] or ledger["shares"]
    first = shares["states"][0]
    causes = [one for one in ledger["causes"] if one["state"] == first["state"]]
    what = "; ".join(filter(None, (causes[0]["via"], causes[0]["what"], causes[0]["timer"]))) if causes else ""
    return Judged(name, STATES[name], first["state"], first["share"], first["gap_ms"], what[:120], seconds, "")


def asked_for(words: Sequence[str], metric: str, unit: str, directory: Path) -> tuple[dict[str, Any], float, str]:
    """Ask the command line for the ledger of a program: its answer, the seconds it took, and why there is none."""
    command = [str(Path(sys.executable).with_name("vgo-agent")), "measure", "--ledger", "--json"]
    began = time.monotonic()
    done = subprocess.run(
        [*command, "--metric", metric, "--unit", unit, "--", *words], capture_output=True, text=True, cwd=directory
    )
    said = (done.stderr.strip().splitlines() or ["no ledger"])[-1][:100]
    return json.loads(done.stdout) if done.returncode == 0 else {}, time.monotonic() - began, said


def described() -> str:
    """Say where and when."""
    return (
        f"{time.strftime('%Y-%m-%d')}, Linux {platform.release()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
