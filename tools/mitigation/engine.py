"""Apply a mitigation: how the program starts, and for a batch settings, files, groups, GPUs, scripts, a copy."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from ...knowledge.actions import Apply, Gpu, Policy, ResourceLimits, Spawn
from ...knowledge.errors import VgoError
from ...knowledge.schema import Mitigation
from ..execution.launch import REAL_TIME, SCHED_DEADLINE, Launch, Scheduler
from ..machine import Machine
from ..subject import Subject
from .by_hand import IO_CLASSES, KEPT_ENVIRONMENT, added_variables, applicable
from .cool_down import cooling
from .gpu_clocks import GpuSettings, gpu_switchable
from .journal import Journal, journal_folder
from .kernel_settings import resolve
from .owned_folder import WorkingCopy, working_copy
from .parameters import chosen_cpus, with_values
from .restore import guarded, restore_entries
from .run_group import in_own_group
from .scripts import MitigationScript
from .settings import Holds, switchable
from .verification import Check, Starts, prove

_POLICIES: Mapping[Policy, int] = {
    "deadline": SCHED_DEADLINE,
    "fifo": os.SCHED_FIFO,
    "rr": os.SCHED_RR,
    "batch": os.SCHED_BATCH,
    "idle": os.SCHED_IDLE,
}
# Lists that the loader and glibc read from one variable: ours is added to what the user has.
_JOINED = {"LD_PRELOAD": ":", "GLIBC_TUNABLES": ":"}


def mitigated(launch: Launch, mitigation: Mitigation, subject: Subject, machine: Machine) -> Launch:
    """Change a launch as the mitigation says, the rest stays; what outlives a run is the engine's."""
    apply = applicable(with_values(mitigation, {}, machine))
    spawn = apply.spawn
    inputs = tuple(map(Path, subject.inputs))
    return replace(
        launch,
        argv=(*_wrapper(apply, launch.environment), *launch.argv),
        environment=_environment(launch.environment, apply),
        affinity=chosen_cpus(spawn.affinity, spawn.reserved_cpus, machine) if spawn.affinity else launch.affinity,
        scheduler=_scheduler(spawn) or launch.scheduler,
        autogroup_nice=launch.autogroup_nice if spawn.autogroup_nice is None else spawn.autogroup_nice,
        nice=launch.nice if spawn.nice is None else spawn.nice,
        timer_slack_ns=launch.timer_slack_ns if spawn.timer_slack_ns is None else spawn.timer_slack_ns,
        fixed_layout=launch.fixed_layout or spawn.fixed_layout,
        thp_disable=launch.thp_disable or spawn.thp_disable,
        io_class=IO_CLASSES[spawn.io_class] if spawn.io_class else launch.io_class,
        io_level=spawn.io_level if spawn.io_class else launch.io_level,
        limits={**launch.limits, **_limits(spawn.limits)},
        output=spawn.output or launch.output,
        sync=launch.sync or apply.sync_first,
        evict=inputs if apply.evict_inputs else launch.evict,
        prewarm=inputs if apply.prewarm_inputs else launch.prewarm,
    )


def _scheduler(spawn: Spawn) -> Scheduler | None:
    if spawn.policy is None:
        return None
    asked = spawn.deadline
    times = (asked.runtime_us * 1000, asked.period_us * 1000) if asked and spawn.policy == "deadline" else (0, 0)
    return Scheduler(_POLICIES[spawn.policy], spawn.priority, *times)


def _limits(limits: ResourceLimits) -> dict[int, int]:
    asked = {resource.RLIMIT_STACK: limits.stack, resource.RLIMIT_MEMLOCK: limits.memlock}
    return {limit: _bytes(value) for limit, value in asked.items() if value}


def _bytes(value: str) -> int:
    if value == "unlimited":
        return resource.RLIM_INFINITY
    if not value.isdigit():
        raise VgoError(f"{value!r} is no limit: give a number of bytes, or unlimited.")
    return int(value)


def _wrapper(apply: Apply, environment: Mapping[str, str]) -> tuple[str, ...]:
    if not apply.wrap:
        return ()
    program = shutil.which(apply.wrap[0], path=environment.get("PATH"))
    if program is None:
        raise VgoError(f"{apply.wrap[0]} is not on PATH: install it.")
    return (program, *apply.wrap[1:])


def _environment(base: Mapping[str, str], apply: Apply) -> dict[str, str]:
    kept = {name: base[name] for name in KEPT_ENVIRONMENT if name in base} if apply.clear_environment else dict(base)
    return with_variables(kept, added_variables(apply))


def with_variables(base: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """Set variables; lists are joined with those that are there."""
    return {**base, **{name: _joined(name, value, base.get(name, "")) for name, value in added.items()}}


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


class MitigationSwitch(Protocol):
    """One kind of thing that is switched on before a mitigated run, and off before one of the baseline."""

    def on(self) -> tuple[Check, ...]:
        """Switch it on, if it is not, and read it back (level 1)."""

    def off(self) -> tuple[Check, ...]:
        """Switch it off, if it is not, and check that (level 1)."""


@dataclass(frozen=True)
class Applied:
    """A mitigation whose system part is ready: `on` before a mitigated run, `off` before a baseline run."""

    mitigation: Mitigation
    launch: Launch
    """Of a mitigated run."""
    parts: tuple[MitigationSwitch, ...] = ()
    before: tuple[str, ...] = ()
    """What was told when it was made ready."""

    def on(self) -> tuple[Check, ...]:
        """Switch every part on and read it back (level 1); no check where there are none."""
        return tuple(check for part in self.parts for check in part.on())

    def off(self) -> tuple[Check, ...]:
        """Switch every part off, the last first, and check that (level 1)."""
        return tuple(check for part in reversed(self.parts) for check in part.off())

    def prove(self, spawner: Starts, timeout_s: float | None = None) -> tuple[Check, ...]:
        """Check knobs and process (levels 1 and 2) with runs that are no part of the data."""
        try:
            knobs = self.on()
            gpus = (part for part in self.parts if isinstance(part, GpuSettings))
            clocks = tuple(check for part in gpus for check in part.prove(self.launch, spawner, timeout_s))
            return (*knobs, *clocks, *prove(self.mitigation, self.launch, spawner, timeout_s))
        finally:
            self.off()

    @property
    def notices(self) -> tuple[str, ...]:
        """What a user should hear; complete after the context has ended."""
        return (*self.before, *(said for part in self.parts for said in getattr(part, "notices", ())))


@contextlib.contextmanager
def applied(
    mitigation: Mitigation,
    base: Launch,
    subject: Subject,
    machine: Machine,
    *,
    root: Path = Path("/"),
    source: Path | None = None,
) -> Iterator[Applied]:
    """Prepare a mitigation of the launch `base` and put everything back at the end; nothing is set before `on`.

    `source` is the file that it was read from, where that is not one of ours: only a trusted one may run scripts.
    """
    mitigation = with_values(mitigation, {}, machine)
    launch = mitigated(base, mitigation, subject, machine)
    apply = mitigation.apply or Apply()
    with contextlib.ExitStack() as stack:
        opening = _Opening(stack, mitigation, machine, root, source)
        opening.prepare(apply, launch)
        opening.open(apply, launch)
        if apply.tmpfs_directory:
            launch = _moved(launch, stack.enter_context(working_copy(Path(subject.directory))))
        launch = stack.enter_context(in_own_group(launch, apply.spawn, machine, root))
        if apply.cool_down:
            # After everything is set, so that a run begins as cool as it is then.
            opening.parts.append(cooling(apply.cool_down, launch.environment, root))
        yield Applied(mitigation, launch, tuple(opening.parts), tuple(opening.notices))


@dataclass
class _Opening:
    """Opens what is switched on and off; `stack` closes it."""

    stack: contextlib.ExitStack
    mitigation: Mitigation
    machine: Machine
    root: Path
    source: Path | None
    journal: Journal = field(default_factory=lambda: Journal(journal_folder()))
    parts: list[MitigationSwitch] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def prepare(self, apply: Apply, launch: Launch) -> None:
        """Take the lock, put back what a dead agent left, and have a watchdog before the first knob is touched."""
        stays = bool(apply.write or apply.script) or apply.gpu != Gpu()
        if stays:
            self.stack.enter_context(self.journal.locked())
            self.notices += restore_entries(self.journal)
        real_time = launch.scheduler is not None and launch.scheduler.policy in REAL_TIME
        if stays or real_time:
            self.stack.enter_context(guarded(self.journal.folder, watch=real_time))

    def open(self, apply: Apply, launch: Launch) -> None:
        """Open every part, in the order in which they are set."""
        enter, key = self.stack.enter_context, self.mitigation.key
        if apply.write:
            resolved = resolve(apply.write, self.machine, self.root)
            self.notices += resolved.left_out
            self.parts.append(enter(switchable(key, resolved.knobs, self.journal, self.root)))
        if apply.gpu != Gpu():
            self.parts.append(enter(gpu_switchable(key, apply.gpu, launch.environment, self.journal)))
        if apply.hold:
            self.parts.append(enter(contextlib.closing(Holds(apply.hold, self.root))))
        if apply.script:
            script = MitigationScript(self.mitigation, apply.script, self.journal, self.source)
            self.parts.append(enter(contextlib.closing(script)))


def _moved(launch: Launch, copy: WorkingCopy) -> Launch:
    """Run in the copy; arguments that are paths below the original name the copy's files instead."""
    return replace(
        launch,
        argv=tuple(map(copy.moved, launch.argv)),
        directory=copy.directory,
        environment={**launch.environment, "TMPDIR": str(copy.temporary)},
        prewarm=tuple(Path(copy.moved(str(file))) for file in launch.prewarm),
        evict=tuple(Path(copy.moved(str(file))) for file in launch.evict),
    )
