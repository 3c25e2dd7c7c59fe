"""What a recorded case consists of: the case as the agent may see it, the truth, and what was recorded."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from ...knowledge.shape import Frozen
from ...tools.machine import Machine
from ...tools.mitigation.verification import Check
from ...tools.subject import Limits, Subject
from ...tools.verdict import TitlePattern

SERIES = "series"
"""Column of the table that says what a row was measured for."""
Series = Literal["baseline", "profile", "pairs"]

Key = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]


class ByHand(Frozen):
    """A file that a person may change: what is said of its fields here stands in it as comments."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class CaseFile(ByHand):
    """`case.yaml`: what may be known before the answer."""

    key: Key
    """Name of the folder."""
    title: str
    """One line for tables."""
    question: str
    """As a user asks, in symptoms; it names no cause."""
    split: Literal["train", "held-out"]
    """train, or held-out: those are for judging only, no model is trained on them."""
    tags: Annotated[tuple[str, ...], Field(min_length=1)]
    """Words to group cases by."""
    difficulty: Literal[1, 2, 3]
    """1: one loud cause; 2: a weak one, or several; 3: nothing that counters show, or a trap."""
    workload: str = ""
    """Name of the workload that was run; empty: `made_by` says what was."""
    steady: bool = False
    """Its steady twin was run."""
    made_by: str
    """The command that records it again, or how it was made."""
    limits: Limits = Limits()
    """Of each diagnosis; the runs that were recorded allow no more than these."""
    history: tuple[str, ...] = ()
    """Changes since it was recorded, each with its date and reason."""


class Truth(ByHand):
    """`truth.yaml`: what is right. It is read after the answer; only the oracle reads it before."""

    verdicts: Annotated[tuple[TitlePattern, ...], Field(min_length=1)]
    """Those that are right, whole or only cause or remedy: cause explained | not visible | not sought,
    remedy confirmed | observed | refuted | undecided | not tried; steady; unusable."""
    causes: tuple[str, ...] = ()
    """Keys of the factors that must be named, all of them (`vgo-agent explain WORDS`
    finds them, `vgo-agent explain KEY` tells more)."""
    also_true: tuple[str, ...] = ()
    """Keys of factors that are no mistake to name: they move with the cause."""
    accepted: tuple[str, ...] = ()
    """Keys of mitigations that may be claimed (`vgo-agent mitigations` lists them,
    with `--factor KEY` those of a cause)."""
    must_not_help: tuple[str, ...] = ()
    """Keys of mitigations that may not be."""
    unproved: dict[str, str] = {}
    """Those of both that no pairs bear out, with the reason; the recorder fills in why some were not measured."""
    control: bool = False
    """true: nothing is to be mended: any claimed mitigation is a false alarm, and any cause but those above."""
    why: str
    """How the truth is known."""
    history: tuple[str, ...] = ()
    """Changes, each with its date and the reason why the old one was wrong."""


class Profiling(Frozen):
    """What the profile said beside its rows."""

    layers: tuple[str, ...]
    """By spec, those that were on."""
    unavailable: dict[str, str] = {}
    """Layers that could show nothing there, with the reason."""
    absent: dict[str, dict[str, str]] = {}
    """Layer to the columns that could not be had, with the reason."""


class Trial(Frozen):
    """What applying one mitigation gave beside its rows."""

    pairs: int
    """0: it was not in force, so nothing was measured."""
    checks: tuple[Check, ...]
    told: tuple[str, ...] = ()
    block: int = 1
    """Pairs that took turns together."""
    placebo: bool = False
    """An A/A comparison: it was proved, put back, and then applied in neither half of the pairs."""
    definition: str = ""
    """Digest of what it does, as it was; empty: of a recording that kept none."""


class Recording(Frozen):
    """`recording.json`: where, when and with what the tables were made."""

    recorded: date
    version: str
    """Of vgo-agent."""
    subject: Subject
    machine: Machine
    machine_words: str
    """The machine for a reader: hardware, kernel, what it shared, how busy it was."""
    profiling: Profiling
    trials: dict[str, Trial]
    """By mitigation."""
    refused: dict[str, str] = {}
    """Mitigations that were to be recorded and could not be applied, with the reason."""
