"""Apply what outlives a run, for the time of a batch: kernel settings and the working copy on tmpfs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ...knowledge.actions import Apply
from ...knowledge.schema import Mitigation
from ..execution.launch import Launch
from ..machine import Machine
from ..subject import Subject
from .checks import Check
from .journal import Journal, journal_folder
from .launching import mitigated
from .settings import Settings, switchable
from .verification import Starts, prove
from .working_copy import SHARED_MEMORY, WorkingCopy, working_copy


@dataclass(frozen=True)
class Applied:
    """A mitigation whose system part is ready: `on` before a mitigated run, `off` before a baseline run."""

    mitigation: Mitigation
    launch: Launch
    """Of a mitigated run."""
    settings: Settings | None = None

    def on(self) -> tuple[Check, ...]:
        """Set the kernel's settings and read them back (level 1); no check where there are none."""
        return self.settings.on() if self.settings else ()

    def off(self) -> tuple[Check, ...]:
        """Put the kernel's settings back and check them (level 1)."""
        return self.settings.off() if self.settings else ()

    def prove(self, spawner: Starts, timeout_s: float | None = None) -> tuple[Check, ...]:
        """Check knobs and process (levels 1 and 2) with runs that are no part of the data."""
        knobs = self.on()
        try:
            return (*knobs, *prove(self.mitigation, self.launch, spawner, timeout_s))
        finally:
            self.off()

    @property
    def told(self) -> tuple[str, ...]:
        """What a user should hear; complete after the context has ended."""
        return tuple(self.settings.told) if self.settings else ()


@contextlib.contextmanager
def applied(
    mitigation: Mitigation,
    base: Launch,
    subject: Subject,
    machine: Machine,
    *,
    root: Path = Path("/"),
    shared_memory: Path = SHARED_MEMORY,
) -> Iterator[Applied]:
    """Prepare a mitigation of the launch `base` and put everything back at the end; nothing is set before `on`."""
    launch = mitigated(base, mitigation, subject, machine)
    apply = mitigation.apply or Apply()
    with contextlib.ExitStack() as stack:
        if apply.tmpfs_directory:
            launch = _moved(launch, stack.enter_context(working_copy(Path(subject.directory), shared_memory)))
        settings = None
        if apply.write:
            settings = stack.enter_context(switchable(mitigation.key, apply.write, Journal(journal_folder()), root))
        yield Applied(mitigation, launch, settings)


def _moved(launch: Launch, copy: WorkingCopy) -> Launch:
    """Run in the copy; arguments that are paths below the original name the copy's files instead."""
    return replace(
        launch,
        argv=tuple(map(copy.moved, launch.argv)),
        directory=copy.directory,
        environment={**launch.environment, "TMPDIR": str(copy.temporary)},
        prewarm=tuple(Path(copy.moved(str(file))) for file in launch.prewarm),
    )
