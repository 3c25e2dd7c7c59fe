"""What the steps from the baseline to what is known of a factor say, and the verdict; of a ranking it is `ranking`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ..knowledge.schema import Scope
from ..knowledge.shape import Frozen, is_none
from .distortion import Distortion
from .execution.launcher_time import LauncherTime
from .experiment.schedules import LayerSet
from .failures import Failures
from .hosts import Hosts
from .record import Result
from .statistics.association.tree import DecisionTree
from .statistics.labels.classes import Classes
from .statistics.shape.describe import DistributionShape
from .statistics.spread import ArmSummary
from .statistics.values import IntervalEstimate
from .verdict import Verdict


class MeasureResult(Result):
    """The baseline distribution."""

    runs: int
    """Runs that count, warm-up left out."""
    failed: int
    failures: tuple[Failures, ...] = ()
    """The failed ones by what they ended with and said."""
    survivors: int
    """Processes that runs left behind; they were ended."""
    warm_up: int
    """First runs left out as a start-up transient."""
    stopped_by: str
    """The rule in two words ("spread known", ...), or "run cap", "time cap"."""
    stop_rule: str = "spread"
    stop_reason: str = ""
    """What the rule said at its last look."""
    spent_s: float
    outcome: ArmSummary
    sd_interval: IntervalEstimate | None
    """95 %, in the unit of the outcome; None where it is undefined."""
    processes: int = 0
    """Times that the program was started; 0: once for each run, as always where runs are not the samples of one."""
    shape: DistributionShape
    unusable: str = ""
    """Why these runs cannot say anything, with the cure; empty when they can."""
    steady: bool
    """The coefficient of variation is at or below the limit asked for."""
    hosts: Hosts | None = Field(default=None, exclude_if=is_none)
    launcher: LauncherTime | None = Field(default=None, exclude_if=is_none)
    """Of wall times through a launcher: how much of them is its own."""
    pairs_needed: int
    """Pairs that show the target ratio of SDs with 80 % power on this distribution."""

    @property
    def started(self) -> int:
        """Times that the program was started."""
        return self.processes or self.runs + self.failed + self.warm_up


class ProfileResult(Result):
    """The distribution with counters beside it."""

    layers: tuple[str, ...]
    """By spec, those that were on in some runs."""
    later: tuple[str, ...] = ()
    """Heavy layers that wait for a second look, should this one show no factor."""
    unavailable: dict[str, str] = {}
    """Layers that were wanted and can show nothing here, with the reason and the cure."""
    runs: int
    """Profiled runs that count and stand: not bare, and not with layers that were set aside."""
    failed: int
    failures: tuple[Failures, ...] = ()
    """The failed ones by what they ended with and said, bare ones among them."""
    spent_s: float
    outcome: ArmSummary
    """Of those runs; of all profiled ones where none stand, and of bare ones where all of these failed."""
    bare: ArmSummary | None
    """Of the runs without any layer, made between the others."""
    distortions: tuple[Distortion, ...]
    columns: int
    absent: dict[str, dict[str, str]]
    """Layer to columns that this machine does not show, with the reason."""
    busy_cpus: float | None
    """CPUs that it had or waited for, the median over runs: above 1, several work at once; None where not read."""
    peak_bytes: float | None = None
    """The largest resident set of one of its processes; None where it was not read."""
    hosts: Hosts | None = Field(default=None, exclude_if=is_none)

    @property
    def standing(self) -> tuple[LayerSet, ...]:
        """The sets of layers that were not set aside."""
        return tuple(found.layers for found in self.distortions if not found.set_aside)

    @property
    def waiting(self) -> tuple[str, ...]:
        """Layers for a second look: those that wait, or the first one alone where none stands beside the others."""
        alone = self.layers[:1] if len(self.layers) > 1 and not self.standing else ()
        return self.later or alone

    @property
    def hidden(self) -> dict[str, str]:
        """What layers cannot show here, columns that share a reason together, and whole layers, to the reason."""
        named: dict[str, str] = {}
        for spec, columns in self.absent.items():
            for reason in dict.fromkeys(columns.values()):
                names = (name for name, its in columns.items() if its == reason)
                named[f"{spec}: {', '.join(names)}"] = reason
        return named | {f"the layer {spec}": why for spec, why in self.unavailable.items()}


class RunClasses(Classes):
    """Classes with one entry a run: a profile is short enough to stand in the transcript."""

    slow: tuple[bool, ...]
    """The worst class."""


class LabelResult(Result):
    """Which profiled runs are slow."""

    classes: RunClasses
    shape: DistributionShape
    """Of the profiled runs."""


class FitTreeResult(Result):
    """The tree with its honest accuracy."""

    tree: DecisionTree
    columns: int
    """Columns that it could choose from."""
    layers: tuple[str, ...]
    """Whose columns those are; where layers took turns, those that explain best."""
    runs: int
    """Runs with these layers on."""


class Candidate(Frozen):
    """A mitigation of the factor."""

    mitigation: str
    name: str
    scope: Scope
    automatic: bool
    """The tool can apply it; otherwise `steps` say what a person does."""
    unmet: tuple[str, ...]
    """Why it cannot be tried here; empty when it can."""
    description: str
    when: str
    hurts: str
    changes_promise: str = ""
    """What the program or its user can no longer rely on; it needs a yes of its own. Empty: nothing."""
    steps: tuple[str, ...]
    command: str
    """The command line that applies it by hand; empty where there is none."""
    writes: tuple[str, ...]
    """`path = value` for each kernel file that it would write."""


class LookUpResult(Result):
    """An entry of the knowledge base, and its mitigations in the order to try them."""

    asked: str
    """As the planner named it."""
    found_by: Literal["key", "column", "search"]
    """search: no entry lists it, this one is the nearest in words."""
    factor: str
    name: str
    description: str
    candidates: tuple[Candidate, ...]
    references: tuple[str, ...]
    uncounted: bool = False
    """No counter shows it, so only its first mitigation that can be tried is tried: it tells whether this is it."""

    @property
    def offered(self) -> tuple[Candidate, ...]:
        """Mitigations that the tool can try here."""
        ready = tuple(one for one in self.candidates if one.automatic and not one.unmet)
        return ready[:1] if self.uncounted else ready


class PredictResult(Result):
    """The configuration that the surface expects to be the best."""

    source: str
    """Folder of the surface."""
    response: str
    unit: str
    config: dict[str, float | str]
    value: float
    """Predicted response there, in the unit of the surface."""
    low: float | None
    high: float | None
    """90 %, of the response of a cell that is measured there."""
    mean: float | None
    extrapolated: str
    """Why it is not to be relied on; empty inside what was measured."""
    measured: bool
    """A cell of the sweep stands there."""
    near: int
    """Other configurations that may well be as good."""
    cells: int


class ConcludeResult(Result):
    """The verdict, with the calls it rests on."""

    verdict: Verdict
    plain: str
    """The verdict in plain words."""
