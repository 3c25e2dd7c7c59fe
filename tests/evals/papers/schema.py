"""The shape of what a work reports: claims of its text and whole tables, each number with the place it was read at."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import Field, model_validator

from vgo_agent.knowledge.schema import Entry
from vgo_agent.knowledge.shape import Frozen, Key

MARK = re.compile(r"^(?:~|<=|>=|<|>)")
Written = Annotated[str, Field(pattern=r"^(?:~|<=|>=|<|>)?-?\d*\.?\d+(?:E[+-]\d+)?$")]
"""A number as it stands in the work, with all its digits; before it `~`, `<=`, `>=`, `<` or `>` if the work says so."""


class Conditions(Frozen):
    """Under which a number was measured; empty: the work does not say."""

    machine: str = ""
    program: str = ""
    runs: int | None = None
    setting: str = ""


class SourceLocation(Frozen):
    """Where it stands."""

    section: str
    """Number, or title where sections have none."""
    table: str = ""
    """`Table 3`; a figure that is a table of numbers counts."""
    row: str = ""


class ReportedNumber(Frozen):
    """One number that a work reports."""

    id: str
    """Unique in its work; of a table `table3.lbm.sd_ratio`."""
    quantity: str
    """What was measured, in terms of the field."""
    written: Written
    unit: str
    """`ratio` is after / before; empty: the work gives none."""
    interval: tuple[Written, Written] | None = None
    """Of which `written` is the size or the middle."""
    conditions: Conditions = Conditions()
    place: SourceLocation
    quote: str = ""
    """The words around it, letter by letter; empty for a cell of a table."""

    @property
    def value(self) -> float:
        """The number without its mark."""
        return float(bare(self.written))

    @model_validator(mode="after")
    def _quoted(self) -> Self:
        if self.quote:
            for number in (self.written, *(self.interval or ())):
                if not stands(number, self.quote):
                    raise ValueError(f"{bare(number)} does not stand in the quote")
        return self


class PaperColumn(Frozen):
    """One column of numbers."""

    quantity: str
    unit: str = ""


class PaperRow(Frozen):
    """One row, whole."""

    id: Key
    labels: dict[str, str]
    """The cells of words, letter by letter."""
    numbers: dict[str, Written] = {}
    """By the key of the column."""
    conditions: Conditions = Conditions()


class PaperTable(Frozen):
    """One table, whole but for columns that `doubts` of the work names."""

    id: Key
    name: str
    caption: str
    section: str
    columns: dict[str, PaperColumn] = {}
    rows: Annotated[tuple[PaperRow, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        ids = [row.id for row in self.rows]
        if len(set(ids)) < len(ids):
            raise ValueError("two rows have the same id")
        for row in self.rows:
            if unknown := sorted(set(row.numbers) - set(self.columns)):
                raise ValueError(f"row {row.id} has a number for {unknown[0]}, which is no column")
        return self

    def row(self, key: str) -> PaperRow | None:
        """Find a row by its id."""
        return next((row for row in self.rows if row.id == key), None)

    def claims(self) -> tuple[ReportedNumber, ...]:
        """Give each cell with a number as a claim."""
        return tuple(
            ReportedNumber(
                id=f"{self.id}.{row.id}.{key}",
                quantity=self.columns[key].quantity,
                written=written,
                unit=self.columns[key].unit,
                conditions=row.conditions,
                place=SourceLocation(section=self.section, table=self.name, row=row.id),
            )
            for row in self.rows
            for key, written in row.numbers.items()
        )


class Publication(Entry):
    """One work: what it reports, and how that was read."""

    note: str
    """Its note in knowledge/papers, without `.md`."""
    work: str
    """Authors, title, where and when it was published."""
    url: str = ""
    read: str
    """How it was read, and what could not be."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """Of the text that was read."""
    doubts: tuple[str, ...] = ()
    """Where the work contradicts itself or its text looks damaged."""
    claims: tuple[ReportedNumber, ...] = ()
    tables: tuple[PaperTable, ...] = ()

    @model_validator(mode="after")
    def _once(self) -> Self:
        ids = [claim.id for claim in self.everything()]
        if twice := sorted({one for one in ids if ids.count(one) > 1}):
            raise ValueError(f"the claim {twice[0]} stands twice")
        return self

    def everything(self) -> tuple[ReportedNumber, ...]:
        """Give the claims of the text, then those of the tables."""
        return (*self.claims, *(claim for table in self.tables for claim in table.claims()))

    def table(self, key: str) -> PaperTable | None:
        """Find a table by its id."""
        return next((table for table in self.tables if table.id == key), None)


def bare(written: str) -> str:
    """Take the mark off."""
    return MARK.sub("", written)


def stands(written: str, text: str) -> bool:
    """Tell whether the number stands in the text by itself, not as a part of a longer one."""
    return sought(written).search(text) is not None


def sought(written: str) -> re.Pattern[str]:
    """Make the pattern that finds the number in a text, where 1000 may stand as `1,000`."""
    digits = (
        re.sub(r"(?<=\d)(?=(?:\d{3})+$)", ",?", bare(written)) if bare(written).isdigit() else re.escape(bare(written))
    )
    return re.compile(rf"(?<![\d.])(?<!\d,){digits}(?!,?\d{{3}}|\d|\.\d)")
