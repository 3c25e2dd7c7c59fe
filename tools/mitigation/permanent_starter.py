"""How a program is started, kept by what starts it: a job of Slurm, a runtime of OpenMP, a container, a shell.

Options were looked up in srun(1) and Slurm's page on core specialization (--core-spec), and in docker-run(1): Docker's
default seccomp profile lets personality(2) through for a few values only, ADDR_NO_RANDOMIZE not among them, and
set_mempolicy(2) with CAP_SYS_NICE.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from ...knowledge.actions import Apply, Gpu, Spawn
from ...knowledge.errors import VgoError
from .by_hand import added_variables, page_cache, shell_line, temporary, variables
from .kernel_settings import KernelSetting
from .permanent_draft import (
    NO_FAN,
    UNNAMED,
    FormatLines,
    PermanentTarget,
    group_limits,
    in_groups,
    key_of,
    resource_limits,
    settings,
)
from .permanent_system import ALTERNATIVES, FORGOTTEN, GOVERNOR, computed, computing, gpu_commands

_GOVERNORS = {"performance": "Performance", "powersave": "PowerSave", "ondemand": "OnDemand"}
_IN_MEMORY = 'sh -c \'cp -a "$0"/. . && exec "$@"\' DIRECTORY'
_NAMESPACED = ("net.", "kernel.msg", "kernel.sem", "kernel.shm", "fs.mqueue.")
_OF_OPENMP = ("OMP_", "GOMP_", "KMP_")
NOT_INHERITED = "Give --cpus-per-task on the srun line too: since Slurm 22.05 a step does not inherit it from the job."


def _before_others(spawn: Spawn) -> bool:
    """Tell whether it goes before other programs, which takes a right."""
    return spawn.policy in ("fifo", "rr") or (spawn.nice or 0) < 0


def slurm(target: PermanentTarget) -> FormatLines:
    """Write options of sbatch, and the step that starts the program."""
    apply, spawn = target.apply, target.apply.spawn
    team = _team(target)
    said = {
        "--cpus-per-task=1": spawn.affinity == "one_cpu",
        f"--cpus-per-task={team}": team > 0,
        "--hint=nomultithread": spawn.affinity == "one_per_core",
        f"--core-spec={spawn.reserved_cpus}": spawn.affinity == "all_but_reserved",
        **dict.fromkeys(_memory_of_job(apply), True),
    }
    options = [option for option, asked in said.items() if asked]
    before = list(_before_step(target))
    started = [*([f"--cpus-per-task={team}"] if team else []), *_of_step(apply), *target.launchers]
    if apply.clear_environment or apply.tmpfs_directory:
        started += variables(apply)
    if not (options or before or started):
        return FormatLines(why=_not_of_job(apply))
    lines = (*(f"#SBATCH {option}" for option in options), *before, " ".join(("srun", *started, target.command)))
    return FormatLines(lines, tuple(_notes_of_job(target)))


def _team(target: PermanentTarget) -> int:
    """Count the threads of an OpenMP runtime that it sets: as it says, or one on each CPU; 0 where it sets none."""
    given = {name: value for name, value in target.apply.environment.items() if name.startswith(_OF_OPENMP)}
    outermost = given.get("OMP_NUM_THREADS", "").partition(",")[0]
    return (int(outermost) if outermost.isdigit() else len(target.machine.cpus)) if given else 0


def _not_of_job(apply: Apply) -> str:
    if apply.write and len(in_groups(apply)) == len(apply.write):
        return (
            "Slurm makes the control group of a job from its CPUs (--cpus-per-task) and memory (--mem), and has no more"
        )
    if apply.write or apply.hold or apply.gpu != Gpu():
        return "a job cannot change it: it is for whoever runs the nodes"
    return "Slurm has no option for it"


def _memory_of_job(apply: Apply) -> Iterator[str]:
    """Ask for the memory that a limit is to allow; 0 is all of the node."""
    for file, number in group_limits(apply):
        if file == "memory.max":
            yield "--mem=0" if number is None else f"--mem={-(-int(number) // 1024)}K"


def _of_step(apply: Apply) -> Iterator[str]:
    if apply.spawn.affinity or apply.environment.get("OMP_PROC_BIND", "false") != "false":
        yield "--cpu-bind=cores"
    for write in apply.write:
        if GOVERNOR.fullmatch(write.path) and write.value in _GOVERNORS:
            yield f"--cpu-freq={_GOVERNORS[write.value]}"
    if limits := resource_limits(apply.spawn.limits):
        yield f"--propagate={','.join(limits).upper()}"


def _before_step(target: PermanentTarget) -> Iterator[str]:
    apply = target.apply
    if not (apply.clear_environment or apply.tmpfs_directory):
        yield from (f"export {name}={shlex.quote(value)}" for name, value in added_variables(apply).items())
    for name, limit in resource_limits(apply.spawn.limits).items():
        # In blocks of 1024 bytes, as the shell counts.
        yield f"ulimit -{'s' if name == 'stack' else 'l'} {limit if limit == 'unlimited' else int(limit) // 1024}"
    yield from temporary(apply, {})
    yield from page_cache(apply, target.subject)


def _notes_of_job(target: PermanentTarget) -> Iterator[str]:
    apply, spawn = target.apply, target.apply.spawn
    before = apply.tmpfs_directory or apply.prewarm_inputs or apply.evict_inputs or apply.sync_first
    team = _team(target)
    notes = {
        f"--cpus-per-task={team} is a CPU for each thread on this machine: ask for as many as your job has.": (
            team > 0 and "OMP_NUM_THREADS" not in apply.environment
        ),
        NOT_INHERITED: team > 0,
        "Slurm chooses the CPUs of a job: none is named here; binding needs its task/affinity or task/cgroup.": (
            spawn.affinity is not None
        ),
        "--core-spec takes whole nodes, and counts only where the site has set AllowSpecResourcesUsage.": (
            spawn.affinity == "all_but_reserved"
        ),
        "--cpu-freq is a request: Slurm goes on without it where the node or the site does not allow it.": any(
            GOVERNOR.fullmatch(write.path) for write in apply.write
        ),
        "Real-time policies and negative nice values need a limit (rtprio, nice) that the site gives.": (
            spawn.policy == "deadline" or _before_others(spawn)
        ),
        "Not for MPI programs: they need the variables that srun sets.": apply.clear_environment,
        "--mem=0 asks for all the memory of each node; the site may bound it.": "--mem=0" in _memory_of_job(apply),
        "For jobs of one node: what comes before srun is done on the first only.": before,
        UNNAMED: target.lacks_inputs,
    }
    yield from (note for note, holds in notes.items() if holds)


def openmp(target: PermanentTarget) -> FormatLines:
    """Write variables that an OpenMP runtime reads."""
    affinity = target.apply.spawn.affinity
    given = {name: value for name, value in target.apply.environment.items() if name.startswith(_OF_OPENMP)}
    if affinity == "one_per_core":
        given |= {"OMP_PLACES": "cores", "OMP_PROC_BIND": "close"}
    if affinity == "all_but_reserved":
        chosen = target.cpus.split(",")
        places = ",".join(f"{{{cpu}}}" for cpu in chosen)
        given |= {"OMP_NUM_THREADS": str(len(chosen)), "OMP_PLACES": places, "OMP_PROC_BIND": "close"}
    lines = tuple(f"export {name}={shlex.quote(value)}" for name, value in given.items())
    notes = tuple(target.of_this_machine()) if affinity == "all_but_reserved" else ()
    return FormatLines(lines, notes, "" if lines else "it sets nothing that an OpenMP runtime reads")


def docker(target: PermanentTarget) -> FormatLines:
    """Write lines of a Dockerfile, and the options of docker run, which an image cannot carry."""
    apply = target.apply
    image = [f"ENV {name}={shlex.quote(value)}" for name, value in added_variables(apply).items()]
    options = [*_of_docker(target)]
    started = [*target.launchers, *([_IN_MEMORY] if apply.tmpfs_directory else [])]
    if not (image or options or started):
        return FormatLines(why=_not_of_docker(apply))
    lines = list(image)
    if options or started:
        lines.append(" ".join(("docker run", *options, "IMAGE", *started, target.command)))
    if image and len(lines) > len(image):
        lines[: len(image)] = ["# In the Dockerfile:", *image, "# At the start:"]
    return FormatLines(tuple(lines), tuple(_notes_of_docker(target, [word.split()[0] for word in target.launchers])))


def _not_of_docker(apply: Apply) -> str:
    if apply.gpu.fan_percent is not None:
        return NO_FAN
    reads = apply.prewarm_inputs or apply.evict_inputs or apply.sync_first
    reasons = {
        "a container shares the settings of the GPU: set them on the host (formats systemd, shell)": apply.gpu != Gpu(),
        "a container reads through the page cache of its host: do it there, before docker run (format shell)": reads,
        "a container gets the variables of its image and none of the user's: give none with --env": (
            apply.clear_environment
        ),
        "a container shares the kernel: set it on the host": apply.hold or len(in_groups(apply)) < len(apply.write),
    }
    return next((reason for reason, holds in reasons.items() if holds), "docker run has no option for it")


def _notes_of_docker(target: PermanentTarget, programs: list[str]) -> Iterator[str]:
    yield from target.of_this_machine()
    if any(option.endswith("=0") for option in _group_of_docker(target.apply) if "swappiness" not in option):
        yield "0 is no limit, as for a container that is started without the option; `docker update` sets it too."
    if target.apply.tmpfs_directory:
        yield "Put the directory in the image that the program works in, in the place of DIRECTORY."
    if programs:
        yield f"The image needs {', '.join(programs[:1] if target.apply.wrap else programs)}."


def _of_docker(target: PermanentTarget) -> Iterator[str]:
    apply, spawn = target.apply, target.apply.spawn
    may_rank = _before_others(spawn) or spawn.io_class == "realtime" or apply.wrap[:1] == ("numactl",)
    limits = {name: value.replace("unlimited", "-1") for name, value in resource_limits(spawn.limits).items()}
    said = {
        f"--cpuset-cpus={target.cpus}": target.cpus,
        "--cap-add=SYS_NICE": may_rank,
        "--security-opt seccomp=unconfined": spawn.fixed_layout,
        **{f"--ulimit {name}={limit}": limit for name, limit in limits.items()},
        "--tmpfs /work:exec --workdir /work --env TMPDIR=/work": apply.tmpfs_directory,
        **dict.fromkeys(_group_of_docker(apply), True),
    }
    yield from (option for option, asked in said.items() if asked)
    for one in settings(target)[0]:
        if key_of(one).startswith(_NAMESPACED):
            yield f"--sysctl {shlex.quote(f'{key_of(one)}={one.value}')}"


def _group_of_docker(apply: Apply) -> Iterator[str]:
    """Give the limits of a container; 0 is none, and its default."""
    for file, number in group_limits(apply):
        if file == "cpu.weight":
            yield f"--cpu-shares={max(2, int(number or 0) * 1024 // 100)}"
        elif file == "cpu.max":
            yield f"--cpus={number or 0:g}"
        elif file in ("memory.max", "memory.swappiness"):
            yield f"--{file.replace('.max', '').replace('.', '-')}={number or 0}"


def shell(target: PermanentTarget) -> FormatLines:
    """Write the line that a person types."""
    apply = target.apply
    shares = computed(apply)
    plain = apply.model_copy(update={"write": tuple(write for write in apply.write if write not in shares)})
    others = target._replace(mitigation=target.mitigation.model_copy(update={"apply": plain}))
    found, missing = settings(others)
    if missing:
        return FormatLines(why="; ".join(missing))
    notes = tuple(_notes_of_shell(target))
    try:
        line = shell_line(plain, target.subject, target.machine)
    except VgoError as error:
        return FormatLines(why=str(error).rstrip("."))
    before = [*gpu_commands(apply.gpu), *computing(apply), *(map(_written, found) if line == target.command else [])]
    if line == target.command and not before:
        return FormatLines(why=NO_FAN if apply.gpu.fan_percent is not None else "a shell has no command for it")
    return FormatLines((*before, line), notes)


def _written(one: KernelSetting) -> str:
    """Write it wherever it is, for a file that this machine lacks."""
    return f'for knob in {one.path}; do [ ! -w "$knob" ] || echo {shlex.quote(one.value)} > "$knob"; done'


def _notes_of_shell(target: PermanentTarget) -> Iterator[str]:
    apply = target.apply
    yield from target.of_this_machine()
    if in_groups(apply):
        yield "The control group is that of this shell: a program elsewhere has its own, in /proc/PID/cgroup."
    elif computed(apply):
        yield "As root; what is written stays until the next boot: run it again then."
    elif apply.write:
        yield "What is written stays until the next boot: run it again then."
    if any(write.optional for write in apply.write):
        yield ALTERNATIVES
    if apply.gpu != Gpu():
        yield "As root, and again after each boot." if apply.gpu.persistence else f"As root. {FORGOTTEN}"
    if target.lacks_inputs:
        yield UNNAMED
