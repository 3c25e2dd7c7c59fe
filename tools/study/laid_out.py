"""Lay a study out for the machine that this is, and make one of what several machines say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...knowledge.errors import VgoError
from ...knowledge.shape import Frozen
from .design import StudyDesign, Wished, design
from .environment import look
from .factors import Factors
from .topology import allowed_cpus, topology
from .warm_up import WarmUpRun


class StudyScope(Frozen):
    """A study before a machine is known."""

    factors: Factors
    wished: Wished

    def laid_out(self, argv: tuple[str, ...], root: Path = Path("/"), elsewhere: bool = False) -> StudyDesign:
        """Say which settings it has here; `elsewhere`: `root` is a copy of another machine's files."""
        return design(self.factors, look(argv, topology(root, None if elsewhere else allowed_cpus())), self.wished)


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
    return tuple(_one(dict(zip(found, of_setting, strict=True))) for of_setting in zip(*found.values(), strict=True))


def _one(tried: Mapping[str, WarmUpRun]) -> WarmUpRun:
    failing = next((f"on {host}: {its.failure}" for host, its in tried.items() if its.failure), "")
    alike = {its.alike for its in tried.values()}
    first = next(iter(tried.values()))
    update = {
        "failure": failing,
        "alike": first.alike if len(alike) == 1 and not failing else "",
        "wall_s": max(its.wall_s for its in tried.values()),
    }
    return first.model_copy(update=update)
