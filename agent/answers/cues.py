"""By what words a question is told to be of a kind, and which entries words of every day stand for.

Each cue counts, and the kind with the greatest sum is taken, of equal sums the one that stands first here. A cue of
several words stands in the question as it is written here. A question whose best sum is below LEAST is looked up in
what is known instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

Intent = Literal[
    "why",
    "where",
    "suspect",
    "tried",
    "effect",
    "do",
    "sure",
    "reproduce",
    "put back",
    "what is",
    "not measured",
    "next",
    "cost",
    "who",
    "machine",
    "spread",
    "classes",
    "runs",
    "failing",
    "term",
    "summary",
    "search",
    "nothing",
]
Context = Literal["cluster", "container", "without root", "keep"]
LEAST = 3
_CUES: Mapping[Intent, Mapping[int, str]] = {
    "why": {
        1: "slow, slower, slowest, vary, varies, varying, differ, differs, fluctuate, fluctuates, noisy, jitter, "
        "unstable, unsteady, inconsistent, spread, variation, variance, variability, outliers, tail, "
        "sometimes, runs, run, program, time, times",
        2: "why, goes with, go with, caused, where does, come from, comes from, factor, factors",
        3: "why are the slow, cause, causes, causing, "
        "reason, reasons, responsible, to blame, bottleneck, what makes, is it",
        4: "culprit, goes with the slow, go with the slow, different in the slow, different about the slow, separates, "
        "what is wrong, whats wrong, could it be, because of, due to",
    },
    "where": {
        3: "milliseconds, ms",
        4: "time go, time went, time goes, time lost, time spent, spend time, spend their time, spend its time, "
        "spending time, waiting for, wait for, waits for, blocked on",
        6: "where did the time, where does the time, where is the time, where the time, where did the milliseconds, "
        "where do the milliseconds, which state, which states",
    },
    "tried": {
        2: "you try",
        3: "tried, tested, experiments, which mitigations, not tried, not try",
        4: "did you try, have you tried, did you test, attempted, attempts, what was done, what helped, what worked",
        5: "what did you do, what have you done, how much faster, how much steadier, how much better",
    },
    "effect": {
        1: "could, did, work, use, using, instead, enable, disable, turn off, turn on, turning off, turning on, "
        "turned off, turned on, switch",
        2: "helping, worked, effect, improve, make it, makes it, made it",
        3: "would, might, should i, help, helps, helped, what about, how about, improved",
        4: "what if, should i use, should i try, worth, make a difference, makes a difference",
    },
    "do": {
        2: "reboot, cluster, container, docker, kubernetes, not root, production, deploy",
        3: "what should i, what should we, fix, solve, suggest, how do i make, how can i make, permanent, "
        "permanently, slurm, without root, no root",
        4: "should i do, should we do, recommend, recommendation, recommendations, advice, advise, get rid, "
        "how do i keep, make it permanent, make this permanent",
        5: "what can i do, what can we do, what do i do, how do i fix, how can i fix, should i change, "
        "should we change, can i change, what to change",
    },
    "sure": {
        1: "really",
        2: "random",
        3: "chance, prove, proved, proven, reliable, correlation, causation",
        4: "sure, certain, certainty, confident, confidence, trust, believe, luck, coincidence, significant, "
        "significance, proof, evidence, p value, is it noise, just noise, only noise",
        5: "false alarm, how do you know",
    },
    "reproduce": {
        2: "myself",
        3: "command line, which command, what command",
        4: "repeat, verify, rerun, run it again",
        5: "reproduce, reproducible, replay, check this myself",
    },
    "put back": {
        1: "settings, my machine, my system",
        2: "put, back",
        4: "did you change, have you changed, changed on, still changed, left behind, leave anything, as it was, "
        "as before, clean up, cleaned up",
        5: "put back, put it back, put it all back, undo, undone, revert, reverted, restore, restored, as you found",
        6: "put everything back",
    },
    "what is": {
        2: "what does, mean, means",
        3: "what is, what are, whats, meaning, explain, tell me more",
        4: "define, definition, tell me about, describe",
    },
    "not measured": {
        1: "counters",
        4: "could you not, missing, blind, hidden, hide, hides, limitations",
        5: "did you measure, have you measured, not see, cannot see, not look, not looked, not available, "
        "unavailable, absent, did you miss, overlooked",
        6: "not measured, not measure, unmeasured, not be measured",
    },
    "next": {
        3: "go on, further",
        4: "next, what else, what remains",
        5: "what now, now what, go from here, left to try",
    },
    "cost": {
        2: "the mean",
        3: "hurt, hurts, on average",
        4: "cost, costs, price, overhead, risk, risks, risky, harm, dangerous, danger, safe",
        5: "downside, downsides, drawback, drawbacks, side effects, trade off, tradeoff",
    },
    "who": {
        5: "who decided, who decides, who chose, which planner, what planner, which model, what model, "
        "are you a model, are you an ai"
    },
    "machine": {
        3: "with root, with sudo, using sudo",
        4: "as root, need root, needs root, were you root, root rights, root privileges, as superuser, "
        "which machine, what machine, which kernel, what kernel, which cpu, what cpu, how many cores, how many cpus",
    },
    "spread": {
        1: "vary, varies, variation",
        2: "how much, spread, numbers",
        3: "how large, how big, how wide",
        4: "cv, percentile, baseline, how steady",
        5: "standard deviation, coefficient of variation, what is the spread",
    },
    "classes": {
        1: "slow runs, slow ones, slow half, slow class, fast runs, fast ones, fast half, cut",
        4: "how slow, half slower, where is the cut, where was the cut, where did you cut, slow fraction, "
        "fraction of, share of, percentage of, slow or fast, slow and fast, slow from fast, fast from slow",
        5: "runs are slow, runs were slow, runs are fast, runs were fast, is the slow half, are the slow runs, "
        "are the slow ones, are the slower runs, was the slow half, were the slow runs",
        6: "how much slower",
    },
    "runs": {
        2: "altogether, in total, in all",
        4: "how many runs, how many times, how often, number of runs, total runs, total number, how many samples, "
        "how many measurements, how many executions",
    },
    "failing": {6: "fail, fails, failed, failing, failure, failures, crash, crashes, crashed, crashing"},
    "summary": {
        2: "found",
        3: "find out, result, results",
        4: "briefly, did you find, verdict, conclusion, overview, explain this",
        5: "summary, summarise, summarize, tldr, tl dr, in short, what happened, explain the result",
        6: "what did you find",
    },
}
CUES: Mapping[Intent, Mapping[str, int]] = {
    intent: {cue: worth for worth, cues in by_worth.items() for cue in cues.split(", ")}
    for intent, by_worth in _CUES.items()
}
"""Cue to what it is worth, by kind of question."""
_CONTEXTS: Mapping[Context, str] = {
    "cluster": "cluster, slurm, sbatch, srun, mpi, mpirun, hpc, nodes, supercomputer, batch system",
    "container": "container, containers, docker, podman, kubernetes, pod",
    "without root": "without root, no root, not root, unprivileged, without sudo, no sudo, without privileges",
    "keep": "permanent, permanently, keep, reboot, persistent, persist, for good, production, at boot",
}
CONTEXTS: Mapping[Context, Sequence[str]] = {context: cues.split(", ") for context, cues in _CONTEXTS.items()}
"""Where the user wants to do it, or how."""
BACK = frozenset({"it", "that", "this", "them", "those", "one"})
"""Words that may stand for what the question before was about."""
_SUSPECTING = (
    "is it, was it, could it be, the bottleneck, the reason, the problem, matter, matters, because of, due to, "
    "caused by, the cause, responsible, to blame, culprit"
)
SUSPECTING = _SUSPECTING.split(", ")
"""A factor that is named with one of these is asked about as the cause."""
FOR_HELP = frozenset({"help", "menu", "commands", "options", "questions", "please", "me", "h"})
"""A question of these words alone asks what can be asked."""


_STOOD_FOR: Mapping[str, str] = {
    "pinned memory, pinned host": "mitigation:pinned_host_memory",
    "pinning, pinned, pin, taskset, cpu affinity": "mitigation:pin_to_cpu",
    "huge pages, hugepages": "mitigation:glibc_hugetlb, mitigation:thp_always, mitigation:mthp_64k",
    "thp": "mitigation:thp_always, mitigation:thp_never, mitigation:thp_disable",
    "smt, hyperthreading, hyper threading": "mitigation:disable_smt, factor:smt_sharing",
    "turbo": "mitigation:turbo_off, factor:cpu_frequency",
    "aslr": "mitigation:randomisation_off, factor:memory_layout",
    "gpu, gpus, graphics card": "factor:gpu_contention, factor:gpu_clocks, factor:gpu_throttling",
    "disk, disks, ssd, hard drive": "factor:disk_queue, factor:io_wait",
    "network": "factor:network_loss, factor:network_queues",
}
ALIASES: Mapping[str, Sequence[str]] = {
    alias: entries.split(", ") for aliases, entries in _STOOD_FOR.items() for alias in aliases.split(", ")
}


def stood_for(plain: str) -> tuple[tuple[str, ...], str]:
    """Give the entries that words of a question stand for, and the words that are left; the longest alias first."""
    found: list[str] = []
    for alias in sorted(ALIASES, key=len, reverse=True):
        if f" {alias} " in plain:
            plain = plain.replace(f" {alias} ", " ; ")
            found += ALIASES[alias]
    return tuple(dict.fromkeys(found)), plain
