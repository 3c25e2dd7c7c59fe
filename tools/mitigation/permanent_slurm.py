"""How a program is started, kept as a job of Slurm.

Options were looked up in srun(1) (--hint, --cpu-bind, --cpu-freq, --propagate, --cpus-per-task) and in Slurm's page on
core specialization (--core-spec).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from ...knowledge.actions import Apply, Gpu, Spawn
from ..subject import Subject
from .by_hand import IO_CLASSES, THP_OFF, added_variables, page_cache, policy_line, temporary, variables
from .permanent_draft import UNNAMED, FormatLines, PermanentTarget, in_groups
from .permanent_system import GOVERNOR

NO_JOB = "Slurm has no option for it"
OF_THE_NODES = "a job cannot change it: it is for whoever runs the nodes"
BINDING = "Slurm chooses the CPUs of a job: none is named here; binding needs its task/affinity or task/cgroup."
CORE_SPEC = "--core-spec takes whole nodes, and counts only where the site has set AllowSpecResourcesUsage."
FREQUENCY = "--cpu-freq is a request: Slurm goes on without it where the node or the site does not allow it."
LIMITS = "Real-time policies and negative nice values need a limit (rtprio, nice) that the site gives."
VARIABLES = "Not for MPI programs: they need the variables that srun sets."
OF_THE_STEP = (
    "Slurm makes the control group of a job from its CPUs (--cpus-per-task) and memory (--mem), and has no more"
)
WHOLE_MEMORY = "--mem=0 asks for all the memory of each node; the site may bound it."
ONE_NODE = "For jobs of one node: what comes before srun is done on the first only."
_POLICIES = ("fifo", "rr", "batch", "idle")
_GOVERNORS = {"performance": "Performance", "powersave": "PowerSave", "ondemand": "OnDemand"}


def slurm(apply: Apply, target: PermanentTarget) -> FormatLines:
    """Write options of sbatch, and the step that starts the program."""
    options = [*_of_job(apply.spawn), *dict.fromkeys(_memory(apply))]
    before = list(_before(apply, target))
    started = [*_of_step(apply), *launchers(apply)]
    if apply.clear_environment or apply.tmpfs_directory:
        started += variables(apply)
    if not (options or before or started):
        return FormatLines(why=_not_of_job(apply))
    lines = (*(f"#SBATCH {option}" for option in options), *before, " ".join(("srun", *started, target.command)))
    return FormatLines(lines, tuple(_notes(apply, target)))


def _of_job(spawn: Spawn) -> Iterator[str]:
    if spawn.affinity == "one_cpu":
        yield "--cpus-per-task=1"
    if spawn.affinity == "one_per_core":
        yield "--hint=nomultithread"
    if spawn.affinity == "all_but_reserved":
        yield f"--core-spec={spawn.reserved_cpus}"


def _not_of_job(apply: Apply) -> str:
    if apply.write and len(in_groups(apply)) == len(apply.write):
        return OF_THE_STEP
    return OF_THE_NODES if apply.write or apply.hold or apply.gpu != Gpu() else NO_JOB


def _memory(apply: Apply) -> Iterator[str]:
    """Ask for the memory that a limit is to allow; 0 is all of the node."""
    for write in in_groups(apply):
        if write.path.endswith(("/memory.max", "/memory.limit_in_bytes")):
            yield f"--mem={-(-int(write.value) // 1024)}K" if write.value.isdigit() else "--mem=0"


def _of_step(apply: Apply) -> Iterator[str]:
    spawn = apply.spawn
    if spawn.affinity:
        yield "--cpu-bind=cores"
    for write in apply.write:
        if GOVERNOR.fullmatch(write.path) and write.value in _GOVERNORS:
            yield f"--cpu-freq={_GOVERNORS[write.value]}"
    if limits := [name.upper() for name in ("stack", "memlock") if getattr(spawn.limits, name)]:
        yield f"--propagate={','.join(limits)}"


def _before(apply: Apply, target: PermanentTarget) -> Iterator[str]:
    if not (apply.clear_environment or apply.tmpfs_directory):
        yield from (f"export {name}={shlex.quote(value)}" for name, value in added_variables(apply).items())
    for letter, limit in (("s", apply.spawn.limits.stack), ("l", apply.spawn.limits.memlock)):
        if limit:  # in blocks of 1024 bytes, as the shell counts
            yield f"ulimit -{letter} {limit if limit == 'unlimited' else int(limit) // 1024}"
    yield from temporary(apply, {})
    subject = Subject(command=target.program, argv=target.program, directory=".", inputs=target.inputs)
    yield from page_cache(apply, subject)


def launchers(apply: Apply) -> list[str]:
    """Put small programs before the command, where a starter has no option of its own."""
    spawn = apply.spawn
    found = [f"nice -n {spawn.nice}"] if spawn.nice is not None else []
    if spawn.io_class:
        found.append(f"ionice -c {IO_CLASSES[spawn.io_class]}")
    if spawn.policy in _POLICIES:
        found.append(policy_line(spawn))
    if spawn.fixed_layout:
        found.append("setarch -R")
    if spawn.thp_disable:
        found.append(f"python3 -c {shlex.quote(THP_OFF)}")
    return [*found, *map(shlex.quote, apply.wrap)]


def _notes(apply: Apply, target: PermanentTarget) -> Iterator[str]:
    spawn = apply.spawn
    notes = {
        BINDING: spawn.affinity is not None,
        CORE_SPEC: spawn.affinity == "all_but_reserved",
        FREQUENCY: any(GOVERNOR.fullmatch(write.path) for write in apply.write),
        LIMITS: spawn.policy in ("fifo", "rr", "deadline") or (spawn.nice or 0) < 0,
        VARIABLES: apply.clear_environment,
        WHOLE_MEMORY: "--mem=0" in _memory(apply),
        ONE_NODE: apply.tmpfs_directory or apply.prewarm_inputs or apply.evict_inputs or apply.sync_first,
        UNNAMED: target.lacks_inputs(apply),
    }
    yield from (note for note, holds in notes.items() if holds)
