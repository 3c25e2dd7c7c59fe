"""Valid results made of drawn numbers; nothing is computed from runs, for there are none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ...tools.base import Result
from ...tools.case import Finished, Store
from ...tools.distortion import Distortion
from ...tools.profile import ProfileResult
from ...tools.statistics.shape.describe import DistributionShape, Mode
from ...tools.statistics.shape.tails import Outliers
from ...tools.statistics.spread import ArmSummary

R = TypeVar("R", bound=Result)


class _Nothing:
    """No artefact is kept."""

    def get(self, sha256: str) -> bytes:
        raise KeyError(sha256)


NOTHING: Store = _Nothing()


@dataclass(frozen=True)
class Made(Finished):
    """A finished call that keeps its result as it was made, so that reading it again costs nothing."""

    made: Result | None = None

    @classmethod
    def of(cls, call_id: str, tool: str, arguments: Mapping[str, Any], made: Result) -> Made:
        """End a call with a result."""
        return cls(call_id, tool, arguments, made.model_dump(mode="json"), {}, made=made)

    def read(self, kind: type[R]) -> R:
        """Give it as it was made."""
        return self.made if isinstance(self.made, kind) else super().read(kind)


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
