"""What a tool may know of a simulated world, and valid results made of drawn numbers: no run is made."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

from scipy.special import ndtri

from ..knowledge.loader import Knowledge
from .case import Case
from .claim import Claim, TooFew, margin_of
from .distortion import Distortion
from .findings import Findings
from .record import Record, ToolError
from .results import LookUpResult, ProfileResult
from .statistics.ratio_test import FEWEST, Measure
from .statistics.shape.describe import DistributionShape, Mode
from .statistics.shape.distribution import Outliers
from .statistics.spread import ArmSummary
from .subject import Limits

WorldKind = Literal["cause", "hidden", "nothing", "steady", "unusable", "distorted"]
"""cause: counters show what makes runs slow; hidden: none does, and trying can tell; nothing: there is no cause."""
HEAVY = ("perf", "strace", "osnoise")
"""Layers that wait for a second look, where the user has chosen them."""


@dataclass(frozen=True)
class Lead:
    """A factor that goes with slow runs by more than luck."""

    factor: str
    """Key of the knowledge base, or a column that it does not have."""
    contrary: bool
    heavy: bool
    """Only heavy layers show it."""
    auc: float
    p_value: float


@dataclass(frozen=True)
class World(ABC):
    """One program on one machine, and what is true of it."""

    seed: int
    kind: WorldKind
    limits: Limits
    run_s: float
    """Mean seconds of a run."""
    cv: float
    enough: int
    """Runs at which the stopping rule is content."""
    noise: float
    """Error of the log of an SD ratio from a single pair; it falls with the root of the pairs."""
    needed: int
    """Pairs that show the target."""
    busy_cpus: float
    clumsy: float
    """Share of calls that end in an error."""
    approves: bool
    """The user lets settings of the system be changed when asked."""
    causes: tuple[str, ...]
    """Factors that make runs slow."""
    leads: tuple[Lead, ...]
    unseen: int
    """Factors that do not go with slow runs, and are ranked all the same."""

    def chance(self, what: str) -> random.Random:
        """Draw for one purpose, the same whenever it comes."""
        return random.Random(f"{self.seed}:{what}")

    @property
    @abstractmethod
    def known(self) -> Knowledge:
        """The knowledge base."""

    @abstractmethod
    def effect(self, mitigation: str) -> float:
        """Give the true ratio of SDs with a mitigation over without."""

    @abstractmethod
    def case(self, record: Record) -> Case:
        """Give what a tool may look at there."""

    @abstractmethod
    def looked_up(self, factor: str) -> LookUpResult:
        """Look a factor up there."""

    @abstractmethod
    def without_counters(self) -> tuple[str, ...]:
        """Name the factors that no counter shows and that can be tried there."""


def stumble(world: World, chance: random.Random) -> None:
    """End a call in an error, by bad luck."""
    if chance.random() < world.clumsy:
        raise ToolError("No run ended well.")


def shown(world: World, findings: Findings) -> tuple[Lead, ...]:
    """What the layers of the last profile can show."""
    second = len(findings.profiles) > 1
    return tuple(lead for lead in world.leads if lead.heavy == second)


def summary_of(n: int, median: float, cv: float) -> ArmSummary:
    """Make the numbers of one arm, skewed a little as run times are."""
    sd = cv * median
    return ArmSummary(
        n=n,
        dropped=0,
        mean=median + sd / 4,
        median=median,
        sd=sd,
        cv=cv,
        mad=0.6 * sd,
        iqr=1.3 * sd,
        p5=median * math.exp(-1.3 * cv),
        p95=median + 2.0 * sd,
        p99=median + 3.0 * sd,
        minimum=median * math.exp(-1.6 * cv),
        maximum=median + 3.5 * sd,
    )


def shape_of(n: int, median: float, modes: int, tail: bool) -> DistributionShape:
    """Make the shape of a distribution."""
    humps = tuple(Mode(position=median * (1 + 0.5 * nth), weight=1 / modes) for nth in range(modes))
    cuts = tuple(median * (1.25 + 0.5 * nth) for nth in range(modes - 1))
    return DistributionShape(
        n=n,
        modes=humps,
        valley=cuts[0] if cuts else None,
        valleys=cuts,
        right_tail=tail,
        left_tail=False,
        right_weight=0.05 if tail else 0.0,
        left_weight=0.0,
        outliers=Outliers(count=0, rule="drawn", low=None, high=None, places=(), values=()),
        ordered=True,
        drift=False,
        warm_up=0,
        change_points=(),
        shifts=0,
        lag1=0.0,
        effective_runs=float(n),
        resolution=None,
        clock_too_coarse=False,
        all_equal=False,
    )


def profiled(
    layers: tuple[str, ...], later: tuple[str, ...], runs: int, spent_s: float, busy_cpus: float, set_aside: str
) -> ProfileResult:
    """Make the result of a profile with one set of layers."""
    seen = summary_of(runs, spent_s / runs, 0.1)
    return ProfileResult(
        layers=layers,
        later=later,
        runs=0 if set_aside else runs,
        failed=0,
        spent_s=spent_s,
        outcome=seen,
        bare=seen,
        distortions=(Distortion(layers=layers, runs=runs, mean=None, spread=None, set_aside=set_aside),),
        columns=40,
        absent={},
        busy_cpus=busy_cpus,
        summary=f"{runs} runs.",
    )


def drawn_claim(measure: Measure, log: float, error: float, pairs: int, alpha: float) -> Claim | TooFew:
    """Make a claim: the estimate with the interval of the normal law."""
    if pairs < FEWEST:
        return TooFew(units=(pairs, pairs), why="too few pairs")
    beyond = -float(ndtri(alpha / 2)) * error
    return Claim(
        measure=measure,
        ratio=math.exp(log),
        low=math.exp(log - beyond),
        high=math.exp(log + beyond),
        level=1 - alpha,
        p_value=math.erfc(abs(log / error) / math.sqrt(2)),
        units=(pairs, pairs),
        design="randomised",
        margin=margin_of(measure),
    )
