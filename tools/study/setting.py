"""What one setting of a study is: its levels, and what they change about the start of the program."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import replace

from ...knowledge.shape import Frozen
from ..execution.launch import Launch
from ..row import BASELINE
from .factors import Work


class Background(Frozen):
    """Jobs of ours beside the program."""

    work: Work
    cpus: tuple[int, ...] = ()
    """One job on each; empty: a single job that may run anywhere."""


class StudySetting(Frozen):
    """One way to run the program."""

    name: str
    levels: dict[str, str] = {}
    """Factor to level; empty for the baseline."""
    environment: dict[str, str] = {}
    unset: tuple[str, ...] = ()
    """Variables that the environment as given may have, and this setting must not."""
    affinity: tuple[int, ...] = ()
    """CPUs that the whole program may use; empty: all that it may use anyway."""
    program: str = ""
    """Another binary in place of the program."""
    background: Background | None = None
    cores: int = 0
    """Cores that are used; 0 where nobody says."""
    threads: int = 0
    spare: int = 0
    """Cores of the machine that are left to the system."""

    @property
    def baseline(self) -> bool:
        """The environment as it is given."""
        return self.name == BASELINE

    def launch(self, base: Launch) -> Launch:
        """Start the program so."""
        kept: Mapping[str, str] = {name: value for name, value in base.environment.items() if name not in self.unset}
        environment = {**kept, **self.environment}
        if "LD_PRELOAD" in self.environment and (before := base.environment.get("LD_PRELOAD")):
            environment["LD_PRELOAD"] = f"{self.environment['LD_PRELOAD']}:{before}"
        argv = (self.program, *base.argv[1:]) if self.program else base.argv
        affinity = frozenset(self.affinity) if self.affinity else base.affinity
        return replace(base, argv=argv, environment=environment, affinity=affinity)

    def told(self) -> str:
        """Say what it changes, as a shell would have it."""
        words = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        dropped = [name for name in self.unset if name in os.environ and name not in self.environment]
        words += [f"-u {name}" for name in dropped]
        words += [f"taskset {','.join(map(str, self.affinity))}"] if self.affinity else []
        words += [self.program] if self.program else []
        if self.background:
            where = ",".join(map(str, self.background.cpus)) or "anywhere"
            words.append(f"beside a {self.background.work} job on {where}")
        return " ".join(words) or "the environment as given"
