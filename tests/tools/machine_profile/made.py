"""Profiles made from rates, as a machine could have given them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vgo_agent.tools.machine_profile.battery import Group
from vgo_agent.tools.machine_profile.form import Battery, Profile, Quota, StressorRun, System


def system(name: str = "a", architecture: str = "x86_64", stress_ng: str = "0.15.06") -> System:
    return System(
        name=name, cpu=f"CPU of {name}", architecture=architecture, kernel="6", distribution="D", stress_ng=stress_ng
    )


def profile(
    rates: Mapping[str, Sequence[float]],
    groups: Mapping[str, Group] | None = None,
    of: System | None = None,
    failed: Mapping[str, str] | None = None,
    quota: Quota | None = None,
) -> Profile:
    """A run of a second for each rate; a stressor in `failed` gave nothing."""
    names = {name: (groups or {}).get(name, "cpu") for name in (*rates, *(failed or {}))}
    repetitions = max((len(found) for found in rates.values()), default=1)
    share = quota.cpus if quota else 1.0
    runs = [
        StressorRun(stressor=name, repetition=at, bogo_ops=rate, wall_s=1, cpu_s=share)
        for name, found in rates.items()
        for at, rate in enumerate(found)
    ]
    runs += [StressorRun(stressor=name, repetition=0, failed=why) for name, why in (failed or {}).items()]
    battery = Battery(seconds=1, repetitions=repetitions, seed=1, stressors=names, quota=quota)
    return Profile(system=of or system(), battery=battery, runs=tuple(runs))
