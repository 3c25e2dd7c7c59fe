"""What a mitigation does, told without doing it: in words, in order, and as the shell line of a person."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from ...knowledge.actions import Apply, Gpu, Hold, Spawn, Write
from ...knowledge.errors import VgoError
from ...knowledge.schema import Mitigation
from ...layers.launcher import is_own
from ..execution.system_calls import PR_SET_THP_DISABLE
from ..machine import Machine
from ..subject import Subject
from .kernel_file import KernelFiles
from .kernel_settings import KernelSetting, resolve, same
from .parameters import chosen_cpus, with_values
from .run_group import MEMBERS, ControlGroupFolder, controllers_of, parts

KEPT_ENVIRONMENT = ("PATH", "HOME", "LANG")
IO_CLASSES = {"realtime": 1, "best_effort": 2, "idle": 3}
THP_OFF = (
    f"import ctypes,os,sys; ctypes.CDLL(None).prctl({PR_SET_THP_DISABLE},1,0,0,0); os.execvp(sys.argv[1],sys.argv[1:])"
)
"""A program for `python3 -c` that becomes its arguments: no launcher of util-linux sets it."""
_USUAL_LEVEL = 4
_OUTPUT = {"null": "> /dev/null", "file": "> output.txt"}

_BEFORE_EACH_RUN = {
    "sync_first": "write dirty pages back (sync)",
    "evict_inputs": "drop from the page cache: {inputs}",
    "prewarm_inputs": "read into the page cache: {inputs}",
}


def planned(mitigation: Mitigation, subject: Subject, machine: Machine, root: Path = Path("/")) -> tuple[str, ...]:
    """List every write, hold, command, condition of the start and variable, in the order in which they come.

    VgoError where the mitigation could not be applied.
    """
    mitigation = with_values(mitigation, {}, machine)
    if mitigation.apply is None:
        return tuple(f"by hand: {step}" for step in mitigation.steps)
    apply = mitigation.apply
    return (*_system(apply, machine, root), *_start(apply, subject, machine), *_each_run(apply, subject))


def _system(apply: Apply, machine: Machine, root: Path) -> Iterator[str]:
    if apply.write:
        resolved, files = resolve(apply.write, machine, root), KernelFiles(root)
        for knob in resolved.knobs:
            now = files.read(knob.path)
            already = ", as it is" if same(knob.value, now) else f" (now {now})"
            maybe = ", unless the kernel refuses it" if knob.optional else ""
            yield f"write {knob.value} to {knob.path}{already}{maybe}"
            yield from (f"  and put back with it {path} (now {files.read(path)})" for path in knob.siblings)
        yield from resolved.left_out
    if apply.gpu != Gpu():
        yield f"set on every GPU that the program may use: {_changed(apply.gpu)}"
    for hold in apply.hold:
        yield f"write {hold.int32} (32 bits) to {hold.path} and hold it open"
    if apply.script:
        yield f"run {' '.join(apply.script.apply)}"
        yield f"  and afterwards {' '.join(apply.script.revert)}"


def _start(apply: Apply, subject: Subject, machine: Machine) -> Iterator[str]:
    if apply.tmpfs_directory:
        yield f"copy {subject.directory} to tmpfs and run there, with TMPDIR there too"
    if controllers_of(apply.spawn.group):
        for part in parts(apply.spawn, machine):
            values = ", ".join(f"{name} = {value}" for name, value in part.values.items())
            yield f"make a control group in {part.place.folder} ({values}) and start it there"
    plain = apply.spawn.model_copy(update={"group": Spawn().group})
    yield from (f"start it with {word}" for word in filter(None, _changed(plain).split("; ")))
    if apply.clear_environment:
        yield "take all variables away but PATH, HOME and LANG"
    yield from (f"set {name}={value}" for name, value in apply.environment.items())
    if apply.preload:
        yield f"set LD_PRELOAD={apply.preload}"
    if apply.wrap:
        yield f"put before the command: {' '.join(apply.wrap)}"


def _each_run(apply: Apply, subject: Subject) -> Iterator[str]:
    if apply.cool_down:
        most, within = apply.cool_down.most_s, apply.cool_down.within_celsius
        yield f"before each run: wait until within {within:g} degrees of the start, {most:g} s at most"
    inputs = ", ".join(subject.inputs) or "no input file is known"
    for field, words in _BEFORE_EACH_RUN.items():
        if getattr(apply, field):
            yield f"before each run: {words.format(inputs=inputs)}"


def _changed(part: BaseModel) -> str:
    """Name the fields that are not as they would be without a word."""
    shown = part.model_dump(exclude_defaults=True)
    return "; ".join(f"{name.replace('_', ' ')} {_value(value)}".strip() for name, value in shown.items())


def _value(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {one}" for name, one in value.items() if one not in ("", None))
    return "" if value is True else str(value)


def command_line(mitigation: Mitigation, subject: Subject, machine: Machine) -> str:
    """Write the shell line that applies the mitigation by hand, in the directory of the subject."""
    return shell_line(applicable(with_values(mitigation, {}, machine)), subject, machine)


def applicable(mitigation: Mitigation) -> Apply:
    """Give what the mitigation does; refuse one that only a person can apply."""
    if mitigation.apply is None:
        raise VgoError(f"{mitigation.key} cannot be applied by vgo-agent: follow the steps that it names.")
    return mitigation.apply


def shell_line(apply: Apply, subject: Subject, machine: Machine) -> str:
    """Write the line, for a shell in the directory of the subject."""
    groups = _named(parts(apply.spawn, machine))
    own = {name for name in added_variables(apply) if is_own(name, machine.launcher_variables)}
    told = [shlex.quote(f"{name}={apply.environment[name]}") for name in sorted(own)]
    launcher = (*(["env", *told] if told else []), *map(shlex.quote, machine.launching))
    inner = apply.model_copy(update={"environment": {n: v for n, v in apply.environment.items() if n not in own}})
    launched = (*_into(groups), *_launchers(apply.spawn, machine), *launcher)
    typed = shlex.join(subject.argv if subject.shell else subject.command)  # through the shell if it was asked for
    command = (*launched, *map(shlex.quote, apply.wrap), *variables(inner), typed)
    redirected = (*command, *filter(None, (_OUTPUT.get(apply.spawn.output),)))
    steps = (*_settings(apply, machine), *temporary(apply, groups), *page_cache(apply, subject), " ".join(redirected))
    line = " && ".join(steps)
    # In a shell of its own, so that it ends with what was made removed, what is held released, the directory left.
    return f"({line})" if apply.tmpfs_directory or groups or apply.hold else line


def added_variables(apply: Apply) -> dict[str, str]:
    """Variables that the mitigation sets."""
    return {**apply.environment, **({"LD_PRELOAD": apply.preload} if apply.preload else {})}


def _named(asked: tuple[ControlGroupFolder, ...]) -> dict[str, ControlGroupFolder]:
    """Give each group a variable that holds its folder."""
    return {part.controllers[0]: part for part in asked}


def _settings(apply: Apply, machine: Machine) -> Iterator[str]:
    for write in apply.write:
        for line in _writing(write, machine):
            yield line if machine.root else f"sudo sh -c {shlex.quote(line)}"
    for number, hold in enumerate(apply.hold, start=8):
        yield held(hold, number)


def _writing(write: Write, machine: Machine) -> Iterator[str]:
    """Write into each file that is here; what is optional may refuse, and none is there on another machine."""
    try:
        knobs = resolve((write,), machine).knobs
    except VgoError:
        knobs = () if write.optional else (KernelSetting(write.path, write.value),)
    values = {knob.value for knob in knobs}
    refusing = " 2> /dev/null || :" if write.optional else ""
    if "*" in write.path and "{" not in write.path and len(values) == 1:
        yield f'for knob in {write.path}; do echo {shlex.quote(*values)} > "$knob"{refusing}; done'
        return
    for knob in knobs:
        line = f"echo {shlex.quote(knob.value)} > {shlex.quote(knob.path)}"
        yield f"{{ {line}{refusing}; }}" if refusing else line


def held(hold: Hold, number: int) -> str:
    """Write 32 bits into a file that stays open as long as the shell."""
    octal = "".join(f"\\{byte:03o}" for byte in hold.int32.to_bytes(4, "little", signed=True))
    return f"exec {number}> {shlex.quote(hold.path)} && printf {shlex.quote(octal)} >&{number}"


def temporary(apply: Apply, groups: dict[str, ControlGroupFolder]) -> Iterator[str]:
    """Make what is removed when the shell ends."""
    removed = [f'rmdir "${name}"' for name in groups]
    if apply.tmpfs_directory:
        yield "copy=$(mktemp -d -p /dev/shm)"
        removed.append('rm -r "$copy"')
    for name, part in groups.items():
        yield f'{name}={shlex.quote(part.place.folder)}/by-hand-$$ && mkdir "${name}"'
    if removed:
        yield f"trap {shlex.quote('; '.join(removed))} EXIT"
    for name, part in groups.items():
        for file, value in part.values.items():
            yield f'echo {shlex.quote(value)} > "${name}"/{file}'
    if apply.tmpfs_directory:
        yield 'cp -a . "$copy" && cd "$copy"'


def page_cache(apply: Apply, subject: Subject) -> Iterator[str]:
    """Bring the page cache to the state that is asked for."""
    if apply.sync_first:
        yield "sync"
    if apply.evict_inputs and subject.inputs:
        yield f"sync {shlex.join(subject.inputs)}"
        for file in subject.inputs:
            yield f"dd if={shlex.quote(file)} iflag=nocache count=0 status=none"
    if apply.prewarm_inputs and subject.inputs:
        yield f"cat {shlex.join(subject.inputs)} > /dev/null"


def _into(groups: dict[str, ControlGroupFolder]) -> Iterator[str]:
    """A shell that moves into the groups and becomes the program: before all else, since a cpuset sets the CPUs."""
    if groups:
        moves = "; ".join(
            f'echo $$ > "${at}"/{MEMBERS[part.place.version]}' for at, part in enumerate(groups.values(), start=1)
        )
        folders = " ".join(f'"${name}"' for name in groups)
        script = f'{moves}; shift {len(groups)}; exec "$@"'
        yield f"sh -c {shlex.quote(script)} sh {folders}"


def _launchers(spawn: Spawn, machine: Machine) -> Iterator[str]:
    """Programs that set a condition and then become the next one; the outermost first."""
    if spawn.autogroup_nice is not None:
        # The group belongs to the session, so a new one is needed.
        yield f"setsid -w {_shell_first(f'echo {spawn.autogroup_nice} > /proc/self/autogroup')}"
    if spawn.timer_slack_ns is not None:
        yield _shell_first(f"echo {spawn.timer_slack_ns} > /proc/self/timerslack_ns")
    if asked := [f"--{name}={value}" for name, value in spawn.limits if value]:
        yield " ".join(("prlimit", *asked))
    yield from launchers(spawn)
    if spawn.affinity is not None:
        cpus = chosen_cpus(spawn.affinity, spawn.reserved_cpus, machine)
        yield f"taskset -c {','.join(map(str, sorted(cpus)))}"


def launchers(spawn: Spawn) -> Iterator[str]:
    """Give those that serve in a job and in a container, too."""
    if spawn.thp_disable:
        yield f"python3 -c {shlex.quote(THP_OFF)}"
    if spawn.nice is not None:
        yield f"nice -n {spawn.nice}"
    if spawn.io_class is not None:
        level = f" -n {spawn.io_level}" if spawn.io_level != _USUAL_LEVEL else ""
        yield f"ionice -c {IO_CLASSES[spawn.io_class]}{level}"
    if spawn.policy is not None:
        yield _policy_line(spawn)
    if spawn.fixed_layout:
        yield "setarch -R"


def _policy_line(spawn: Spawn) -> str:
    """Write the launcher that sets the policy; a real-time one of the program alone (-R), not of its children."""
    if spawn.policy != "deadline" or spawn.deadline is None:
        alone = "-R " if spawn.policy in ("fifo", "rr") else ""
        return f"chrt {alone}--{spawn.policy} {spawn.priority}"
    runtime, period = spawn.deadline.runtime_us * 1000, spawn.deadline.period_us * 1000
    return f"chrt -R -d --sched-runtime {runtime} --sched-deadline {period} --sched-period {period} 0"


def _shell_first(line: str) -> str:
    script = f'{line}; exec "$@"'
    return f"sh -c {shlex.quote(script)} sh"


def variables(apply: Apply) -> Iterator[str]:
    """`env` stands next to the command, because a shell before it would add variables of its own."""
    cleared = ["-i", *(f'${{{name}+"{name}=${name}"}}' for name in KEPT_ENVIRONMENT)] if apply.clear_environment else []
    copied = ['TMPDIR="$copy"'] if apply.tmpfs_directory else []
    added = [shlex.quote(f"{name}={value}") for name, value in added_variables(apply).items()]
    if cleared or copied or added:
        yield " ".join(("env", *cleared, *copied, *added))
