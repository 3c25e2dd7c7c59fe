"""What a report says, in the order it says it: words and numbers ready to print, no layout."""

from __future__ import annotations

from dataclasses import dataclass

from ...knowledge.schema import Citation
from ...tools.mitigation.checks import Check


@dataclass(frozen=True)
class Fact:
    """A name with what is said of it."""

    name: str
    text: str


@dataclass(frozen=True)
class ColumnRow:
    """One column of the run table."""

    name: str
    unit: str
    role: str
    layer: str
    description: str


@dataclass(frozen=True)
class Winner:
    """The mitigation that the verdict names."""

    key: str
    name: str
    description: str
    command: str
    """As the verdict recorded it; it reproduces the condition that was measured."""
    hurts: str
    keep: tuple[str, ...]


@dataclass(frozen=True)
class StatisticComparison:
    """One statistic of both arms."""

    statistic: str
    baseline: str
    mitigated: str
    ratio: str
    interval: str


@dataclass(frozen=True)
class ComparisonTable:
    """Baseline and mitigated side by side."""

    mitigation: str
    confirmed: bool
    """These are the numbers of the verdict; otherwise those of the best that was tried."""
    batch: int
    pairs: str
    """How many, and whether they took turns one by one or in blocks."""
    rows: tuple[StatisticComparison, ...]
    claim: str
    """The sentence that decides, and where the SD tells another story."""
    p_spread: str
    p_mean: str
    modes: str


@dataclass(frozen=True)
class FactorStory:
    """The factor that goes with the slow runs."""

    key: str
    name: str
    description: str
    column: str
    meaning: str
    facts: tuple[Fact, ...]
    members: tuple[Fact, ...]
    confused_with: tuple[str, ...]
    references: tuple[Citation, ...]


@dataclass(frozen=True)
class RankedRow:
    """A cluster of the ranking in one line."""

    column: str
    factor: str
    members: int
    runs: str
    """In which its layer was on."""
    auc: str
    importance: str
    stability: str
    p: str
    visible: bool
    contrary: bool
    """Slow runs show less of what should be low."""
    shadow: bool
    """It tells nothing beside the visible ones above it."""


@dataclass(frozen=True)
class LayersRow:
    """Layers that were on together, and what they did to the runs."""

    layers: str
    runs: str
    mean: str
    """Shift against bare runs."""
    spread: str
    kept: str
    """kept, or set aside with the reason."""


@dataclass(frozen=True)
class TreeStory:
    """The tree in text, and how far to believe it."""

    text: str
    in_sample: str
    cross_validated: str
    columns: int
    over: str
    """The runs that it was fitted to, where they are not all."""
    depth_zero: bool
    """It asks nothing."""


@dataclass(frozen=True)
class BatchStory:
    """One mitigation, one batch."""

    key: str
    name: str
    batch: int
    pairs: int
    failed: int
    in_force: bool
    checks: tuple[Check, ...]
    told: tuple[str, ...]
    """What happened to settings meanwhile."""
    outcome: str
    spread: str
    """Ratio with the interval that decides."""
    level: str
    p: str
    sd: str
    mean: str
    doubt: str
    """Where the SD tells another story, and why."""
    command: str


@dataclass(frozen=True)
class LevelRow:
    """One level of a parameter that was searched, or the baseline beside it."""

    level: str
    runs: str
    sd: str
    cv: str
    mean: str
    p95: str
    ratio: str
    """Against the baseline, round by round."""
    note: str
    """best, or why it was dropped."""


@dataclass(frozen=True)
class Untried:
    """A mitigation that was not applied, and why."""

    key: str
    name: str
    scope: str
    reason: str
    description: str
    when: str
    hurts: str
    steps: tuple[str, ...]
    command: str
    writes: tuple[str, ...]


@dataclass(frozen=True)
class Try:
    """A command to try by hand."""

    name: str
    when: str
    command: str


@dataclass(frozen=True)
class Suspect:
    """A factor that no counter of this run could have shown."""

    name: str
    description: str
    tries: tuple[Try, ...]


@dataclass(frozen=True)
class HostsStory:
    """How the hosts compare that the runs were made on."""

    reason: str
    """What was found, or why they cannot be compared."""
    shares: str = ""
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    more: str = ""
    drain: str = ""
    """What taking hosts out would do; empty where none is slow or unsteady."""
    lines: tuple[str, ...] = ()
    """Where odd hosts stand out, then what goes with slow runs within hosts and between them."""


@dataclass(frozen=True)
class CallRow:
    """One step of the diagnosis."""

    call: str
    tool: str
    by: str
    """The planner that chose, and why it was the rule policy where that took a model's place."""
    why: str
    result: str


@dataclass(frozen=True)
class RankStory:
    """The ranks of an MPI program."""

    sentence: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Story:
    """All of it; an empty part is left out of the report."""

    command: str
    """As the user typed it."""
    outcome: str
    verdict: str
    sentence: str
    next_steps: tuple[str, ...]
    warnings: tuple[str, ...]
    baseline: tuple[Fact, ...]
    winner: Winner | None
    table: ComparisonTable | None
    factor: FactorStory | None
    ranking: tuple[RankedRow, ...]
    set_aside: tuple[Fact, ...]
    """Reason, and the columns it holds for."""
    set_aside_columns: int
    layers: tuple[LayersRow, ...]
    bare_runs: str
    search: tuple[Fact, ...]
    """How alpha was spent."""
    classes: str
    tree: TreeStory | None
    batches: tuple[BatchStory, ...]
    untried: tuple[Untried, ...]
    suspects: tuple[Suspect, ...]
    shape: tuple[str, ...]
    absent: tuple[Fact, ...]
    how: tuple[Fact, ...]
    machine: tuple[Fact, ...]
    calls: tuple[CallRow, ...]
    tip: str
    verify: str
    """Commands that check the run."""
    levels: tuple[LevelRow, ...] = ()
    parameter: str = ""
    minimise: str = ""
    ranks: RankStory | None = None
    hosts: HostsStory | None = None
    """None where all runs were made on one."""
