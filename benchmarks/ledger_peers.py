"""The ledger beside other tools: what each tells of why some runs are slow, how long it took and what it cost.

Each other tool watches one run at a time, which is the best case for it: 30 runs whose draws differ, in turns with the
others and with bare runs. Then what a user could do by hand is done here: every row of its outputs is averaged over the
slow and over the fast runs, and the rows whose times differ most are compared with what is known of the program.
"""

from __future__ import annotations

import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ledger_cases import Case, asked_for, described, subjects

RUNS, COST_RUNS, OWN_COST_RUNS = 30, 7, 15
NEAR, LEAST = 0.8, 0.2
"""Of the largest difference: rows that differ as much are found too. Of the whole difference: less explains nothing."""
CHILDREN = 40
"""A task of the program's name whose id is less than so far from the program's is one of its own."""
TRACING = Path("/sys/kernel/tracing")
WITH_TRACEFS = f'mount -t tracefs nodev {TRACING} && exec "$@"'
OFF_CPU = """
BEGIN { @tree[cpid] = 1; }
tracepoint:sched:sched_process_fork /@tree[args->parent_pid]/ { @tree[args->child_pid] = 1; }
tracepoint:sched:sched_switch {
  if (@tree[args->prev_pid]) { @at[args->prev_pid] = nsecs; @stack[args->prev_pid] = kstack(12); }
  $began = @at[args->next_pid];
  if ($began) {
    @off_us[args->next_comm, args->next_pid, @stack[args->next_pid]] = sum((nsecs - $began) / 1000);
    delete(@at[args->next_pid]);
  }
}
END { clear(@tree); clear(@at); clear(@stack); }
"""
"""`offcputime` of the program and its children: that of bcc needs kprobes and the headers of the kernel."""
Rows = dict[str, float]
"""Milliseconds by row of an output; tasks are numbered in the order of their ids: [1] is the program."""


class Truth(NamedTuple):
    """What a program that is slow in some runs does in them, as regular expressions for what a tool says."""

    call: str
    """The state or the call."""
    whom: str
    """The file, peer, lock or function."""
    same_draw: tuple[str, ...]
    """Arguments with which each run does the same, to see what a tool costs."""


TRUTHS: Mapping[str, Truth] = {
    "slow-server": Truth("nanosleep", r"for python|\[2\]", ("20",)),
    "sync-writes": Truth("sync|io_schedule", "/sync-writes/", ("10",)),
    "page-faults": Truth("page.fault|anonymous_page", "anonymous_page", ("64",)),
    "contention": Truth(
        "sch delay|behind|queue|irqentry_exit_to_user_mode", r"behind python|\[2\] run time", ("loud",)
    ),
    "sqlitebusy": Truth("nanosleep", r"busy|fcntl|\block", ("40", "0")),
}


class Peer(NamedTuple):
    """Another tool."""

    command: str
    """As it is written on a command line; OUT is the file that it writes, PROGRAM what is run."""
    rows: Callable[[str, int], Rows]
    """The rows of an output, of a program with that id where it is known."""
    apart: str
    """Whether it tells slow runs from fast ones."""


def of_trace(text: str, _: int) -> Rows:
    """`perf trace -s`: a table for each thread."""
    rows, task, number = defaultdict[str, float](float), "", 0
    for line in text.splitlines():
        if named := re.match(r" (\S+) \(\d+\), \d+ events", line):
            number += 1
            task = f"{named[1]}[{number}]"
        elif call := re.match(r"   (\w+) +\d+ +\d+ +([\d.]+) ", line):
            rows[f"{task} {call[1]}"] += float(call[2])
    return rows


def of_strace(text: str, _: int) -> Rows:
    """`strace -c`: one table."""
    found = re.findall(r"^ *[\d.]+ +([\d.]+) +\d+ +\d+ +(?:\d+ +)?(\w+)$", text, re.MULTILINE)
    return {call: 1e3 * float(seconds) for seconds, call in found if call != "total"}


def of_off_cpu(text: str, _: int) -> Rows:
    """Stacks, each with the microseconds of one thread."""
    rows, found = (
        defaultdict[str, float](float),
        re.findall(r"^@off_us\[(.+?), (\d+),(.*?)\]: (\d+)$", text, re.MULTILINE | re.DOTALL),
    )
    place = {task: number + 1 for number, task in enumerate(sorted({int(one[1]) for one in found}))}
    for name, task, stack, microseconds in found:
        frames = [frame.partition("+")[0].strip() for frame in stack.strip().splitlines()]
        telling = [frame for frame in frames if not re.match("(__)?schedule$|do_syscall|entry_", frame)]
        rows[f"{name}[{place[int(task)]}] {' < '.join(telling[:4])}"] += int(microseconds) / 1e3
    return rows


def of_timehist(text: str, root: int) -> Rows:
    """`perf sched timehist`: a line for each time on a CPU; summed by task, other programs' by name."""
    most = int(Path("/proc/sys/kernel/pid_max").read_text())
    found = re.findall(r"^ *[\d.]+ \[\d+\] +(\S+?)\[(\d+)\S*\] +([\d.]+) +([\d.]+) +([\d.]+)", text, re.MULTILINE)
    program = {int(task) for name, task, *_ in found if (int(task) - root) % most < CHILDREN and "python" in name}
    place = {task: number + 1 for number, task in enumerate(sorted(program, key=lambda task: (task - root) % most))}
    rows = defaultdict[str, float](float)
    for name, task, wait, delay, run in found:
        named = f"{name}[{place[int(task)]}]" if int(task) in program else name
        rows[f"{named} run time"] += float(run)
        if int(task) in program:
            rows[f"{named} wait time"] += float(wait)
            rows[f"{named} sch delay"] += float(delay)
    return rows


PEERS: Mapping[str, Peer] = {
    "perf trace -s": Peer(
        "perf trace -s -o OUT -- PROGRAM", of_trace, "no: sums by thread and call of what it watched"
    ),
    "strace -c": Peer("strace -c -w -f -o OUT PROGRAM", of_strace, "no: sums by call of all threads"),
    "offcputime": Peer("bpftrace -q -o OUT -c 'PROGRAM' off.bt", of_off_cpu, "no: sums by thread and stack"),
    "perf sched": Peer(
        "perf sched record -q -o DATA -- sh -c 'echo $$ >&2; exec PROGRAM' && perf sched timehist -i DATA > OUT",
        of_timehist,
        "no: each switch of each task of the machine; here summed by task",
    ),
}
OURS = "vgo-agent"
HOW = f"""Each of the others
watched {RUNS} runs, one at a time, which is the best case for it, in turns with each other and with bare runs;
`vgo-agent measure --ledger` watched {RUNS} runs of its own. *s*: seconds until all was printed. *Cost*: the median
metric with the tool over that without, of {COST_RUNS} runs of each in turns in which the program does the same work
(`vgo-agent`: of {OWN_COST_RUNS} runs, with bare ones between). *Lines*: of all that was printed. *By hand*: what a
user can work out of the {RUNS} outputs: the rows whose mean times differ most between the slow and the fast half of
the runs, and those within 20 % of the largest. Tasks are numbered: [1] is the program. *Call*, *whom*: whether these
rows (not those with less than a fifth of the whole difference), or the headline of `vgo-agent` with its first cause and
the first known one that it says a part looks like, have the state or call, and the file, peer, lock or function, by the
mechanism of the program. So it gets two more lines than the others."""


def peers(folder: Path | None, only: Sequence[str], out: Path) -> Iterator[str]:
    """Give a table: each of five programs by each tool."""
    if not (TRACING / "events").is_dir():  # in mounts of its own
        os.execvp("unshare", ("unshare", "-m", "sh", "-c", WITH_TRACEFS, "sh", sys.executable, *sys.argv))
    yield f"Side by side, {described()}, `python benchmarks/ledger.py peers FOLDER`. {HOW}\n"
    yield "| tool | command | tells slow runs from fast ones |"
    yield "|---|---|---|"
    for name, peer in PEERS.items():
        yield f"| {name} | `{peer.command}` | {peer.apart} |"
    yield f"| {OURS} | `vgo-agent measure --ledger --metric REGEX --unit UNIT -- PROGRAM` | yes: by state |"
    yield f"\n`off.bt` stands for bcc's `offcputime`, which needs kprobes and kernel headers:\n\n```{OFF_CPU}```\n"
    tally = {name: [0, 0] for name in (*PEERS, OURS)}
    cases = 0
    for case in subjects(folder, [name for name in TRUTHS if not only or name in only]):
        cases += 1
        for name, row in side_by_side(case, out):
            for place, cell in enumerate(row.rstrip(" |\n").split(" | ")[-2:] if name else ()):
                tally[name][place] += cell == "yes"
            yield row
    yield "\n| tool | names the state or call | names whom |\n|---|---:|---:|"
    for name, (call, whom) in tally.items():
        yield f"| {name} | {call} of {cases} | {whom} of {cases} |"
    yield ""


class Watched(NamedTuple):
    """A run with a tool."""

    outcome_ms: float
    seconds: float
    text: str
    rows: Rows


def side_by_side(case: Case, out: Path) -> Iterator[tuple[str, str]]:
    """Give the table of a program, each row with its tool."""
    truth, words = TRUTHS[case.name], case.words
    with tempfile.TemporaryDirectory() as folder:
        drawn = in_turns(case, words, RUNS, Path(folder))
        fixed = in_turns(case, (*words, *truth.same_draw), COST_RUNS, Path(folder))
    bare = statistics.median(one.outcome_ms for one in fixed[""])
    yield "", f"\n**{case.name}**, {case.words[-1].rpartition('/')[2]}; known: `{truth.call}`, `{truth.whom}`\n"
    yield "", "| tool | s | cost | lines | its largest row | slow less fast, by hand | call | whom |"
    yield "", "|---|---:|---:|---:|---|---|---|---|"
    for name in PEERS:
        runs = drawn[name]
        gap, rows = differing(runs)
        said = ", ".join(f"{row} {ms:+.3g} ms" for row, ms in rows) + f" of {gap:.3g}"
        telling = " ".join(row for row, ms in rows if ms >= LEAST * gap)
        numbers = (
            f"{sum(one.seconds for one in runs):.0f}",
            f"{statistics.median(one.outcome_ms for one in fixed[name]) / bare:.2f}",
            f"{sum(one.text.count(chr(10)) for one in runs):,}",
        )
        row, ms = max(max(runs, key=lambda one: one.outcome_ms).rows.items(), key=lambda item: item[1])
        largest = f"{row} {ms:.3g} ms"
        yield name, f"| {name} | {' | '.join((*numbers, largest, said, *named(truth, telling)))} |"
    yield OURS, our_row(case, truth, out)


def our_row(case: Case, truth: Truth, out: Path) -> str:
    """The row of `vgo-agent`: what it prints, and what it costs where each run does the same."""
    command = (str(Path(sys.executable).with_name("vgo-agent")), "measure", "--ledger", "--out", str(out))
    began = time.monotonic()
    done = subprocess.run(
        (*command, "--metric", case.metric, "--unit", case.unit, "--", *case.words),
        capture_output=True,
        text=True,
        cwd=case.directory,
    )
    seconds = time.monotonic() - began
    parts = [" ".join(part.split()) for part in re.split(r"\n\n|\n(?=- )", done.stdout)]
    first = next((part for part in parts if part.startswith("Where the milliseconds")), "nothing")
    causes = [part for part in parts if part.startswith("- ")][:1]
    shown = [part for part in parts if part.startswith("It looks like this")][:1]
    same, _, why = asked_for(case._replace(words=(*case.words, *truth.same_draw)), out, runs=OWN_COST_RUNS)
    cost = f"{same['outcome']['median'] / same['bare']['median']:.2f}" if same else why
    said = "; ".join((*causes, *shown))
    numbers = f"{seconds:.0f} | {cost} | {done.stdout.count(chr(10))}"
    lead = first.removeprefix("Where the milliseconds went").strip()
    return f"| {OURS} | {' | '.join((numbers, lead, said, *named(truth, f'{lead} {said}')))} |"


def named(truth: Truth, said: str) -> tuple[str, str]:
    """Whether what is told has the state or call, and whom."""
    call, whom = ("yes" if re.search(one, said) else "no" for one in (truth.call, truth.whom))
    return call, whom


def differing(runs: Sequence[Watched]) -> tuple[float, list[tuple[str, float]]]:
    """The gap of the slow half of the runs, and the rows that differ about as much as the one that differs most."""
    middle = statistics.median(one.outcome_ms for one in runs)
    slow, fast = ([one for one in runs if (one.outcome_ms > middle) is late] for late in (True, False))
    gaps = defaultdict[str, float](float)
    for half, sign in ((slow, 1), (fast, -1)):
        for run in half:
            for row, ms in run.rows.items():
                gaps[row] += sign * ms / len(half)
    gap = statistics.mean(one.outcome_ms for one in slow) - statistics.mean(one.outcome_ms for one in fast)
    ranked = sorted(gaps.items(), key=lambda item: -item[1])
    return gap, [(row, ms) for row, ms in ranked if ms >= NEAR * ranked[0][1]][:3]


def in_turns(case: Case, words: Sequence[str], runs: int, folder: Path) -> dict[str, list[Watched]]:
    """Run the program by each tool and bare, in turns."""
    found = defaultdict[str, list[Watched]](list)
    (folder / "off.bt").write_text(OFF_CPU)
    for _ in range(runs):
        for name in ("", *PEERS):
            found[name].append(watched(case, words, PEERS.get(name), folder))
    print(case.name, {name: round(sum(one.seconds for one in of)) for name, of in found.items()}, file=sys.stderr)
    return found


def watched(case: Case, words: Sequence[str], peer: Peer | None, folder: Path) -> Watched:
    """Run the program once."""
    program, output = shlex.join(words), folder / "output"
    command = peer.command if peer else "PROGRAM"
    for word, path in (("OUT", output), ("DATA", folder / "data"), ("off.bt", folder / "off.bt"), ("PROGRAM", program)):
        command = command.replace(word, str(path))
    output.write_text("")
    began = time.monotonic()
    done = subprocess.run(
        ("sh", "-c", command), capture_output=True, text=True, cwd=case.directory, start_new_session=True
    )
    seconds = time.monotonic() - began
    printed = re.search(case.metric, done.stdout)
    if not printed:
        raise SystemExit(f"{command}: {done.stderr.strip()[-300:]}")
    text = output.read_text()
    root = re.search(r"^\d+$", done.stderr, re.MULTILINE)
    rows = peer.rows(text, int(root[0]) if root else 0) if peer else {}
    return Watched(float(printed[1]) * (1e3 if case.unit == "s" else 1.0), seconds, text, rows)
