"""The space of a sweep, as its file or a line gives it: parameters, levels, the design, repetitions and the budget."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, ValidationError, model_validator

from ...knowledge.errors import VgoError
from ...knowledge.files import duplicate_keys, first, read_model
from ...knowledge.shape import Frozen, Key
from ..amount import LONGEST, MOST
from ..experiment.experiment import UNLIMITED, Limit
from ..row import FIXED
from .where import WhereClause, WhereRefusal, condition

Level = int | float | str
DIGITS = 6
"""Of a number that was drawn from a range: more would only make commands hard to read."""
EXAMPLES = Path(__file__).parent / "examples"
Target = Literal["argument", "affinity", "threads", "frequency", "scheduler", "cpu_quota", "memory"]
Response = Literal["sd", "cv", "mean", "median", "p95", "p99"]
Number = Annotated[int | float, Field(allow_inf_nan=False, ge=-1e18, le=1e18)]
OFF, ON = "off", "on"
RESERVED = {*FIXED, "batch", "round", "reason", "cell", "why"}
"""Columns of the tables that a sweep writes; the statistics of a cell give way to a parameter of their name."""
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_KNOB = re.compile(r"([a-z][a-z0-9_]*)\.([a-z][a-z0-9_]*)")
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE]-?\d+)?")
FORM = "write NAME=LEVEL,LEVEL, several with spaces between, for example 'size=1000,2000 threads=1,2'"


def shown(level: Level) -> str:
    """Write a level as the program gets it: no exponent, and 1.0 as 1."""
    if isinstance(level, float):
        text = format(Decimal(repr(level)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return str(level)


def tidy(value: float, whole: bool) -> int | float:
    """Round a number that was drawn."""
    return int(round(value)) if whole else float(f"{value:.{DIGITS}g}")


class LevelRange(Frozen):
    """Every number from `low` to `high`."""

    low: Number
    high: Number
    integer: bool = False
    log: bool = False
    """Even steps of the logarithm, as suits sizes."""
    steps: Annotated[int, Field(ge=2, le=1000)] = 3
    """Levels of it in a full grid, both ends among them."""

    @model_validator(mode="after")
    def _forward(self) -> LevelRange:
        if self.low >= self.high:
            raise ValueError("low is not below high: swap them, or give one level")
        if self.log and self.low <= 0:
            raise ValueError("a log range needs low above zero")
        return self

    def at(self, share: float) -> int | float:
        """Give the number at a share of the way, 0 to 1."""
        if self.log:
            return tidy(math.exp(math.log(self.low) + share * math.log(self.high / self.low)), self.integer)
        return tidy(self.low + share * (self.high - self.low), self.integer)


class Parameter(Frozen):
    """One thing that is varied, by levels or over a range; without more it is `{name}` in the command."""

    description: str = ""
    unit: str = ""
    levels: tuple[int | float | str, ...] = ()
    range: LevelRange | None = None
    to: Target = "argument"
    """affinity: a list of CPUs such as 0-1,4; threads: OMP_NUM_THREADS and its kin; frequency: MHz at most;
    scheduler: of disks; cpu_quota: per cent of one CPU; memory: MiB; the last two of a control group of the run."""
    environment: str = ""
    """The variable that it is put in."""
    mitigation: str = ""
    """The mitigation that is applied; with `parameter` at that level, without it off or on."""
    parameter: str = ""
    device: Annotated[str, Field(pattern=r"^[A-Za-z0-9*_-]+$")] = "*"
    """The disk of a scheduler, such as vda."""

    @model_validator(mode="before")
    @classmethod
    def _switch(cls, given: Any) -> Any:
        """A mitigation without a parameter is off or on, which YAML reads as false and true."""
        if not isinstance(given, Mapping):
            return given
        levels = given.get("levels")
        switch = "mitigation" in given and "parameter" not in given
        if switch and levels is None and "range" not in given:
            return {**given, "levels": (OFF, ON)}
        if isinstance(levels, list) and any(isinstance(level, bool) for level in levels):
            if not switch:
                raise ValueError("YAML reads on, off, yes and no as true or false: put such levels in quotes")
            switched = [(ON if level else OFF) if isinstance(level, bool) else level for level in levels]
            return {**given, "levels": switched}
        return given

    @model_validator(mode="after")
    def _whole(self) -> Parameter:
        if bool(self.levels) == (self.range is not None):
            raise ValueError("give levels or a range, one of them")
        if sum((self.to != "argument", bool(self.environment), bool(self.mitigation))) > 1:
            raise ValueError("it goes to one place: give one of to, environment and mitigation")
        if self.parameter and not self.mitigation:
            raise ValueError("parameter is one of a mitigation: name the mitigation")
        if self.mitigation and not self.parameter and not set(map(shown, self.levels)) <= {OFF, ON}:
            raise ValueError("a mitigation without a parameter is off or on: name its parameter")
        if any(isinstance(level, float) and not math.isfinite(level) for level in self.levels):
            raise ValueError("a level is no finite number")
        return self

    @property
    def sets(self) -> bool:
        """It sets something beside the command."""
        return bool(self.environment or self.mitigation or self.to != "argument")

    @property
    def numeric(self) -> bool:
        """Every level is a number."""
        return self.range is not None or not any(isinstance(level, str) for level in self.levels)

    def grid(self) -> tuple[Level, ...]:
        """Levels of a full grid, as they are written: some may be equal."""
        if self.range is None:
            return self.levels
        last = self.range.steps - 1
        return tuple(self.range.at(step / last) for step in range(self.range.steps))

    def at(self, share: float) -> Level:
        """Give the level at a share of the way, 0 up to but without 1; levels have equal parts of it."""
        if self.range is None:
            return self.levels[min(int(share * len(self.levels)), len(self.levels) - 1)]
        if self.range.integer and not self.range.log:
            return int(self.range.low + math.floor(share * (self.range.high - self.range.low + 1)))
        return self.range.at(share)


class SweepDesign(Frozen):
    """Which cells are run."""

    kind: Literal["grid", "lhs", "adaptive"] = "grid"
    cells: Annotated[int, Field(ge=1, le=100_000)] = 20
    """Of a Latin hypercube, and of an adaptive design at most."""
    start: Annotated[int, Field(ge=2, le=MOST)] = 8
    """Cells of the Latin hypercube that an adaptive design begins with."""
    batch: Annotated[int, Field(ge=1, le=100)] = 2
    """Cells that an adaptive design chooses at once."""
    response: Response = "sd"
    seek: Literal["best", "unknown"] = "best"
    """Where an adaptive design goes: where the response may be best, or where it is least known."""


class Repetitions(Frozen):
    """How often a cell is run: until the SD is known within a factor, between two numbers of runs."""

    least: Annotated[int, Field(ge=1, le=MOST)] = 10
    most: Annotated[int, Field(ge=1, le=MOST)] = 100
    within: Annotated[float, Field(gt=1, le=LONGEST)] = 1.25
    """The 95 % interval of the SD goes up and down by this factor at most."""
    block: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Runs of a cell one after the other, in each round; None: 1, or 5 where a setting takes time to settle."""

    @model_validator(mode="after")
    def _forward(self) -> Repetitions:
        if self.least > self.most:
            raise ValueError("least is more than most")
        return self


class Space(Frozen):
    """One file."""

    description: str = ""
    command: tuple[str, ...] = ()
    """Where none is given on the command line; `{name}` stands for a level."""
    shell: bool = False
    metric: str | None = None
    unit: str = ""
    higher_is_better: bool = False
    parameters: Annotated[dict[Key, Parameter], Field(min_length=1)]
    where: tuple[str, ...] = ()
    """What must hold of a cell, such as `record <= size`; the others are left out."""
    design: SweepDesign = SweepDesign()
    repetitions: Repetitions = Repetitions()
    budget: Limit = UNLIMITED
    """When the sweep ends though cells are left; the same command with more goes on."""

    @model_validator(mode="after")
    def _sound(self) -> Space:
        taken = next((name for name in self.parameters if name in RESERVED), None)
        if taken:
            raise ValueError(f"{taken} is a column of its own in the tables: call the parameter {taken}_2, for example")
        try:
            self.conditions  # noqa: B018 - to parse them
        except WhereRefusal as refused:
            raise ValueError(str(refused).rstrip(".")) from refused
        return self

    @property
    def conditions(self) -> tuple[WhereClause, ...]:
        """What must hold, parsed."""
        return tuple(condition(text, self.parameters) for text in self.where)

    def allows(self, values: Mapping[str, Level]) -> bool:
        """Tell whether a cell is one of the space."""
        return all(one.holds(values) for one in self.conditions)


def read_space(word: str) -> Space:
    """Read the file, or one that ships, by its bare name; raises VgoError, which names the line."""
    path = Path(word)
    if not path.suffix and not os.path.exists(path):  # no OSError for a word that is too long for a name
        path = EXAMPLES / f"{word}.yaml"
    if not os.path.isfile(path):
        ship = ", ".join(sorted(one.stem for one in EXAMPLES.glob("*.yaml")))
        raise VgoError(f"There is no file {word}; name the YAML file of a space, or one that ships: {ship}.")
    space = read_model(path, Space)
    twice = [*duplicate_keys(path), *duplicate_keys(path, "parameters")]
    if twice:
        raise VgoError(f"{path}: the key {twice[0]} stands twice. Keep one.")
    return space


def check() -> list[str]:
    """List what is wrong with the spaces that ship, one sentence each."""
    problems = []
    for path in sorted(EXAMPLES.glob("*.yaml")):
        try:
            read_space(str(path))
        except VgoError as error:
            problems.append(str(error))
    return problems


def is_inline(word: str) -> bool:
    """Tell whether a word is a space, and no file."""
    return "=" in word and not os.path.isfile(word)  # False for a word that is too long for a name


def inline(word: str, command: tuple[str, ...] = ()) -> Space:
    """Read a space; raises VgoError where it is none.

    A name goes into the command where `{name}` stands in it; else threads, affinity, frequency, scheduler, cpu_quota
    and memory go where a file would send them, NAME in capitals is a variable, and a name with a dot is a parameter of
    a mitigation. The CPUs of an affinity are separated by +: `affinity=0,0+1`.
    """
    parts = word.split()
    made = dict(_parameter(part, command) for part in parts)
    if len(made) < len(parts):
        raise VgoError(f"{word!r} gives a parameter twice: give all its levels at once.")
    try:
        return Space.model_validate({"parameters": made})
    except ValidationError as error:
        raise VgoError(f"{word!r}: {first(error)}: {FORM}.") from error


def named_after(word: str) -> str:
    """Give the folder of such a sweep its name: that of its parameters."""
    return "-".join(part.partition("=")[0].replace(".", "-").lower() for part in word.split())[:60]


def _parameter(part: str, command: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    name, sign, told = part.partition("=")
    texts = told.split(",")
    if not sign or not name or not all(texts):
        raise VgoError(f"{part!r} is no parameter with its levels: {FORM}.")
    levels = list(_levels(texts))
    if any(f"{{{name}}}" in one for one in command):
        return name, {"levels": levels}
    if name == "affinity":
        return name, {"levels": [text.replace("+", ",") for text in texts], "to": name}
    if name in get_args(Target):
        return name, {"levels": levels, "to": name}
    if knob := _KNOB.fullmatch(name):
        return f"{knob[1]}_{knob[2]}", {"levels": levels, "mitigation": knob[1], "parameter": knob[2]}
    if _VARIABLE.fullmatch(name):
        return name.lower().lstrip("_"), {"levels": levels, "environment": name}
    return name, {"levels": levels}


def _levels(texts: list[str]) -> Iterator[Level]:
    for text in texts:
        number = _NUMBER.fullmatch(text)
        yield text if not number else float(text) if any(number.groups()) else int(text)
