"""Which settings a study runs: crossed factors, then each level of the others alone; what cannot be had, and why."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ...knowledge.errors import VgoError
from ...knowledge.shape import Frozen
from ...layers.probes.clock import clocks
from ..row import BASELINE
from ..sweep.where import condition
from .factors import THREADS, Factor, FactorLevel, Factors, StudyEnvironment, allowed_cpus, look, topology
from .setting import StudySetting, placed
from .warm_up import WarmUpRun

MOST = 60
"""Settings of a study unless the user says more."""
LIMITED = ("mean", "sd", "cv")
LIMIT_NAMES = (*LIMITED, "best")
"""What a limit of a recommendation may speak of, of each setting."""


class Skipped(Frozen):
    """A level that cannot be had, or something that cannot be seen."""

    factor: str
    level: str
    reason: str


def by_reason(skipped: Iterable[Skipped]) -> list[str]:
    """Say what cannot be had and why, levels of one reason together."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in skipped:
        reasons.setdefault((one.factor, one.reason), []).append(one.level)
    return [f"{factor} {', '.join(levels)}: {why}" for (factor, why), levels in reasons.items()]


class StudyFactor(Frozen):
    """A factor with the levels that it has here; the first is the one at which the others are studied."""

    key: str
    question: str
    levels: tuple[str, ...]
    crossed: tuple[str, ...]
    """Levels that are crossed with those of the other crossed factors; empty: it is studied alone."""


class StudyDesign(Frozen):
    """The settings of a study."""

    machine: str
    factors: tuple[StudyFactor, ...]
    settings: tuple[StudySetting, ...]
    """The baseline first."""
    skipped: tuple[Skipped, ...]
    subject_to: str = ""
    """What a setting has to keep to, to be recommended."""

    def at(self, levels: Mapping[str, str]) -> StudySetting | None:
        """Find the setting of these levels."""
        return next((one for one in self.settings if one.levels == levels), None)

    @property
    def centre(self) -> dict[str, str]:
        """The levels at which single factors are studied."""
        return {factor.key: factor.levels[0] for factor in self.factors}

    @property
    def varied(self) -> tuple[str, ...]:
        """Factors of which there is more than one level."""
        return tuple(factor.key for factor in self.factors if len(factor.levels) > 1)

    @property
    def crossed(self) -> tuple[StudyFactor, ...]:
        """Factors that are crossed."""
        return tuple(factor for factor in self.factors if factor.crossed)


@dataclass(frozen=True)
class Wished:
    """What the user asks of a design."""

    factors: tuple[str, ...] = ()
    """Only these are varied; empty: all."""
    cross: tuple[str, ...] = ()
    """These are crossed; empty: those that the file crosses."""
    binaries: tuple[tuple[str, str], ...] = ()
    """Name and path of other builds of the program."""
    most: int = MOST
    subject_to: str = ""


def design(factors: Factors, here: StudyEnvironment, wished: Wished = Wished()) -> StudyDesign:  # noqa: B008 (frozen)
    """Lay out the study for a machine; raises VgoError where nothing can be varied, or too much."""
    _refuse_unknown(factors, wished)
    if wished.subject_to:
        condition(wished.subject_to, LIMIT_NAMES, "--subject-to")
    skipped: list[Skipped] = []
    found = [_available(_with_binaries(factor, wished), here, wished, skipped) for factor in factors.factors]
    studied = [_studied(factor, levels, wished) for factor, levels in found]
    levels = {factor.key: {level.key: level for level in given} for factor, given in found}
    governed = tuple(dict.fromkeys(name for factor in factors.factors for name in factor.variables))
    make = partial(_setting, here=here, levels=levels, studied=studied, governed=governed)
    settings = tuple(make(chosen) for chosen in _combinations(studied))
    if not any(len(factor.levels) > 1 for factor in studied):
        why = "; ".join(by_reason(skipped))
        raise VgoError(
            f"There is nothing to vary here ({why}): use a machine with more cores, or name other --factors."
        )
    if len(settings) + 1 > wished.most:
        raise VgoError(
            f"The study has {len(settings) + 1} settings, and {wished.most} are the most: cross fewer factors with "
            "--cross, study fewer with --factors, or raise --most."
        )
    return StudyDesign(
        machine=here.topology.described(),
        factors=tuple(studied),
        settings=(StudySetting(name=BASELINE), *settings),
        skipped=tuple(skipped),
        subject_to=wished.subject_to,
    )


def _refuse_unknown(factors: Factors, wished: Wished) -> None:
    known = [factor.key for factor in factors.factors]
    for flag, names in (("--factors", wished.factors), ("--cross", wished.cross)):
        for name in names:
            if name not in known:
                raise VgoError(f"{flag} {name}: there is no such factor; there are {', '.join(known)}.")
    for name in wished.cross:
        if wished.factors and name not in wished.factors:
            raise VgoError(f"--cross {name} is not among --factors: name it there too.")


def _with_binaries(factor: Factor, wished: Wished) -> Factor:
    if factor.key != "runtime" or not wished.binaries:
        return factor
    more = tuple(
        FactorLevel(key=name, program=path, description=f"the binary {path}", cross=False)
        for name, path in wished.binaries
    )
    return factor.model_copy(update={"levels": (*factor.levels, *more)})


def _available(
    factor: Factor, here: StudyEnvironment, wished: Wished, skipped: list[Skipped]
) -> tuple[Factor, tuple[FactorLevel, ...]]:
    """Give the levels that can be had, the first alone where the factor is not to be varied."""
    if factor.key == THREADS:
        return factor, tuple(_thread_levels(factor, here, wished, skipped))
    asked = factor.key in wished.factors
    trusting = replace(here, runtime_schedule=True) if asked else here  # the user knows the program
    levels = []
    for level in factor.levels:
        if why := trusting.why_not(level):
            if _varied(factor, wished):
                skipped.append(Skipped(factor=factor.key, level=level.key, reason=why))
        else:
            levels.append(level)
    if not levels:
        raise VgoError(f"The factor {factor.key} has no level that this machine has: add one without needs to it.")
    return factor, tuple(levels) if _varied(factor, wished) else (levels[0],)


def _varied(factor: Factor, wished: Wished) -> bool:
    return not wished.factors or factor.key in wished.factors or (factor.key == "runtime" and bool(wished.binaries))


def _thread_levels(
    factor: Factor, here: StudyEnvironment, wished: Wished, skipped: list[Skipped]
) -> Iterator[FactorLevel]:
    """All cores first, then all but some, then 1, 2, 4, ... cores."""
    n = len(here.topology.cores)
    spared = [n - spare for spare in factor.spare if spare < n]
    doubled = [1 << power for power in range(n.bit_length()) if 1 << power < n] if factor.doubling else []
    counts = dict.fromkeys((n, *spared, *sorted(doubled, reverse=True)))
    if not _varied(factor, wished):
        counts = {n: None}
    elif too_many := [spare for spare in factor.spare if spare >= n]:
        words = f"{', '.join(map(str, too_many))} left to the system"
        are = "is only one core" if n == 1 else f"are {n} cores"
        skipped.append(Skipped(factor=THREADS, level=words, reason=f"there {are}"))
    crossed = {n - spare for spare in factor.crossed_spare}
    yield from (FactorLevel(key=str(count), cross=count in crossed) for count in counts)


def _studied(factor: Factor, levels: Sequence[FactorLevel], wished: Wished) -> StudyFactor:
    crossing = factor.key in wished.cross if wished.cross else factor.cross
    crossed = tuple(level.key for level in levels if level.cross)
    return StudyFactor(
        key=factor.key,
        question=factor.question,
        levels=tuple(level.key for level in levels),
        crossed=crossed if crossing and len(crossed) > 1 else (),
    )


def _combinations(studied: Sequence[StudyFactor]) -> Iterator[dict[str, str]]:
    """Cross what is crossed at the first levels of the rest, then change one factor at a time."""
    centre = {factor.key: factor.levels[0] for factor in studied}
    crossed = [factor for factor in studied if factor.crossed]
    for chosen in itertools.product(*(factor.crossed for factor in crossed)):
        yield centre | dict(zip((factor.key for factor in crossed), chosen, strict=True))
    for factor in studied:
        for level in factor.levels[1:]:
            if level not in factor.crossed:
                yield centre | {factor.key: level}


def _setting(
    chosen: dict[str, str],
    here: StudyEnvironment,
    levels: Mapping[str, Mapping[str, FactorLevel]],
    studied: Sequence[StudyFactor],
    governed: tuple[str, ...],
) -> StudySetting:
    picked = {key: levels[key][level] for key, level in chosen.items()}
    setting = placed([picked[key] for key in chosen if key != THREADS], int(chosen[THREADS]), here)
    return setting.model_copy(update={"name": _name(chosen, studied), "levels": chosen, "unset": governed})


def _name(chosen: Mapping[str, str], studied: Sequence[StudyFactor]) -> str:
    """Name the levels of what is crossed, and what else is not as in the others."""
    crossed = [_word(factor.key, chosen[factor.key]) for factor in studied if factor.crossed]
    others = [
        _word(factor.key, chosen[factor.key])
        for factor in studied
        if not factor.crossed and chosen[factor.key] != factor.levels[0]
    ]
    return "/".join([*crossed, *others]) or "centre"


def _word(factor: str, level: str) -> str:
    return f"{level}c" if factor == THREADS else level.replace(" ", "_")


class StudyScope(Frozen):
    """A study before a machine is known."""

    factors: Factors
    wished: Wished

    def laid_out(self, argv: tuple[str, ...], root: Path = Path("/"), elsewhere: bool = False) -> StudyDesign:
        """Say which settings it has here; `elsewhere`: `root` is a copy of another machine's files."""
        cores = topology(root, None if elsewhere else allowed_cpus())
        found = design(self.factors, look(argv, cores), self.wished)
        clock = clocks(root, [cpu for core in cores.cores for cpu in core.cpus])
        if not isinstance(clock, str):
            clock.close()
            return found
        unseen = Skipped(factor="clock", level="of the CPUs", reason=clock)
        return found.model_copy(update={"skipped": (*found.skipped, unseen)})


def one_design(found: Mapping[str, StudyDesign]) -> StudyDesign:
    """Give the design of all hosts; raises VgoError where they are not the same."""
    first, *others = found
    for name in others:
        if found[name] != found[first]:
            raise VgoError(
                f"The hosts lay the study out differently: {first} has {_words(found[first])}, {name} has "
                f"{_words(found[name])}; study hosts that are alike, with a scheduler for each kind."
            )
    return found[first]


def _words(found: StudyDesign) -> str:
    return f"{len(found.settings)} settings ({found.machine})"


def one_warm_up(found: Mapping[str, Sequence[WarmUpRun]]) -> tuple[WarmUpRun, ...]:
    """Make one of the warm-up runs of several hosts: what fails on one is left out, what is alike is so on all."""
    return tuple(
        _of_all_hosts(dict(zip(found, of_setting, strict=True))) for of_setting in zip(*found.values(), strict=True)
    )


def _of_all_hosts(tried: Mapping[str, WarmUpRun]) -> WarmUpRun:
    failing = next((f"on {host}: {its.failure}" for host, its in tried.items() if its.failure), "")
    alike = {its.alike for its in tried.values()}
    first = next(iter(tried.values()))
    update = {
        "failure": failing,
        "alike": first.alike if len(alike) == 1 and not failing else "",
        "wall_s": max(its.wall_s for its in tried.values()),
    }
    return first.model_copy(update=update)
