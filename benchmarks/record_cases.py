"""Record the cases that come along: `python benchmarks/record_cases.py [KEY ...]`; as root, on a machine at rest.

Each is recorded by `vgo-agent eval record`; what a person says of a case (question, split, tags, difficulty) stands
here and is written into a new case.yaml. A case that is there is left alone, unless --force says that it be recorded
anew; one that was cut off goes on.
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from vgo_agent.evals.recorded.draft import case_yaml, truth_of_workload, truth_yaml
from vgo_agent.evals.recorded.folders import CASE, CASES, TRUTH
from vgo_agent.evals.recorded.recorded_case import read_case
from vgo_agent.evals.recorded.schema import CaseFile, Truth
from vgo_agent.evals.recorded.truth import read_truth, reseal
from vgo_agent.evals.scores.effects import filled
from vgo_agent.evals.workloads.registry import find, subject_of
from vgo_agent.evals.workloads.workload import SHIELDS
from vgo_agent.knowledge.files import read_model

TRAIN, HELD_OUT = "train", "held-out"
SAME = ("--runs", "400", "--pairs", "200", "--layer", "auto", "--allow", "system")
"""For every case: what is recorded does not depend on what is wrong."""
METRIC = ("--metric", "time_ms ([0-9.]+)", "--unit", "ms")


class Plan(NamedTuple):
    """What a person says of a case."""

    question: str
    split: str
    difficulty: int
    tags: tuple[str, ...]
    options: tuple[str, ...] = ()
    program: str = ""
    """The workload whose program it is, under another name."""
    limits: dict[str, Any] = {}
    truth: Truth | None = None
    """Of a program under another name, which no entry tells."""


def options(name: str, values: Iterable[str]) -> tuple[str, ...]:
    """Repeat an option for each value."""
    return tuple(word for value in values for word in (name, value))


CONTROL = ("control",)
TRIED = ("fixed_layout", "python_hash_seed", "ld_bind_now", "pin_to_cpu", "sched_fifo")
"""What is tried where no counter tells what to try, and the most common ones: of a control they must be there too."""
PINNING = (
    "pin_to_cpu",
    "private_cpuset",
    "steer_interrupts_away",
    "steer_packets_away",
    "steer_workers_away",
    "watchdog_elsewhere",
)
"""Each keeps the program on one CPU, which cures cpu-hops."""
TOGETHER = "the same job takes twice as long now and then, and I have tried this and that"
PLANS: dict[str, Plan] = {
    "cpu-hops": Plan("some runs take twice as long although nothing else runs", TRAIN, 1, ("scheduling", "migrations")),
    "page-faults": Plan("run time depends on the day, and system time is high", HELD_OUT, 1, ("memory", "faults")),
    "malloc-churn": Plan("the same loop is fast or slow by chance", TRAIN, 1, ("memory", "allocator")),
    "malloc-sizes": Plan("some requests with large buffers are slow", HELD_OUT, 2, ("memory", "allocator")),
    "cold-cache": Plan(
        "about every third run takes much longer, with the same input file", HELD_OUT, 1, ("io", "page-cache")
    ),
    "contention": Plan("my benchmark is noisy on the server that we share", TRAIN, 1, ("scheduling", "neighbour")),
    "fork-storm": Plan(
        "about half of the runs take longer, whatever I change in the program", HELD_OUT, 2, ("scheduling", "neighbour")
    ),
    "layout": Plan("each start is fast or slow from its beginning to its end", TRAIN, 3, ("invisible", "layout")),
    "hash-seed": Plan(
        "my Python script varies by several per cent from start to start", HELD_OUT, 3, ("invisible", "python")
    ),
    "random-walk": Plan("a pointer chase is slower in some runs", HELD_OUT, 3, ("invisible", "layout")),
    "gc-pauses": Plan("some calls of my Python service take much longer", TRAIN, 3, ("invisible", "python")),
    "slow-server": Plan(
        "the client is slow now and then, and its CPU is idle then", TRAIN, 3, ("invisible", "waiting")
    ),
    "process-starts": Plan("a shell script is slow in some runs", TRAIN, 2, ("processes",)),
    "ping-pong": Plan(
        "two processes that talk through a pipe are slow in some runs", HELD_OUT, 2, ("scheduling", "wake-ups")
    ),
    "shootdowns": Plan(
        "my program has two threads and takes longer in some runs, with the same work", TRAIN, 2, ("memory", "threads")
    ),
    "lock-convoy": Plan("two threads are sometimes slower than one", HELD_OUT, 2, ("threads", "locks")),
    "oversubscribed": Plan("my OpenMP program does not scale and jitters", TRAIN, 2, ("threads", "openmp")),
    "faults-and-hops": Plan(TOGETHER, HELD_OUT, 2, ("two-causes", "memory", "scheduling")),
    "faults-and-contention": Plan(TOGETHER, TRAIN, 2, ("two-causes", "memory", "neighbour")),
    "cold-and-contended": Plan(TOGETHER, HELD_OUT, 2, ("two-causes", "io", "neighbour")),
    "cpu-quota": Plan("in the container some requests take 80 ms longer", TRAIN, 2, ("limits", "containers")),
    "memory-limit": Plan(
        "in the container the job takes far longer in some runs than in others",
        HELD_OUT,
        2,
        ("limits", "containers"),
    ),
    "sync-writes": Plan("commits to the log are slow now and then", TRAIN, 2, ("io", "writes")),
    "busy-disk": Plan("saving takes long now and then", HELD_OUT, 2, ("io", "neighbour")),
    "io-limit": Plan("reading is slow in bursts on the cloud disk", TRAIN, 2, ("limits", "io")),
    "realtime-hog": Plan(
        "my pinned program loses tens of milliseconds at times", HELD_OUT, 2, ("scheduling", "neighbour")
    ),
    "packet-flood": Plan(
        "a compute job takes longer at times, though its input is the same", TRAIN, 2, ("interrupts", "network")
    ),
    "short-sleeps": Plan("a job that should end on time ends late in some runs", HELD_OUT, 2, ("timers", "wake-ups")),
    "steady": Plan(
        "is there anything to gain here?",
        TRAIN,
        1,
        CONTROL,
        options("--mitigation", SHIELDS),
    ),
    "cpu-hops-steady": Plan("is this run time as steady as it can be?", HELD_OUT, 1, CONTROL),
    "noise": Plan("run time varies and I find no reason", HELD_OUT, 3, (*CONTROL, "many-counters")),
    "placebo": Plan(
        "which of these settings makes it steadier?",
        TRAIN,
        3,
        (*CONTROL, "placebo"),
        options("--placebo", TRIED),
        "noise",
        truth=Truth(
            verdicts=("cause not visible",),
            must_not_help=TRIED,
            control=True,
            why="An A/A comparison of the program of noise: under these names nothing was applied in "
            f"either half of a pair: {', '.join(TRIED)}.",
        ),
    ),
    "drift": Plan("it gets slower and slower", HELD_OUT, 3, (*CONTROL, "drift")),
    "tenant": Plan("it is slow for seconds, and fine again", TRAIN, 3, (*CONTROL, "neighbour")),
    "coarse-clock": Plan("the times that it prints jump by 10 ms", HELD_OUT, 3, (*CONTROL, "clock")),
    "warm-up": Plan("the first runs are slow", HELD_OUT, 2, (*CONTROL, "warm-up")),
    "too-few-runs": Plan(
        "each run takes an hour, I can afford eight",
        TRAIN,
        3,
        (*CONTROL, "few-runs"),
        (),
        "cpu-hops",
        {"max_runs": 8},
        Truth(
            verdicts=("unusable", "remedy undecided"),
            also_true=("cpu_migrations", "context_switches"),
            must_not_help=(*PINNING, "sched_fifo", "own_autogroup"),
            unproved=dict.fromkeys(PINNING, "It helps, as all recorded pairs show; the eight runs of the case cannot."),
            control=True,
            why="The program of cpu-hops in eight runs: so few can show neither its cause nor that its cure helps.",
        ),
    ),
}


def main() -> None:
    """Record what is not there, or all that is named anew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("keys", nargs="*", metavar="KEY", help="which (default all)")
    parser.add_argument("--force", action="store_true", help="record anew what is there; the words of case.yaml stay")
    arguments = parser.parse_args()
    for key in arguments.keys or PLANS:
        if arguments.force or not (CASES / key).exists():
            record(key, PLANS[key])


def record(key: str, plan: Plan) -> None:
    """Record one case, and write into a new one what a person says of it."""
    name, before = key.removesuffix("-steady"), (CASES / key).exists()
    twin = ("--steady",) if name != key else ()
    if before:
        refresh_truth(CASES / key, plan)
    words = ["vgo-agent", "eval", "record", name, *twin]
    if (CASES / f".{key}.recording").exists():
        words += ["--resume"]
    else:
        controls = options("--mitigation", TRIED) if "control" in plan.tags and key != "placebo" else ()
        words += [*SAME, *plan.options, *controls, *(["--force"] if before else [])]
        words += [*METRIC, "--", *subject_of(find(plan.program), steady=False).command] if plan.program else []
    print(f"== {' '.join(words)}", flush=True)
    subprocess.run(words, stdin=subprocess.DEVNULL, check=False)
    if (CASES / key).exists() and not before:
        say(CASES / key, plan)


def refresh_truth(folder: Path, plan: Plan) -> None:
    """Take the truth as it is known now, so that all that it names is recorded; its history stays."""
    old, file = read_truth(folder), read_model(folder / CASE, CaseFile)
    new = plan.truth or truth_of_workload(file.workload, file.steady)
    if not new.control:  # What earlier pairs proved besides; the new ones may doubt it.
        proved = (key for key in old.accepted if key not in (*new.accepted, *new.must_not_help))
        new = new.model_copy(update={"accepted": (*new.accepted, *proved)})
    unproved = {**old.unproved, **new.unproved}
    named = {key: why for key, why in unproved.items() if key in (*new.accepted, *new.must_not_help)}
    history = (*old.history, f"{date.today()}: taken anew from the entry of the workload, before it was recorded anew.")
    new = new.model_copy(update={"unproved": named, "history": history})
    (folder / TRUTH).write_text(truth_yaml(new))
    reseal(folder)


def say(folder: Path, plan: Plan) -> None:
    """Write question, split, tags, difficulty, limits, and a truth that no entry tells, into the case."""
    path = folder / CASE
    said = yaml.safe_load(path.read_text())
    said |= {"question": plan.question, "split": plan.split, "tags": list(plan.tags), "difficulty": plan.difficulty}
    said["limits"] |= plan.limits
    path.write_text(case_yaml(CaseFile.model_validate(said)))
    if plan.truth:
        (folder / TRUTH).write_text(truth_yaml(filled(plan.truth, read_case(folder))))
    reseal(folder)


if __name__ == "__main__":
    main()
