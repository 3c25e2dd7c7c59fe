"""How a program is started, kept by what starts it: an OpenMP runtime, a container, a shell.

Options were looked up in docker-run(1); Docker's default seccomp profile lets personality(2) through for a few values
only, ADDR_NO_RANDOMIZE not among them, and set_mempolicy(2) with CAP_SYS_NICE.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from ...knowledge.actions import Apply, Gpu
from ...knowledge.errors import VgoError
from ..subject import Subject
from .by_hand import added_variables, shell_line
from .permanent_draft import (
    NO_FAN,
    PERIOD_US,
    UNNAMED,
    FormatLines,
    KernelSetting,
    PermanentTarget,
    computed,
    computing,
    cpus,
    in_groups,
    of_this_machine,
    settings,
    without_computed,
)
from .permanent_slurm import launchers
from .permanent_system import ALTERNATIVES, FORGOTTEN, gpu_commands

ALL_CONTAINERS = "a container shares the kernel: set it on the host"
ALL_OF_GPU = "a container shares the settings of the GPU: set them on the host (formats systemd, shell)"
ALL_OF_CACHE = "a container reads through the page cache of its host: do it there, before docker run (format shell)"
OWN_VARIABLES = "a container gets the variables of its image and none of the user's: give none with --env"
IN_MEMORY = 'sh -c \'cp -a "$0"/. . && exec "$@"\' DIRECTORY'
_NAMESPACED = ("net.", "kernel.msg", "kernel.sem", "kernel.shm", "fs.mqueue.")
_OF_OPENMP = ("OMP_", "GOMP_", "KMP_")


def openmp(apply: Apply, target: PermanentTarget) -> FormatLines:
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
    return FormatLines(lines, notes, "" if lines else "it sets nothing that an OpenMP runtime reads")


def docker(apply: Apply, target: PermanentTarget) -> FormatLines:
    """Write lines of a Dockerfile, and the options of docker run, which an image cannot carry."""
    image = [f"ENV {name}={shlex.quote(value)}" for name, value in added_variables(apply).items()]
    options = [*_of_docker(apply, target)]
    started = [*launchers(apply), *([IN_MEMORY] if apply.tmpfs_directory else [])]
    if not (image or options or started):
        return FormatLines(why=_not_of_docker(apply))
    lines = list(image)
    if options or started:
        lines.append(" ".join(("docker run", *options, "IMAGE", *started, target.command)))
    if image and len(lines) > len(image):
        lines[: len(image)] = ["# In the Dockerfile:", *image, "# At the start:"]
    return FormatLines(tuple(lines), tuple(_notes_of_docker(apply, target)))


def _not_of_docker(apply: Apply) -> str:
    if apply.gpu.fan_percent is not None:
        return NO_FAN
    reasons = {
        ALL_OF_GPU: apply.gpu != Gpu(),
        ALL_OF_CACHE: apply.prewarm_inputs or apply.evict_inputs or apply.sync_first,
        OWN_VARIABLES: apply.clear_environment,
        ALL_CONTAINERS: bool(apply.hold or len(in_groups(apply)) < len(apply.write)),
    }
    return next((reason for reason, holds in reasons.items() if holds), "docker run has no option for it")


def _notes_of_docker(apply: Apply, target: PermanentTarget) -> Iterator[str]:
    yield from of_this_machine(apply.spawn, target)
    if any(option.endswith("=0") for option in _limits_of_docker(apply)):
        yield "0 is no limit, as for a container that is started without the option; `docker update` sets it too."
    if apply.tmpfs_directory:
        yield "Put the directory in the image that the program works in, in the place of DIRECTORY."
    if programs := [word.split()[0] for word in launchers(apply)]:
        yield f"The image needs {', '.join(programs[:1] if apply.wrap else programs)}."


def _of_docker(apply: Apply, target: PermanentTarget) -> Iterator[str]:
    spawn, group = apply.spawn, apply.spawn.group
    limits = {name: getattr(spawn.limits, name) for name in ("stack", "memlock")}
    realtime = spawn.policy in ("fifo", "rr") or (spawn.nice or 0) < 0 or spawn.io_class == "realtime"
    said = {
        f"--cpuset-cpus={cpus(spawn, target)}": bool(cpus(spawn, target)),
        "--cap-add=SYS_NICE": realtime or apply.wrap[:1] == ("numactl",),
        "--security-opt seccomp=unconfined": spawn.fixed_layout,
        **{f"--ulimit {name}={'-1' if limit == 'unlimited' else limit}": bool(limit) for name, limit in limits.items()},
        f"--cpu-shares={max(2, (group.cpu_weight or 0) * 1024 // 100)}": group.cpu_weight is not None,
        f"--memory-swappiness={group.swappiness}": group.swappiness is not None,
        f"--cpus={(group.cpu_quota_us or 0) / PERIOD_US:g}": group.cpu_quota_us is not None,
        f"--memory={group.memory_bytes}": group.memory_bytes is not None,
        "--tmpfs /work:exec --workdir /work --env TMPDIR=/work": apply.tmpfs_directory,
        **dict.fromkeys(_limits_of_docker(apply), True),
    }
    yield from (option for option, asked in said.items() if asked)
    for one in settings(apply, target)[0]:
        if one.key.startswith(_NAMESPACED):
            yield f"--sysctl {shlex.quote(f'{one.key}={one.value}')}"


def _limits_of_docker(apply: Apply) -> Iterator[str]:
    """Give the limits of a container that are writes into a control group elsewhere; 0 is none, and its default."""
    for write in in_groups(apply):
        name = write.path.rpartition("/")[2]
        quota, _, period = write.value.partition(" ")
        number = int(quota) if quota.isdigit() else 0
        if name in ("cpu.max", "cpu.cfs_quota_us"):
            yield f"--cpus={number / int(period or PERIOD_US):g}"
        elif name in ("memory.max", "memory.limit_in_bytes"):
            yield f"--memory={number}"


def shell(apply: Apply, target: PermanentTarget) -> FormatLines:
    """Write the line that a person types."""
    words = target.program or ("PROGRAM",)
    cpus(apply.spawn, target)
    plain = without_computed(apply)
    found, missing = settings(plain, target)
    if missing:
        return FormatLines(why="; ".join(missing))
    subject = Subject(command=words, argv=words, directory=".", inputs=target.inputs)
    try:
        line = shell_line(plain, subject, target.machine)
    except VgoError as error:
        return FormatLines(why=str(error).rstrip("."))
    before = [*gpu_commands(apply.gpu), *computing(apply), *(map(_written, found) if line == target.command else [])]
    if line == target.command and not before:
        return FormatLines(why=NO_FAN if apply.gpu.fan_percent is not None else "a shell has no command for it")
    return FormatLines((*before, line), tuple(_notes_of_shell(apply, target)))


def _written(one: KernelSetting) -> str:
    """Write it wherever it is, for a file that this machine lacks."""
    return f'for knob in {one.path}; do [ ! -w "$knob" ] || echo {shlex.quote(one.value)} > "$knob"; done'


def _notes_of_shell(apply: Apply, target: PermanentTarget) -> Iterator[str]:
    yield from of_this_machine(apply.spawn, target)
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
    if target.lacks_inputs(apply):
        yield UNNAMED
