"""What is diagnosed, within which limits, and what else the user decided: the options of one diagnosis."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from ..knowledge.loader import Knowledge
from ..knowledge.schema import Mitigation
from ..knowledge.shape import Frozen, is_empty
from .amount import LONGEST, MOST
from .statistics.stopping.rules import DEFAULT, RULES

if TYPE_CHECKING:
    Stop = str
else:
    Stop = Literal[tuple(RULES)]


"""The stopping rules by name, as `statistics.stopping.rules` lists them."""
NANOSECONDS = {"s": 1e9, "ms": 1e6, "us": 1e3, "µs": 1e3, "ns": 1.0}
"""In one of a unit of time."""
WALL_TIME, UNNAMED = "wall time", "outcome"
_GROUP = re.compile(r"(?<!\\)\((?!\?[:=!<])")
"""The first group that captures."""
_NOT_TEXT = re.compile(r"\\[A-Za-z]|\[(?:\\.|[^\]])*\]|\{[^}]*\}|[\\^$*+?.|()]")
"""Classes, quantifiers and anchors: what matches, and is not what the program prints."""
_ESCAPED = re.compile(r"\\(\s)")
_WORDS = re.compile(r"[^\W\d_][\w/%-]*(?: [^\W\d_][\w/%-]*)*")
Allow = Literal["none", "process", "system"]
OnFailure = Literal["count", "stop"]
"""count: a failed run is counted and told, and the rest goes on; stop: the first one of the program as it is given
ends all."""
LOCAL = "local"
"""The launcher that adds nothing, not even the name of the host."""
Aim = Literal["sd", "mean"]
"""What a search makes small."""
NO_MORE = "asked to stop asking"
"""The reason of a refusal after which nothing more is offered to be done by hand."""


def outcome_name(metric: str | None, unit: str) -> str:
    """Name an outcome by what the program prints before the number, else after it, without the unit.

    `time_ms: ([0-9.]+)` in ms is `time`, `([0-9]+) requests` is `requests`; no metric is the wall time.
    """
    if metric is None:
        return WALL_TIME
    group = _GROUP.search(metric)
    before, after = (metric, "") if group is None else (metric[: group.start()], metric[group.end() :])
    found = [*reversed(_words(before, unit)), *_words(after.partition(")")[2], unit)]
    return found[0] if found else UNNAMED


def _text(pattern: str) -> str:
    """Leave what is printed as it stands, with a line end for all that is matched."""
    return _NOT_TEXT.sub("\n", _ESCAPED.sub(r"\1", pattern))


def _words(pattern: str, unit: str) -> list[str]:
    """List the stretches of words in part of a pattern; a unit is none."""
    ending = re.compile(rf"(?:^|[\s_]){re.escape(unit)}$", re.IGNORECASE) if unit else re.compile(r"(?!)")
    stretches = (ending.sub("", stretch).strip() for stretch in _WORDS.findall(_text(pattern)))
    return [stretch for stretch in stretches if stretch]


class Subject(Frozen):
    """The program and how its outcome is read."""

    command: tuple[str, ...]
    """As the user typed it."""
    argv: tuple[str, ...]
    """As it is spawned: program resolved, a shell only if asked for."""
    shell: bool = False
    directory: str
    metric: str | None = None
    """A regular expression over standard output; its first group is the outcome. None: wall time.
    With `per_iteration`, the name of a field."""
    per_iteration: str | None = None
    """Each line that the program prints is one sample: `csv`, `json`, or a regular expression with named groups."""
    unit: str = "s"
    lower_is_better: bool = True
    timeout_s: float | None = None
    on_failure: OnFailure = "count"
    launcher: str = LOCAL
    """Spec of the launcher that starts it; local: started directly."""
    root: str = "/"
    """Where the machine's /proc and /sys are looked for."""
    inputs: tuple[str, ...] = ()
    """Files that the program reads: those among its arguments, and those the user named."""
    on: str = Field(default="", exclude_if=is_empty)
    """Address of a Dask scheduler, or a file that names a cluster, on whose hosts it runs; empty: on this one."""
    mixed: bool = Field(default=False, exclude_if=is_empty)
    """Hosts that differ are welcome."""

    @property
    def typed(self) -> str:
        """The command as its user typed it; a shell line is not quoted once more."""
        return " ".join(self.command) if self.shell else shlex.join(self.command)

    @property
    def counted(self) -> str:
        """What a row of the run table is."""
        return "runs" if self.per_iteration is None else "samples"

    @property
    def outcome(self) -> str:
        """What a run is judged by, in words."""
        if self.per_iteration is not None:
            return f"{self.metric} of each sample"
        return "wall time" if self.metric is None else f"/{self.metric}/"

    @property
    def ns_each(self) -> float:
        """Nanoseconds in one of its unit; 0 where the outcome is no time."""
        return NANOSECONDS.get(self.unit, 0.0)

    @property
    def times_part(self) -> bool:
        """The outcome is a time that the program printed, of a part of the run."""
        return self.metric is not None and self.per_iteration is None and self.ns_each > 0

    @property
    def name(self) -> str:
        """The same in a word or two, for pictures."""
        return outcome_name(self.metric, self.unit)


class Limits(Frozen):
    """How far to go; every decision that depends on spending uses recorded times only."""

    min_runs: Annotated[int, Field(ge=2, le=MOST)] = 30
    max_runs: Annotated[int, Field(ge=2, le=MOST)] = 500
    """For one condition."""
    stop: Stop = DEFAULT.name
    """When the baseline has been measured often enough; the caps in runs and seconds hold beside it."""
    stop_at: Annotated[float, Field(gt=0, le=LONGEST)] | None = None
    """The target of that rule, in its own unit; None: the rule's own."""
    budget_s: Annotated[float, Field(gt=0, le=LONGEST)] = 600.0
    """Seconds by the clock, from the start of the command to its verdict and report."""
    target_ratio: Annotated[float, Field(gt=0, lt=1)] = 0.66
    """Stop when the upper bound of the spread ratio falls below it."""
    steady_cv: Annotated[float, Field(ge=0, le=LONGEST)] = 0.01
    """At or below this coefficient of variation there is nothing to reduce."""
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    max_mitigations: Annotated[int, Field(ge=0, le=MOST)] = 12
    """Tried at most, over all factors."""
    allow: Allow = "process"
    accept: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """Mitigations that change what the program promises, and may be applied all the same."""
    seed: Annotated[int, Field(ge=0, le=MOST)] = 1
    layers: tuple[str, ...] = ("process",)


class LevelSearch(Frozen):
    """Levels of one parameter, each against the others."""

    parameter: str
    levels: tuple[str, ...]
    """In the order asked for; what is dropped first is decided by the runs, not by this order."""
    minimise: Aim = "sd"


class TrialPlan(Frozen):
    """Recorded with the run, since what may be done next depends on it."""

    mitigation: str = ""
    """The only one to try; empty: those of the factors that are found."""
    values: dict[str, str] = {}
    """Of its parameters; those not named have their defaults."""
    pairs: Annotated[int, Field(ge=2, le=10_000)] | None = None
    """Of a batch; None: as many as the baseline's spread asks for."""
    by_hand: bool = False
    """A person applies it, between two series of runs."""
    search: LevelSearch | None = None
    after: str = ""
    """Name of the recorded run whose baseline is taken; empty: it is measured now."""
    own: Mitigation | None = None
    """As the user's file says it; None: it ships with vgo-agent."""
    source: str = ""
    """That file; empty with None."""
    surface: str = Field(default="", exclude_if=is_empty)
    """Folder of a surface of this program, asked where nothing that was tried has reached the target; empty: none."""

    @property
    def file(self) -> Path | None:
        """Where the mitigation was read, if not among those that ship."""
        return Path(self.source) if self.source else None

    def known(self, knowledge: Knowledge) -> Knowledge:
        """Add the user's own mitigation to what is known."""
        if self.own is None:
            return knowledge
        return replace(knowledge, mitigations={**knowledge.mitigations, self.own.key: self.own})


NO_PLAN = TrialPlan()
