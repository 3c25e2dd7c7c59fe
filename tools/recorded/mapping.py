"""What the columns of a table mean, described once: a small YAML file, its columns in the shape of a layer's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import Field, ValidationError, model_validator

from ...knowledge.errors import VgoError
from ...knowledge.files import first, parsed_yaml, regular
from ...layers.schema import LayerModel

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
