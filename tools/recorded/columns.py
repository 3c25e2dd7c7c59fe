"""Names of columns as a user gives them: checked, with the nearest that exist."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

import polars as pl

from ...knowledge.errors import VgoError
from .recorded import RecordedRuns
from .shapes import NO_ORDER, ColumnOptions

LONGEST = 80
"""Letters of a name or a value in a sentence."""


def check_names(recorded: RecordedRuns, wanted: ColumnOptions) -> None:
    """Refuse options that name a column that is not there, or one column for two ends."""
    there = [*recorded.frame.columns, *recorded.left_out]
    options = {"group": wanted.group, "settings": wanted.settings, "exclude": wanted.exclude, "levels": wanted.levels}
    options["order"] = (wanted.order,) if wanted.order not in (None, NO_ORDER) else ()
    for option, names in options.items():
        for name in names:
            if name not in there:
                raise unknown(name, f"--{option}", recorded.source, there)
    used = [*wanted.group, *wanted.settings, *wanted.exclude]
    twice = next((name for name in used if used.count(name) > 1), None)
    if twice:
        raise VgoError(f"{twice} is given to two of --group, --settings and --exclude: give it to one.")


def unknown(name: str, option: str, source: str, there: Collection[str]) -> VgoError:
    """Name the columns that the user may have meant."""
    return VgoError(f"{source} has no column {name} ({option}): {nearest(name, there)}.")


def nearest(name: str, there: Collection[str]) -> str:
    """Advise on the names that look alike, else on the first ones."""
    folded = {column.lower(): column for column in there}
    close = get_close_matches(name.lower(), list(folded), n=3)
    return (
        f"did you mean {listed([folded[found] for found in close], 3, 'or')}?"[:-1]
        if close
        else f"it has {listed(there)}"
    )


def numeric(frame: pl.DataFrame) -> list[str]:
    """Columns that hold numbers as they stand."""
    return [name for name, dtype in frame.schema.items() if dtype.is_numeric()]


def shortened(text: str) -> str:
    """Cut what a table holds to what a sentence bears."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def listed(names: Collection[str], most: int = 12, last: str = "and") -> str:
    """Write names as a list; of many only the first, of long ones the beginning."""
    some = [shortened(str(name)) for name in list(names)[:most]]
    if len(names) > most:
        return f"{', '.join(some)} {last} {len(names) - most} more"
    return f" {last} ".join(filter(None, [", ".join(some[:-1]), some[-1] if some else "none"]))
