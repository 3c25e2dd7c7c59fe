"""What the columns of a table mean, described once: a small YAML file, its columns in the shape of a layer's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import polars as pl
import yaml
from pydantic import Field, ValidationError, model_validator

from ...knowledge.errors import VgoError
from ...knowledge.files import first, parsed_yaml, regular
from ...layers.schema import LayerModel
from .columns import Mixed, listed, nearest, parse
from .recorded import RecordedRuns

Role = Literal["outcome", "factor", "consequence", "setting", "order", "id"]
"""As in a layer, and: order: says when a run was made; id: names the run or its circumstances."""


class Meaning(LayerModel):
    """What one column means; what is not said is left to the format and to what the values show."""

    name: Annotated[str, Field(min_length=1)]
    """What it is called from now on; with `*` and without `source`: every column that matches."""
    source: str = ""
    """What the file calls it, where that is another name."""
    description: str = ""
    unit: str | None = None
    role: Role | None = None
    type: Literal["number", "text"] | None = None
    """text: a host or a version may look like a number; number: what is none counts as missing."""
    lower_is_better: bool | None = None
    level: bool | None = None
    """It does not add up over a run (a temperature, a share, a mean)."""
    rate: bool | None = None
    """It is a rate over the run's own time, so that what happens once makes short runs show more of it."""
    most_us: Annotated[float, Field(gt=0)] | None = None
    """One unit of it delays a run by at most so many microseconds."""

    @property
    def in_file(self) -> str:
        """Its name in the file."""
        return self.source or self.name


class Meanings(LayerModel):
    """A mapping file; tables that vgo-agent writes carry one, too."""

    columns: tuple[Meaning, ...] = ()
    """Columns that are not named keep their names, and are understood by themselves."""
    format: str = ""
    """Where the runs come from, if they were converted."""
    system: dict[str, str] = {}
    """What the runs were made on, and how."""
    usual: dict[str, str] = {}
    """Column to value: the rows to look at unless they are grouped by the column."""
    group: tuple[str, ...] = ()
    """Columns whose combinations are looked at one by one unless the user says otherwise."""
    notes: tuple[str, ...] = ()
    """What was dropped or filled on the way here."""

    @model_validator(mode="after")
    def _once(self) -> Meanings:
        for names in ([one.name for one in self.columns], [one.in_file for one in self.columns]):
            twice = next((name for name, count in Counter(names).items() if count > 1), None)
            if twice:
                raise ValueError(f"the column {twice} is described twice")
        outcomes = [one.name for one in self.columns if one.role == "outcome"]
        if len(outcomes) > 1:
            raise ValueError(f"{outcomes[0]} and {outcomes[1]} are both the outcome")
        return self

    @property
    def texts(self) -> frozenset[str]:
        """Columns of the file that are text whatever they look like."""
        return frozenset(one.in_file for one in self.columns if one.type == "text")

    def in_file(self, names: Collection[str]) -> tuple[str, ...]:
        """Say what the file calls these columns."""
        known = {one.name: one.in_file for one in self.columns}
        return tuple(known.get(name, name) for name in names)

    def expanded(self, names: Collection[str]) -> tuple[Meaning, ...]:
        """Describe each column by itself; what names it outright comes before a pattern."""
        named = {one.name for one in self.columns}
        found = [one for one in self.columns if not _is_pattern(one)]
        for one in filter(_is_pattern, self.columns):
            matching = [name for name in names if name not in named and fnmatchcase(name, one.name)]
            named.update(matching)
            found += [one.model_copy(update={"name": name}) for name in matching]
        return tuple(found)


def read_mapping(path: Path) -> Meanings:
    """Read a mapping file; raises VgoError, which names the line."""
    try:
        text = regular(path).read_text(encoding="utf-8")
    except OSError as error:
        raise VgoError(f"{path} cannot be read ({error.strerror}): check --mapping.") from error
    except UnicodeDecodeError as error:
        raise VgoError(f"{path} is no text in UTF-8: a mapping is a YAML file with a list of columns.") from error
    return parse_mapping(text, str(path))


def parse_mapping(text: str, where: str) -> Meanings:
    """Check the text of a mapping."""
    try:
        told = parsed_yaml(text)
        if not isinstance(told, dict):
            raise VgoError(f"{where} is no mapping: begin it with `columns:` and list columns below, each with a name.")
        return Meanings.model_validate(told)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise VgoError(f"{where}, line {line}: {error.problem}: mend the YAML there.") from error
    except yaml.YAMLError as error:
        raise VgoError(f"{where} is no YAML ({str(error).splitlines()[0]}): write a list of columns.") from error
    except ValidationError as error:
        raise VgoError(f"{where}: {first(error)}.") from error


def _is_pattern(one: Meaning) -> bool:
    return "*" in one.name and not one.source


T = TypeVar("T")


def meant(recorded: RecordedRuns, meanings: Meanings) -> RecordedRuns:
    """Return the table as the mapping calls and describes it; what the mapping does not say stays as it was.

    Raises VgoError for a column that the table does not have, two columns of one name, or a text that is to be a
    number.
    """
    recorded = _renamed(recorded, meanings)
    described = meanings.expanded(recorded.frame.columns)
    there = [one for one in described if one.name in recorded.frame.columns]
    recorded = _typed(recorded, there)
    outcome = next((one.name for one in there if one.role == "outcome"), None)
    roles = {name: role for name, role in recorded.roles.items() if role != "outcome" or not outcome}
    return replace(
        recorded,
        format=meanings.format or recorded.format,
        outcome=outcome or recorded.outcome,
        lower_is_better={**recorded.lower_is_better, **_said(there, "lower_is_better")},
        units={**recorded.units, **_said(there, "unit")},
        roles={**roles, **_said(there, "role")},
        levels=_marked(recorded.levels, there, "level"),
        rates=_marked(recorded.rates, there, "rate"),
        most_us={**recorded.most_us, **_said(there, "most_us")},
        descriptions={**recorded.descriptions, **{one.name: one.description for one in there if one.description}},
        system={**recorded.system, **meanings.system},
        usual={**recorded.usual, **meanings.usual},
        group=meanings.group or recorded.group,
        notes=(*recorded.notes, *meanings.notes),
    )


def meanings_of(recorded: RecordedRuns) -> Meanings:
    """Say what a table means, so that its values and this give the same table again."""
    columns = (_meaning(recorded, column) for column in recorded.frame)
    return Meanings(
        columns=tuple(one for one in columns if one != Meaning(name=one.name)),
        format=recorded.format,
        system=dict(recorded.system),
        usual=dict(recorded.usual),
        group=recorded.group,
        notes=recorded.notes,
    )


def _meaning(recorded: RecordedRuns, column: pl.Series) -> Meaning:
    name = column.name
    role = "outcome" if name == recorded.outcome else recorded.roles.get(name)
    return Meaning.model_validate(
        {
            "name": name,
            "source": name if "*" in name else "",
            "description": recorded.descriptions.get(name, ""),
            "unit": recorded.units.get(name),
            "role": role,
            "type": "text" if column.dtype == pl.String else None,
            "lower_is_better": recorded.lower_is_better.get(name),
            "level": True if name in recorded.levels else None,
            "rate": True if name in recorded.rates else None,
            "most_us": recorded.most_us.get(name),
        }
    )


def _renamed(recorded: RecordedRuns, meanings: Meanings) -> RecordedRuns:
    """Give the columns their new names, and what is known of them with it."""
    new = {one.source: one.name for one in meanings.columns if one.source and one.source != one.name}
    there = recorded.frame.columns
    known = {*there, *recorded.left_out}
    for one in meanings.columns:
        if one.in_file not in known and ("*" not in one.name or one.source):
            raise VgoError(
                f"{recorded.source} has no column {one.in_file}, which the mapping describes: "
                f"{nearest(one.in_file, there)}."
            )
    names = [new.get(name, name) for name in there]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice:
        raise VgoError(f"The mapping gives {twice} to a column, and another has that name: choose a name of its own.")
    if not new:
        return recorded
    return replace(
        recorded,
        frame=recorded.frame.rename(new, strict=False),
        outcome=new.get(recorded.outcome, recorded.outcome) if recorded.outcome else None,
        lower_is_better=_moved(recorded.lower_is_better, new),
        units=_moved(recorded.units, new),
        roles=_moved(recorded.roles, new),
        levels=frozenset(new.get(name, name) for name in recorded.levels),
        rates=frozenset(new.get(name, name) for name in recorded.rates),
        most_us=_moved(recorded.most_us, new),
        descriptions=_moved(recorded.descriptions, new),
        usual=_moved(recorded.usual, new),
        group=tuple(new.get(name, name) for name in recorded.group),
        left_out=tuple(new.get(name, name) for name in recorded.left_out),
    )


def _moved(facts: Mapping[str, T], new: Mapping[str, str]) -> dict[str, T]:
    return {new.get(name, name): fact for name, fact in facts.items()}


def _typed(recorded: RecordedRuns, there: Iterable[Meaning]) -> RecordedRuns:
    """Make numbers of text and text of numbers, as asked."""
    frame, units, notes = recorded.frame, dict(recorded.units), list(recorded.notes)
    for one in there:
        column = frame[one.name]
        if one.type == "text":
            frame = frame.with_columns(column.cast(pl.String))
        elif one.type == "number" and not column.dtype.is_numeric():
            numbers, unit, words = _numbers(recorded, column.cast(pl.String))
            frame = frame.with_columns(numbers.alias(one.name))
            units |= {one.name: unit} if unit else {}
            notes += [f"In {one.name} these count as missing: {listed(words, 5)}."] if words else []
    return replace(recorded, frame=frame, units=units, notes=tuple(notes))


def _numbers(recorded: RecordedRuns, text: pl.Series) -> tuple[pl.Series, str, tuple[str, ...]]:
    read = parse(text)
    if isinstance(read, Mixed):
        units = listed([unit or "no unit" for unit in read.units])
        raise VgoError(f"{text.name} of {recorded.source} mixes units ({units}): convert it to one unit.")
    if read is None:
        raise VgoError(
            f"{text.name} of {recorded.source} is text, but the mapping says number: "
            "leave `type` out, or name another column."
        )
    return read.numbers, read.unit, read.unread


def _said(there: Iterable[Meaning], what: str) -> dict[str, Any]:
    return {one.name: value for one in there if (value := getattr(one, what)) is not None}


def _marked(before: frozenset[str], there: Iterable[Meaning], what: str) -> frozenset[str]:
    told = _said(there, what)
    return frozenset(name for name in before if told.get(name, True)) | {
        name for name, is_one in told.items() if is_one
    }
