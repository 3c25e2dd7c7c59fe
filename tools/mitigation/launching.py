"""From a mitigation to the launch that applies it, and to the shell line with which a person does the same."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ...knowledge.actions import Apply, Policy, Spawn
from ...knowledge.errors import VgoError
from ...knowledge.schema import Mitigation
from ..execution.conditions import PR_SET_THP_DISABLE
from ..execution.launch import Launch, Scheduler
from ..machine import Machine
from ..subject import Subject

KEPT_ENVIRONMENT = ("PATH", "HOME", "LANG")

_POLICIES: Mapping[Policy, int] = {
    "fifo": os.SCHED_FIFO,
    "rr": os.SCHED_RR,
    "batch": os.SCHED_BATCH,
    "idle": os.SCHED_IDLE,
}
_IO_CLASSES = {"realtime": 1, "best_effort": 2, "idle": 3}
# Lists that the loader and glibc read from one variable: ours is added to what the user has.
_JOINED = {"LD_PRELOAD": ":", "GLIBC_TUNABLES": ":"}


def mitigated(launch: Launch, mitigation: Mitigation, subject: Subject, machine: Machine) -> Launch:
    """Change a launch as the mitigation says, the rest stays; what outlives a run is the engine's."""
    apply = _applicable(mitigation)
    spawn = apply.spawn
    return replace(
        launch,
        argv=(*_wrapper(apply, launch.environment), *launch.argv),
        environment=_environment(launch.environment, apply),
        affinity=frozenset({machine.quiet_cpu}) if spawn.affinity else launch.affinity,
        scheduler=Scheduler(_POLICIES[spawn.policy], spawn.priority) if spawn.policy else launch.scheduler,
        autogroup_nice=launch.autogroup_nice if spawn.autogroup_nice is None else spawn.autogroup_nice,
        nice=launch.nice if spawn.nice is None else spawn.nice,
        timer_slack_ns=launch.timer_slack_ns if spawn.timer_slack_ns is None else spawn.timer_slack_ns,
        fixed_layout=launch.fixed_layout or spawn.fixed_layout,
        thp_disable=launch.thp_disable or spawn.thp_disable,
        io_class=_IO_CLASSES[spawn.io_class] if spawn.io_class else launch.io_class,
        prewarm=tuple(map(Path, subject.inputs)) if apply.prewarm_inputs else launch.prewarm,
    )


def command_line(mitigation: Mitigation, subject: Subject, machine: Machine) -> str:
    """Write the shell line that applies the mitigation by hand, in the directory of the subject."""
    apply = _applicable(mitigation)
    launched = (*_launchers(apply.spawn, machine), *map(shlex.quote, machine.launching))
    command = (*launched, *map(shlex.quote, apply.wrap), *_variables(apply), _typed(subject))
    line = " && ".join((*_preparations(apply, subject, machine), " ".join(command)))
    # In a shell of its own, so that the directory is left and the copy removed.
    return f"({line})" if apply.tmpfs_directory else line


def _applicable(mitigation: Mitigation) -> Apply:
    if mitigation.apply is None:
        raise VgoError(f"{mitigation.key} cannot be applied by vgo-agent: follow the steps that it names.")
    return mitigation.apply


def _wrapper(apply: Apply, environment: Mapping[str, str]) -> tuple[str, ...]:
    if not apply.wrap:
        return ()
    program = shutil.which(apply.wrap[0], path=environment.get("PATH"))
    if program is None:
        raise VgoError(f"{apply.wrap[0]} is not on PATH: install it.")
    return (program, *apply.wrap[1:])


def _added(apply: Apply) -> dict[str, str]:
    """Variables that the mitigation sets."""
    return {**apply.environment, **({"LD_PRELOAD": apply.preload} if apply.preload else {})}


def _environment(base: Mapping[str, str], apply: Apply) -> dict[str, str]:
    kept = {name: base[name] for name in KEPT_ENVIRONMENT if name in base} if apply.clear_environment else dict(base)
    for name, value in _added(apply).items():
        kept[name] = _joined(name, value, kept.get(name, ""))
    return kept


def _joined(name: str, value: str, before: str) -> str:
    """Put our entries before the user's: the loader takes the first definition it finds.

    A tunable that we set is taken out of the user's list, since which of two counts depends on the glibc version.
    """
    if name not in _JOINED or not before:
        return value
    separator = _JOINED[name]
    keys = {entry.partition("=")[0] for entry in value.split(separator)}
    others = [entry for entry in before.split(separator) if entry.partition("=")[0] not in keys]
    return separator.join((value, *others))


def _preparations(apply: Apply, subject: Subject, machine: Machine) -> Iterator[str]:
    for write in apply.write:
        echo = f"echo {shlex.quote(write.value)} > {shlex.quote(write.path)}"
        yield echo if machine.root else f"sudo sh -c {shlex.quote(echo)}"
    if apply.tmpfs_directory:
        yield """copy=$(mktemp -d -p /dev/shm) && trap 'rm -r "$copy"' EXIT && cp -a . "$copy" && cd "$copy\""""
    if apply.prewarm_inputs and subject.inputs:
        yield f"cat {shlex.join(subject.inputs)} > /dev/null"


def _launchers(spawn: Spawn, machine: Machine) -> Iterator[str]:
    """Programs that set a condition and then become the next one; the outermost first."""
    if spawn.autogroup_nice is not None:
        # The group belongs to the session, so a new one is needed.
        yield f"setsid -w {_shell_first(f'echo {spawn.autogroup_nice} > /proc/self/autogroup')}"
    if spawn.timer_slack_ns is not None:
        yield _shell_first(f"echo {spawn.timer_slack_ns} > /proc/self/timerslack_ns")
    if spawn.thp_disable:
        # No launcher of util-linux sets it.
        call = f"import ctypes,os,sys; ctypes.CDLL(None).prctl({PR_SET_THP_DISABLE},1,0,0,0)"
        yield f"python3 -c {shlex.quote(f'{call}; os.execvp(sys.argv[1],sys.argv[1:])')}"
    yield from _util_linux(spawn, machine)


def _util_linux(spawn: Spawn, machine: Machine) -> Iterator[str]:
    if spawn.nice is not None:
        yield f"nice -n {spawn.nice}"
    if spawn.io_class is not None:
        yield f"ionice -c {_IO_CLASSES[spawn.io_class]}"
    if spawn.policy is not None:
        yield f"chrt --{spawn.policy} {spawn.priority}"
    if spawn.affinity is not None:
        yield f"taskset -c {machine.quiet_cpu}"
    if spawn.fixed_layout:
        yield "setarch -R"


def _shell_first(line: str) -> str:
    script = f'{line}; exec "$@"'
    return f"sh -c {shlex.quote(script)} sh"


def _variables(apply: Apply) -> Iterator[str]:
    """`env` stands next to the command, because a shell before it would add variables of its own."""
    cleared = ["-i", *(f'${{{name}+"{name}=${name}"}}' for name in KEPT_ENVIRONMENT)] if apply.clear_environment else []
    copied = ['TMPDIR="$copy"'] if apply.tmpfs_directory else []
    added = [shlex.quote(f"{name}={value}") for name, value in _added(apply).items()]
    if cleared or copied or added:
        yield " ".join(("env", *cleared, *copied, *added))


def _typed(subject: Subject) -> str:
    """The command as the user typed it; through the shell if it was asked for."""
    return shlex.join(subject.argv if subject.shell else subject.command)
