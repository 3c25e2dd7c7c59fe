"""A run folder of vgo-agent, or its runs.csv: the columns mean what the metric layers say."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ....knowledge.errors import VgoError
from ....layers.loader import load_layers
from ....layers.schema import Column, Layer
from ...row import BASELINE, FIXED, REQUIRED
from ...run_table import LAYERS, read_layers
from ...statistics.values import finite
from ..recorded import Format, RecordedRuns, TableSource
from .delimited import header_of, read_table
from .hyperfine import flat

_LEADING = ("call", "tool", "batch", "block")
_NOT_DIVIDED = {"max_rss_kb"}
_FACTS = re.compile(r"```json\n(.*?)\n```", re.S)


def _read(source: TableSource) -> RecordedRuns:
    folder = source.path.parent
    layers = _layers(folder)
    known = _known(header_of(source), layers)
    texts = {name for name, column in known.items() if column.type == "text"} | {"layers"}
    frame, notes = read_table(replace(source, texts=source.texts | texts))
    recorded = measured(frame, source.given, layers, _facts(folder))
    return counted(replace(recorded, notes=(*notes, *recorded.notes)))


def measured(frame: pl.DataFrame, given: str, layers: Collection[Layer], facts: Mapping[str, Any]) -> RecordedRuns:
    """Describe runs that vgo-agent measured, one row a run with the columns of `tools.row`; failed ones are kept.

    `layers` say what the metric columns mean. `facts` may have `subject` (with `unit` and `lower_is_better`) and
    `machine`, as JSON has them. `given` is what the table is called in messages; SHARP's task is named after it.
    """
    known = _known(frame.columns, layers)
    subject = facts.get("subject", {})
    usual = {"condition": BASELINE} if BASELINE in frame["condition"] else {}
    return RecordedRuns(
        frame,
        given,
        VGO_AGENT.name,
        outcome="outcome",
        lower_is_better={"outcome": subject["lower_is_better"]} if "lower_is_better" in subject else {},
        units={"outcome": subject.get("unit", ""), "wall_s": "s"} | {name: its.unit for name, its in known.items()},
        roles=_roles(known) | dict.fromkeys(_printed(frame, known, subject), "consequence"),
        levels=frozenset(name for name, its in known.items() if its.innate or its.level)
        | (_NOT_DIVIDED & set(frame.columns)),
        rates=frozenset(name for name, its in known.items() if its.rate),
        most_us={name: its.most_us for name, its in known.items() if its.most_us is not None},
        descriptions={name: its.description for name, its in known.items()},
        system=dict(flat({key: facts[key] for key in ("machine", "subject") if key in facts})),
        usual=usual,
    )


def counted(recorded: RecordedRuns) -> RecordedRuns:
    """Leave out the failed runs of a table that vgo-agent measured, and say so; any other stays as it is."""
    frame = recorded.frame
    if recorded.format != VGO_AGENT.name or "ok" not in frame.columns:
        return recorded
    kept = frame.filter((pl.col("ok") != 0).fill_null(True))
    failed = frame.height - kept.height
    said = (f"{failed} runs failed and do not count: left out.",) if failed else ()
    return replace(recorded, frame=kept, notes=(*recorded.notes, *said))


def _layers(folder: Path) -> list[Layer]:
    """Read the layers that lie beside the table, as they were when it was made; else the shipped ones."""
    beside = folder / LAYERS
    return list((read_layers(beside.read_bytes()) if beside.is_file() else load_layers()).values())


def _known(names: Collection[str], layers: Collection[Layer]) -> dict[str, Column]:
    found = ((name, next(filter(None, (layer.column(name) for layer in layers)), None)) for name in names)
    return {name: column for name, column in found if column}


def _roles(known: dict[str, Column]) -> dict[str, str]:
    """What a layer calls a setting was noticed, not varied on purpose: it names the circumstances of a run."""
    roles: dict[str, str] = dict.fromkeys((*_LEADING, *FIXED), "id")
    roles |= {"outcome": "outcome", "wall_s": "consequence", "condition": "setting"}
    return roles | {name: "id" if its.role == "setting" else its.role for name, its in known.items()}


def _printed(frame: pl.DataFrame, known: dict[str, Column], subject: Mapping[str, Any]) -> list[str]:
    """Name the columns that differ between runs by what the program prints, its metric among it."""
    held = [name for name, its in known.items() if its.holds_output and subject.get("metric")]
    return [name for name in held if known[name].only_printed(_range(frame[name]))]


def _range(column: pl.Series) -> float:
    values = finite(column.cast(pl.Float64).to_numpy())
    return float(np.ptp(values)) if values.size else 0.0


def _facts(folder: Path) -> dict[str, Any]:
    """Read the facts of runs.md, or of the transcript where the diagnosis never came to its end."""
    page, transcript = folder / "runs.md", folder / "transcript.jsonl"
    try:
        if page.is_file():
            found = _FACTS.search(page.read_text(encoding="utf-8"))
            return dict(json.loads(found[1])) if found else {}
        if transcript.is_file():
            with transcript.open(encoding="utf-8") as lines:
                return dict(json.loads(next(lines))["body"])
    except (json.JSONDecodeError, KeyError, StopIteration, UnicodeDecodeError) as error:
        raise VgoError(f"{folder} holds a damaged runs.md or transcript.jsonl: remove it to read runs.csv.") from error
    return {}


VGO_AGENT = Format("vgo-agent", lambda source: set(REQUIRED) <= set(header_of(source)), _read)
