"""Measure a profile: every stressor once a round, in an order drawn anew; kept after each run, so that it can go on."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ...knowledge.errors import VgoError
from ..execution.launch import RunGroup
from ..execution.spawn import Spawner
from ..experiment.schedules import Complete
from ..machine import Machine
from ..mitigation.owned_folder import temporary_folder
from .battery import Stressor
from .form import Battery, Profile, Quota, StressorRun, System, read, write
from .quota import limited_group
from .stress_ng import StressNg

Progress = Callable[[int, int, StressorRun], None]
"""Told after each run: how many are done, of how many, and the run."""


@dataclass(frozen=True)
class Arm:
    """One profile that is being made."""

    path: Path
    quota: Quota | None = None


@dataclass(frozen=True)
class Rounds:
    """How to measure."""

    stressors: tuple[Stressor, ...]
    seconds: float
    repetitions: int
    seed: int
    ahead: bool = False
    """Before the other programs of this machine."""

    def order(self) -> list[tuple[int, Stressor]]:
        """Give every run: the repetition and the stressor; the same for the same seed."""
        known = {one.name: one for one in sorted(self.stressors)}
        rounds = Complete(tuple(known), self.repetitions, f"profile:{self.seed}")
        return [(block.number, known[name]) for block in rounds.blocks(list) for name in block.order]

    def battery(self, quota: Quota | None) -> Battery:
        """Describe it."""
        groups = {one.name: one.group for one in sorted(self.stressors)}
        return Battery(
            seconds=self.seconds, repetitions=self.repetitions, seed=self.seed, stressors=groups, quota=quota
        )


@contextmanager
def bench(quotas: Sequence[Quota | None], ahead: bool) -> Iterator[tuple[StressNg, list[RunGroup | None]]]:
    """Open what runs stressors: a folder, a group a quota."""
    with ExitStack() as stack:
        stress_ng = StressNg(stack.enter_context(temporary_folder()))
        groups = [
            stack.enter_context(limited_group(quota, ahead)) if quota is not None or ahead else None for quota in quotas
        ]
        yield stress_ng, groups


def profile(arms: Sequence[Arm], rounds: Rounds, system: System, progress: Progress) -> tuple[Profile, ...]:
    """Measure what is missing of each arm, next to each other in random order; return the profiles."""
    with Spawner() as spawner, bench([arm.quota for arm in arms], rounds.ahead) as (stress_ng, groups):
        profiles = [begun(arm, rounds, system) for arm in arms]
        total = sum(len(one.battery.stressors) * one.battery.repetitions for one in profiles)
        for place, (repetition, stressor) in enumerate(rounds.order()):
            lacking = [at for at, one in enumerate(profiles) if len(one.runs) <= place]
            for at in random.Random(f"{rounds.seed} {place}").sample(lacking, len(lacking)):
                run = stress_ng.run(spawner, stressor, rounds.seconds, repetition, groups[at])
                profiles[at] = profiles[at].model_copy(update={"runs": (*profiles[at].runs, run)})
                write(arms[at].path, profiles[at])
                progress(sum(len(one.runs) for one in profiles), total, run)
    return tuple(profiles)


def begun(arm: Arm, rounds: Rounds, system: System) -> Profile:
    """Begin a profile, or take up the one in the file where it is the same battery on the same machine."""
    if arm.quota:
        system = system.model_copy(update={"name": f"{system.name} with {arm.quota.cpus:.3g} CPUs"})
    fresh = Profile(system=system, battery=rounds.battery(arm.quota))
    if not arm.path.exists():
        write(arm.path, fresh)
        return fresh
    found = read(arm.path, Profile)
    if found.battery != fresh.battery:
        raise VgoError(f"{arm.path} holds a profile of another battery: name another file with --out, or delete it.")
    if (found.system.cpu, found.system.stress_ng, found.system.name) != (system.cpu, system.stress_ng, system.name):
        raise VgoError(
            f"{arm.path} was begun on {found.system.name} ({found.system.cpu}): name another file with --out."
        )
    return found


def described(machine: Machine, name: str, stress_ng: str) -> System:
    """Take from a survey what matters for a profile."""
    same = machine.model_dump(include=set(System.model_fields))
    return System(**{**same, "name": name, "stress_ng": stress_ng})
