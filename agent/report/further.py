"""What may follow a diagnosis: the next steps, and the sweep that is the right one."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...tools.claim import Claim, in_a_word, interval, runs_needed
from ...tools.machine import Machine
from ...tools.mitigation.parameters import levels_of
from ...tools.results import PredictResult
from ...tools.subject import Subject
from ...tools.surface.cells import FEWEST_CELLS
from ...tools.sweep.space import RESERVED, named_after
from ...tools.verdict import Diagnosis, NotSought, NotVisible, Undecided, Verdict, helpful, left_for_time, undecided
from ...tools.verdict_words import Openings, listed, next_steps
from ..again import again
from ..record import bodies
from ..transcript import RunStart
from .evidence import Evidence
from .mitigations import suspects, untried
from .numbers import number, quantity
from .tables import absent

MOST_OPTIONS, MOST_KNOB_LEVELS = 2, 4
NO_CHOICE = {"seed", "port", "id", "pid", "version", "timeout", "verbose", "v", "rank", "gpu", "device", "uid"}
"""Options whose numbers are names, or say how a run is made."""
_OPTION = re.compile(r"--?([A-Za-z][A-Za-z0-9_-]*)(?:=(.+))?")
_NUMBER = re.compile(r"\d{1,15}(\.\d+)?", re.ASCII)


class Option(NamedTuple):
    """A number that an option of the program gives it."""

    name: str
    word: int
    """Its place in the command."""
    before: str
    """What stands before the number in that word."""
    number: str


class Proposal(NamedTuple):
    """Two command lines."""

    sweep: str
    surface: str
    cells: int


def proposed(evidence: Evidence) -> Proposal | None:
    """Propose a sweep where it is worth its time; None where the diagnosis ended well, or early, or nothing varies."""
    subject, machine = evidence.run.subject, evidence.run.machine
    if not _unexplained(evidence.verdict) or evidence.predicted or machine.program_openmp:
        return None
    out = evidence.run.run_dir.rstrip("/").rpartition("/")[0] or "."
    return proposal(subject, machine, tuple(_knobs(evidence)), evidence.run.limits.allow, out)


def _unexplained(verdict: Verdict) -> bool:
    """The search came to its end, and neither a counter nor a mitigation says how to make the runs alike."""
    if not isinstance(verdict, Diagnosis) or isinstance(verdict.cause, NotSought) or helpful(verdict):
        return False
    left = undecided(verdict)
    early = left is not None and left.ended_by == "planner"
    return not early and (isinstance(verdict.cause, NotVisible) or not (left and left.undecided))


def _knobs(evidence: Evidence) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give the parameters of mitigations that were looked up and could be applied, with levels to try."""
    allow = evidence.run.limits.allow
    for key, candidate in evidence.candidates.items():
        known = evidence.run.knowledge.mitigations.get(key)
        allowed = allow == "system" or candidate.scope == allow == "process"
        if known is None or not candidate.automatic or candidate.unmet or not allowed:
            continue
        for parameter in known.parameters:
            levels = levels_of(parameter, evidence.run.machine)
            if len(levels) > 1 and not any("," in level for level in levels):
                yield f"{key}.{parameter.name}", levels[:MOST_KNOB_LEVELS]


def proposal(
    subject: Subject, machine: Machine, knobs: Sequence[tuple[str, tuple[str, ...]]], allow: str, out: str
) -> Proposal | None:
    """Put a space together: numbers of the command, then a knob, then the CPUs; None with too few cells for a surface.

    `knobs`: parameters of mitigations, MITIGATION.PARAMETER, with their levels; `out`: the folder of run folders.
    """
    if subject.per_iteration is not None or subject.on or subject.root != "/":
        return None
    found = () if subject.shell else tuple(options_of(subject.command))[:MOST_OPTIONS]
    others = dict(knobs[:1])
    if len(machine.cpus) > 1 and len(found) + len(others) < 2 and "affinity" not in (one.name for one in found):
        others["affinity"] = (str(machine.cpus[0]), "+".join(map(str, machine.cpus)))
    steps = 3 if len(found) > 1 or (found and knobs) else 5 if others else 9
    space = {option.name: levels_around(option.number, steps) for option in found} | others
    cells = math.prod(map(len, space.values())) if space else 0
    if cells < FEWEST_CELLS:
        return None
    word = " ".join(f"{name}={','.join(levels)}" for name, levels in space.items())
    command = list(subject.command)
    for option in found:
        command[option.word] = f"{option.before}{{{option.name}}}"
    folder = shlex.quote(f"{out}/sweep-{named_after(word)}")
    own = (*(("--allow", allow) if allow == "system" else ()), *(("--out", out) if out != "vgo-runs" else ()))
    return Proposal(
        sweep=again("sweep", (word, *own), subject.model_copy(update={"command": tuple(command)})),
        surface=f"vgo-agent surface best {folder} {_goal(bool(found), subject.lower_is_better)}",
        cells=cells,
    )


def _goal(other_work: bool, lower_is_better: bool) -> str:
    """What is to be small: the CV where settings change how much there is to do, else the SD at a good mean."""
    if other_work:
        return "--response cv"
    return f"--minimise sd --subject-to '{'mean<=1.05*best' if lower_is_better else 'mean>=0.95*best'}'"


def options_of(command: Sequence[str]) -> Iterator[Option]:
    """Find the options of a command that take a number, as `--size=10` or `--size 10`."""
    seen: set[str] = set()
    for place, word in enumerate(command[1:], 1):
        option = _OPTION.fullmatch(word)
        if not option:
            continue
        after = command[place + 1] if place + 1 < len(command) else ""
        told, where, before = (option[2], place, word[: option.start(2)]) if option[2] else (after, place + 1, "")
        name = option[1].lower().replace("-", "_")[:32]
        if not _NUMBER.fullmatch(told) or float(told) == 0 or name in NO_CHOICE or name in seen:
            continue
        seen.add(name)
        yield Option(f"{name}_option" if name in RESERVED else name, where, before, told)


def levels_around(number: str, steps: int) -> tuple[str, ...]:
    """Give levels from a quarter (of few steps half) of a number to as many times it, by equal factors."""
    reach = 1.0 if steps < 5 else 2.0
    powers = [reach * (2 * step / (steps - 1) - 1) for step in range(steps)]
    values = [float(number) * 2**power for power in powers]
    if "." not in number:
        return tuple(dict.fromkeys(str(max(1, round(value))) for value in values))
    return tuple(dict.fromkeys(f"{value:.4g}" for value in values))


IN_UNIT = ("sd", "mean", "median", "p95", "p99")
"""Responses of a surface that have the unit of the outcome."""


def resume_command(evidence: Evidence) -> str:
    """Give a run as much time again as it had, or as much as what is left may take."""
    run = evidence.run
    asked_s = bodies(run.events, RunStart)[0].limits.budget_s if run.events else run.limits.budget_s
    longest_s = max((call.took_s for call in evidence.called("apply_mitigation")), default=0.0)
    left = left_for_time(evidence.verdict)
    more_s = max(asked_s, 10 * math.ceil(len(left) * longest_s / 10))
    return f"vgo-agent resume {shlex.quote(run.run_dir)} --budget {more_s:g}"


def steps(evidence: Evidence) -> tuple[str, ...]:
    """Say what a user can do next, the most useful first: other experiments, then what the verdict leaves open."""
    return (*_experiments(evidence), *next_steps(evidence.verdict, _openings(evidence)))


def _experiments(evidence: Evidence) -> Iterator[str]:
    """Going on, and what a drained host, a surface that was asked, a study of threads or a sweep would tell."""
    run, verdict, hosts = evidence.run, evidence.verdict, evidence.hosts
    if left := left_for_time(verdict):
        yield f"Too little of the budget was left for {listed(left)}: `{resume_command(evidence)}` goes on from there."
    if hosts and hosts.drain:
        slow = ",".join(one.host for one in hosts.slow)
        yield (
            f"{' '.join(hosts.drain)} Leave {slow} out of the cluster (with Slurm: `scontrol update NodeName={slow} "
            "State=DRAIN Reason=slow`), look after what stands out there, and diagnose again."
        )
    if evidence.predicted:
        yield _predicted(evidence.predicted)
    if _unsolved(verdict) and run.machine.program_openmp and len(run.machine.cpus) > 1:
        yield (
            f"It is an OpenMP program: `{again('sweep', ('openmp',), run.subject)}` tries numbers of threads, binding "
            "and waiting in mixed order, and says what varies less and what it costs."
        )
    if sweep := proposed(evidence):
        yield (
            "The spread may depend on how the program is set, and you may be free to choose: "
            f"`{sweep.sweep}` runs {sweep.cells} settings in mixed order, each until its spread is known; then "
            f"`{sweep.surface}` names the steadiest."
        )


def _predicted(one: PredictResult) -> str:
    unit = one.unit if one.response in IN_UNIT else ""
    within = f" (90 % within {number(one.low, 3)} to {number(one.high, 3)})" if one.high is not None else ""
    settings = ", ".join(f"{name}={value}" for name, value in one.config.items())
    far = f", and {one.extrapolated}" if one.extrapolated else ""
    return (
        f"The surface of {shlex.quote(one.source)} ({one.cells} cells) expects its lowest {one.response}, "
        f"{quantity(one.value, unit)}{within}, at {settings}; {one.near} other configurations may be as good{far}. "
        "It is predicted, not measured now: run the program so and compare."
    )


def _openings(evidence: Evidence) -> Openings:
    """What the record leaves to do."""
    candidates = [one.candidate for one in untried(evidence)]
    allow, asks = evidence.run.limits.allow, not evidence.run.record.no_system
    ready = [one for one in candidates if one.automatic and not one.unmet]
    return Openings(
        ready=tuple(one.mitigation for one in ready if one.scope == "process" or allow == "system"),
        system=tuple(one.mitigation for one in ready if one.scope != "process" and allow != "system" and asks),
        process=allow == "none" and any(one.scope == "process" for one in ready),
        by_hand=tuple(one.mitigation for one in candidates if not one.automatic),
        suspects=bool(suspects(evidence)),
        absent=len(absent(evidence.run)),
        pairs_needed=_pairs_needed(evidence.verdict),
        best=_best(evidence),
    )


def _best(evidence: Evidence) -> str:
    """Say which of what was tried left the least spread, if any left less by an amount that may matter."""
    batch = evidence.telling
    claim = batch.claim if batch else None
    if batch is None or not isinstance(claim, Claim):
        return ""
    name, left = batch.applied.mitigation, f"{interval(claim)} of the baseline's"
    if claim.fell:
        return f"Of what was tried, {name} left the least spread, {left}; that is not proved."
    return (
        f"Nothing that was tried left less spread by an amount that matters; the nearest, {name}, left {left} "
        f"({in_a_word(claim)})."
    )


def _pairs_needed(verdict: Verdict) -> int:
    """Estimate how many pairs would decide the first trial that is undecided; 0 where that is unknown."""
    left = undecided(verdict)
    claim = left.undecided[0].claim if left and left.undecided else None
    needed = runs_needed(claim) if isinstance(claim, Claim) else None
    return needed if needed and isinstance(claim, Claim) and needed > min(claim.units) * claim.runs else 0


def _unsolved(verdict: Verdict) -> bool:
    """Nothing helps yet, and more than one mitigation was in question."""
    if not isinstance(verdict, Diagnosis) or helpful(verdict):
        return False
    return isinstance(verdict.remedy, Undecided) or not isinstance(verdict.cause, NotSought)
