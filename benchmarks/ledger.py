"""The ledger: what it costs a program, whether it finds where known programs spend their time, and what others tell.

`python benchmarks/ledger.py cost`: CPU time and wall time of six programs with a layer on less without, in turns; with
`--rung own` of the rungs that need no rights.
`python benchmarks/ledger.py cases FOLDER --save`: the workloads that come along, and the programs of a folder whose
states are known; 30 runs each, by `vgo-agent measure --ledger`; with `--rung own` as a user without rights.
`python benchmarks/ledger.py peers FOLDER --save`: five of them by other tools too (perf, strace, bpftrace).
`python benchmarks/ledger.py nulls --rounds 20 --save`: series of programs that do the same work in each run, or draw
it: what the ledger claims beyond the program's own time on a CPU.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
from ledger_cases import METRIC, Case, asked_for, cases, described, rung
from ledger_peers import peers

from vgo_agent.knowledge.time_states import TimeState
from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes.base import Probe
from vgo_agent.layers.probes.own_tasks import LARGEST, OwnTasks
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.ledger.ledger import Ledger
from vgo_agent.tools.statistics.values import FloatArray

PARTS = "cost", "rung_cost", "cases", "notes", "rung", "peers", "nulls"
"""Of the page; notes are written by hand, and say why a row of the cases is not right."""
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
OTHERS = frozenset({TimeState.QUEUE_OTHERS, TimeState.STOLEN, TimeState.INTERRUPT})
"""Doing of other programs, which a shared machine has."""


def main() -> None:
    """Measure, print and perhaps save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("cost", "cases", "nulls", "peers"))
    parser.add_argument("folder", nargs="?", type=Path, help="programs of other people's cases, built")
    parser.add_argument("--rounds", type=int, default=21, help="runs of each arm of the cost; series of each null")
    parser.add_argument("--only", action="append", default=[], help="only this case; repeatable")
    parser.add_argument("--rung", choices=("root", "own"), default="root", help="own: as a user without rights")
    parser.add_argument("--out", type=Path, default=Path("vgo-runs"), help="where the runs of cases are kept")
    parser.add_argument("--save", action="store_true", help=f"write {PAGE.relative_to(PAGE.parents[2])}")
    asked = parser.parse_args()
    out = asked.out.resolve()
    part = {"cases": "rung", "cost": "rung_cost"}[asked.what] if asked.rung == "own" else asked.what
    tables = {
        "cost": lambda: cost(asked.rounds, UPPER),
        "rung_cost": lambda: cost(asked.rounds, LOWER),
        "cases": lambda: cases(asked.folder, asked.only, out),
        "rung": lambda: rung(asked.folder, asked.only),
        "nulls": lambda: nulls(asked.rounds, out),
        "peers": lambda: peers(asked.folder, asked.only, out),
    }
    lines = []
    for line in tables[part]():
        print(line, flush=True)
        lines.append(line)
    if asked.save:
        save(part, "\n".join(lines) + "\n")


def save(part: str, text: str) -> None:
    """Write a part of the page, without the home folder of who writes it; the others stay as they are."""
    parts = dict(re.findall(r"<!-- (\w+) -->\n(.*?)(?=<!-- |\Z)", PAGE.read_text() if PAGE.exists() else "", re.DOTALL))
    parts = {name: parts.get(name, "") for name in PARTS} | {part: text.replace(str(Path.home()), "~")}
    PAGE.write_text("# The ledger, measured\n\n" + "".join(f"<!-- {name} -->\n{said}" for name, said in parts.items()))


LOWER: Mapping[str, Callable[[], Probe]] = {
    "rung 3": lambda: OwnTasks(Path("/"), "", LARGEST),
    "rung 4": lambda: OwnTasks(Path("/"), ""),
}
"""Those of the ladder of `vgo-agent layers ledger` that need no rights."""
UPPER: Mapping[str, Callable[[], Probe]] = {key: partial(open_probe, find_layer(key)) for key in ("ledger", "stacks")}


def cost(rounds: int, arms: Mapping[str, Callable[[], Probe]]) -> Iterator[str]:
    """Give a table: each program by the layers or rungs, in turns with bare runs."""
    lower = " --rung own" if arms is LOWER else ""
    yield f"Cost, {described()}, `python benchmarks/ledger.py cost{lower}`, {rounds} runs of each arm in turns: the"
    yield "median with the layer less that without, of CPU time and of wall time, in ms, with a 95 % bootstrap"
    yield "interval; copied and split: ms after the run.\n"
    yield f"| program | ms CPU | {' | '.join(f'{key} CPU | wall | copied | split' for key in arms)} |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    with Spawner() as spawner:
        for name, argv in PROGRAMS.items():
            with ExitStack() as undo:  # anew: one that costs a program too much stops by itself
                probes = {key: opened() for key, opened in arms.items()}
                for probe in probes.values():
                    undo.callback(probe.close)
                yield _row(name, argv, spawner, probes, rounds)


def _row(name: str, argv: tuple[str, ...], spawner: Spawner, probes: Mapping[str, Probe], rounds: int) -> str:
    arms: dict[str, list[tuple[float, ...]]] = {"": [], **{key: [] for key in probes}}
    for _ in range(rounds):
        for key, taken in arms.items():
            began = time.perf_counter()
            pids: list[int] = []
            run = spawner.run(Launch(argv), [probes[key]] if key else [], on_started=pids.append)
            ran = time.perf_counter()
            if key and isinstance(probe := probes[key], OwnTasks):
                probe.divide(pids[0], run.wall_ns, 0)
            elif key:
                probe.split(None)
            cpu = 1e3 * (float(run.counters["user_s"]) + float(run.counters["system_s"]))
            wall, split = run.wall_ns / 1e6, 1e3 * (time.perf_counter() - ran)
            taken.append((cpu, wall, 1e3 * (ran - began) - wall, split))
    bare = np.array(arms.pop(""))
    cells = (more(np.array(taken), bare, place) for taken in arms.values() for place in range(bare.shape[1]))
    return f"| {name} | {np.median(bare[:, 0]):.1f} | {' | '.join(cells)} |"


def more(taken: FloatArray, bare: FloatArray, place: int) -> str:
    """Difference of medians of one column, shape (runs, columns), with its interval where runs differ by much."""
    draw = np.random.default_rng(1).integers
    drawn = [
        np.median(taken[draw(0, len(taken), len(taken)), place]) - np.median(bare[draw(0, len(bare), len(bare)), place])
        for _ in range(2000)
    ]
    difference, (low, high) = np.median(taken[:, place]) - np.median(bare[:, place]), np.quantile(drawn, (0.025, 0.975))
    return f"{difference:+.2f} [{low:+.2f}, {high:+.2f}]" if place < 2 else f"{difference:.2f}"


def nulls(series: int, out: Path) -> Iterator[str]:
    """Give a table: of each program the series by what the ledger claims."""
    yield f"Nulls, {described()}, `python benchmarks/ledger.py nulls`, {series} series of 30 runs each: what"
    yield "surely goes with slow runs.\n"
    yield "| program | nothing, or its own work | other programs too | anything else |"
    yield "|---|---:|---:|---|"
    every = Counter[str]()
    for name, words in NULLS.items():
        found = [material_in(words, out) for _ in range(series)]
        print(name, found, file=sys.stderr, flush=True)
        wrong = Counter(state for one in found for state in one - OWN - OTHERS)
        count = Counter("wrong" if one - OWN - OTHERS else "others" if one & OTHERS else "right" for one in found)
        every += count
        said = ", ".join(f"{state} {times}" for state, times in wrong.items())
        yield f"| {name} | {count['right']} | {count['others']} | {count['wrong']}{f' ({said})' if said else ''} |"
    right = every.total() - every["wrong"]
    yield f"\nNo claim beyond the program's own work and other programs: {right} of {every.total()}.\n"


def material_in(words: Sequence[str], out: Path) -> frozenset[TimeState]:
    """States that the ledger of a program names."""
    answer, _, said = asked_for(Case("", tuple(words), METRIC, "s", Path.cwd()), out)
    if "ledger" not in answer:
        raise SystemExit(said)
    return frozenset(TimeState(one.state) for one in Ledger.model_validate(answer["ledger"]).material)


if __name__ == "__main__":
    main()
