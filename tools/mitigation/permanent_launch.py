"""How a program is started, kept by what starts it: Slurm, an OpenMP runtime, a container, a shell.

Options were looked up in srun(1) and docker-run(1).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from ...knowledge.actions import Apply, Spawn
from ...knowledge.errors import VgoError
from ..subject import Subject
from .by_hand import IO_CLASSES, added_variables, shell_line
from .permanent_draft import Draft, Target, cpus, of_this_machine, settings
from .permanent_system import GOVERNOR

ALL_CONTAINERS = "a container shares the kernel: set it on the host (formats sysctl, tmpfiles, tuned)"
NO_JOB = "Slurm has no option for it"
_NAMESPACED = ("net.", "kernel.msg", "kernel.sem", "kernel.shm", "fs.mqueue.")
_OF_OPENMP = ("OMP_", "GOMP_", "KMP_")
_POLICIES = ("fifo", "rr", "batch", "idle")
_GOVERNORS = {"performance": "Performance", "powersave": "PowerSave", "ondemand": "OnDemand"}


def slurm(apply: Apply, target: Target) -> Draft:
    """Write options of sbatch, and the step that starts the program."""
    spawn = apply.spawn
    options = list(_of_slurm(apply))
    before = [f"export {name}={shlex.quote(value)}" for name, value in added_variables(apply).items()]
    before += [f"ulimit -{letter} {value}" for letter, value in _ulimits(spawn)]
    launchers = _launchers(apply)
    if not (options or before or launchers):
        return Draft(why="a job cannot change it: it is for whoever runs the nodes" if apply.write else NO_JOB)
    lines = [*(f"#SBATCH {option}" for option in options), *before]
    lines.append(" ".join(("srun", *_steps(spawn), *launchers, target.command)))
    notes = ["Slurm chooses the CPUs of a job: none is named here."] if spawn.affinity else []
    if spawn.policy in ("fifo", "rr", "deadline") or (spawn.nice or 0) < 0:
        notes.append("Real-time policies and negative nice values need a limit (rtprio, nice) that the site gives.")
    return Draft(tuple(lines), tuple(notes))


def _of_slurm(apply: Apply) -> Iterator[str]:
    spawn = apply.spawn
    if spawn.affinity == "one_cpu":
        yield "--cpus-per-task=1"
    if spawn.affinity == "one_per_core":
        yield "--hint=nomultithread"
    if spawn.affinity == "all_but_reserved":
        yield f"--core-spec={spawn.reserved_cpus}"
    for write in apply.write:
        if GOVERNOR.fullmatch(write.path) and write.value in _GOVERNORS:
            yield f"--cpu-freq={_GOVERNORS[write.value]}"


def _steps(spawn: Spawn) -> Iterator[str]:
    if spawn.affinity:
        yield "--cpu-bind=cores"
    if limits := [name.upper() for name in ("stack", "memlock") if getattr(spawn.limits, name)]:
        yield f"--propagate={','.join(limits)}"


def _ulimits(spawn: Spawn) -> Iterator[tuple[str, str]]:
    """Give limits in the units of the shell: blocks of 1024 bytes."""
    for letter, limit in (("s", spawn.limits.stack), ("l", spawn.limits.memlock)):
        if limit:
            yield letter, limit if limit == "unlimited" else str(int(limit) // 1024)


def _launchers(apply: Apply) -> list[str]:
    """Put small programs before the command, where a starter has no option of its own."""
    spawn = apply.spawn
    found = [f"nice -n {spawn.nice}"] if spawn.nice is not None else []
    if spawn.io_class:
        found.append(f"ionice -c {IO_CLASSES[spawn.io_class]}")
    if spawn.policy in _POLICIES:
        found.append(f"chrt --{spawn.policy} {spawn.priority}")
    if spawn.fixed_layout:
        found.append("setarch -R")
    return [*found, *map(shlex.quote, apply.wrap)]


def openmp(apply: Apply, target: Target) -> Draft:
    """Write variables that an OpenMP runtime reads."""
    spawn = apply.spawn
    given = {name: value for name, value in apply.environment.items() if name.startswith(_OF_OPENMP)}
    if spawn.affinity == "one_per_core":
        given |= {"OMP_PLACES": "cores", "OMP_PROC_BIND": "close"}
    if spawn.affinity == "all_but_reserved":
        chosen = cpus(spawn, target)
        places = ",".join(f"{{{cpu}}}" for cpu in chosen.split(","))
        given |= {"OMP_NUM_THREADS": str(len(chosen.split(","))), "OMP_PLACES": places, "OMP_PROC_BIND": "close"}
    lines = tuple(f"export {name}={shlex.quote(value)}" for name, value in given.items())
    notes = tuple(of_this_machine(spawn, target)) if spawn.affinity == "all_but_reserved" else ()
    return Draft(lines, notes, "" if lines else "it sets nothing that an OpenMP runtime reads")


def docker(apply: Apply, target: Target) -> Draft:
    """Write lines of a Dockerfile, and the options of docker run, which an image cannot carry."""
    image = [f"ENV {name}={shlex.quote(value)}" for name, value in added_variables(apply).items()]
    options = [*_of_docker(apply, target)]
    launchers = _launchers(apply)
    if not (image or options or launchers):
        return Draft(why=ALL_CONTAINERS if apply.write or apply.hold else "docker run has no option for it")
    lines = list(image)
    if options or launchers:
        lines.append(" ".join(("docker run", *options, "IMAGE", *launchers, target.command)))
    if image and len(lines) > len(image):
        lines[: len(image)] = ["# In the Dockerfile:", *image, "# At the start:"]
    return Draft(tuple(lines), tuple(of_this_machine(apply.spawn, target)))


def _of_docker(apply: Apply, target: Target) -> Iterator[str]:
    spawn, group = apply.spawn, apply.spawn.group
    limits = {name: getattr(spawn.limits, name) for name in ("stack", "memlock")}
    privileged = spawn.policy in ("fifo", "rr") or (spawn.nice or 0) < 0 or spawn.io_class == "realtime"
    said = {
        f"--cpuset-cpus={cpus(spawn, target)}": bool(cpus(spawn, target)),
        "--cap-add=SYS_NICE": privileged,
        "--security-opt seccomp=unconfined": spawn.fixed_layout,
        **{f"--ulimit {name}={'-1' if limit == 'unlimited' else limit}": bool(limit) for name, limit in limits.items()},
        f"--cpu-shares={max(2, (group.cpu_weight or 0) * 1024 // 100)}": group.cpu_weight is not None,
        f"--memory-swappiness={group.swappiness}": group.swappiness is not None,
        "--tmpfs /work --workdir /work": apply.tmpfs_directory,
    }
    yield from (option for option, asked in said.items() if asked)
    for one in settings(apply, target)[0]:
        if one.key.startswith(_NAMESPACED):
            yield f"--sysctl {shlex.quote(f'{one.key}={one.value}')}"


def shell(apply: Apply, target: Target) -> Draft:
    """Write a script that does the same and then starts the program."""
    words = target.program or ("PROGRAM",)
    subject = Subject(command=words, argv=words, directory=".")
    try:
        line = shell_line(apply, subject, target.machine)
    except VgoError as error:
        return Draft(why=str(error).rstrip("."))
    if line == target.command:
        return Draft(why="a shell has no command for it")
    notes = list(of_this_machine(apply.spawn, target))
    if apply.write:
        notes.append("What is written stays until the next boot: run it again then, or use sysctl, tmpfiles or tuned.")
    return Draft((line,), tuple(notes))
