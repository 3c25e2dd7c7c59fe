"""A run folder of vgo-agent, or its runs.csv: the columns mean what the metric layers say."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import polars as pl

from ....knowledge.errors import VgoError
from ....layers.loader import load_layers
from ....layers.schema import Column
from ...row import BASELINE, FIXED
from ..recorded import Recorded
from ..source import Source
from .base import Format
from .delimited import header_of, read_table
from .json_text import flat

_LEADING = ("call", "tool", "batch")
_NOT_DIVIDED = {"max_rss_kb"}
_FACTS = re.compile(r"```json\n(.*?)\n```", re.S)


def _read(source: Source, leave_out: Collection[str]) -> Recorded:
    frame, notes = read_table(source)
    failed = frame.filter(pl.col("ok") == 0).height
    if failed:
        frame = frame.filter(pl.col("ok") != 0)
        notes = (*notes, f"{failed} runs failed and do not count: left out.")
    known = {column.name: column for column in _described() if column.name in frame.columns}
    facts = _facts(source.path.parent)
    subject = facts.get("subject", {})
    usual = {"condition": BASELINE} if BASELINE in frame["condition"] else {}
    return Recorded(
        frame.drop(leave_out, strict=False),
        source.given,
        "vgo-agent",
        outcome="outcome",
        lower_is_better={"outcome": subject["lower_is_better"]} if "lower_is_better" in subject else {},
        units={"outcome": subject.get("unit", ""), "wall_s": "s"} | {name: its.unit for name, its in known.items()},
        roles=_roles(known),
        levels=frozenset(name for name, its in known.items() if its.innate) | (_NOT_DIVIDED & set(frame.columns)),
        most_us={name: its.most_us for name, its in known.items() if its.most_us is not None},
        descriptions={name: its.description for name, its in known.items()},
        system=dict(flat({key: facts[key] for key in ("machine", "subject") if key in facts})),
        usual=usual,
        left_out=tuple(name for name in leave_out if name in frame.columns),
        notes=notes,
    )


def _described() -> list[Column]:
    return [column for layer in load_layers().values() for column in layer.columns]


def _roles(known: dict[str, Column]) -> dict[str, str]:
    """What a layer calls a setting was noticed, not varied on purpose: it names the circumstances of a run."""
    roles: dict[str, str] = dict.fromkeys((*_LEADING, *FIXED), "id")
    roles |= {"outcome": "outcome", "wall_s": "consequence", "condition": "setting"}
    return roles | {name: "id" if its.role == "setting" else its.role for name, its in known.items()}


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


VGO_AGENT = Format("vgo-agent", lambda source: set(FIXED) <= set(header_of(source)), _read)
