"""Apply what outlives a run, for the time of a batch: settings, held files, control groups, GPUs, scripts, a copy."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from ...knowledge.actions import Apply, Gpu
from ...knowledge.schema import Mitigation
from ..execution.launch import REAL_TIME, Launch
from ..machine import Machine
from ..subject import Subject
from .checks import Check
from .cool_down import cooling
from .gpu_clocks import GpuSettings, gpu_switchable
from .holds import Holds
from .journal import Journal, journal_folder
from .kernel_settings import resolve
from .launching import mitigated
from .owned_folder import WorkingCopy, working_copy
from .parameters import with_values
from .restore import restore_entries
from .run_group import in_own_group
from .scripts import MitigationScript
from .settings import switchable
from .verification import Starts, prove
from .watchdog import guarded


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
    def told(self) -> tuple[str, ...]:
        """What a user should hear; complete after the context has ended."""
        return (*self.before, *(said for part in self.parts for said in getattr(part, "told", ())))


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
        yield Applied(mitigation, launch, tuple(opening.parts), tuple(opening.told))


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
    told: list[str] = field(default_factory=list)

    def prepare(self, apply: Apply, launch: Launch) -> None:
        """Take the lock, put back what a dead agent left, and have a watchdog before the first knob is touched."""
        stays = bool(apply.write or apply.script) or apply.gpu != Gpu()
        if stays:
            self.stack.enter_context(self.journal.locked())
            self.told += restore_entries(self.journal)
        real_time = launch.scheduler is not None and launch.scheduler.policy in REAL_TIME
        if stays or real_time:
            self.stack.enter_context(guarded(self.journal.folder, watch=real_time))

    def open(self, apply: Apply, launch: Launch) -> None:
        """Open every part, in the order in which they are set."""
        enter, key = self.stack.enter_context, self.mitigation.key
        if apply.write:
            resolved = resolve(apply.write, self.machine, self.root)
            self.told += resolved.left_out
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
