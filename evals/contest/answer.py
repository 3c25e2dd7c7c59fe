"""What a contestant says about one recorded case, and what it spent."""

from __future__ import annotations

from typing import Protocol

from ...knowledge.shape import Frozen
from ..recorded.recorded_case import ShownCase

PRICE = "It has a price"
"""How the warning of a report begins that tells of a worse mean."""


class ContestAnswer(Frozen):
    """One answer; everything here is recorded or counted, nothing is judged yet."""

    verdict: str
    """Its title; empty where none was reached, and `ended` says why."""
    causes: tuple[str, ...] = ()
    """Keys of factors that are claimed to go with slow runs: the one of the verdict, then the others by importance."""
    ranked: tuple[str, ...] = ()
    """Keys of all factors that were ranked, claimed or not, the most important first."""
    mitigation: str = ""
    """Key of the mitigation that is claimed to help; empty: none."""
    price_told: bool = False
    """It warns that the mean gets worse with that mitigation."""
    tried: tuple[str, ...] = ()
    """Mitigations that were measured, in order."""
    runs: int = 0
    """Recorded runs that were used."""
    program_s: float = 0.0
    """Seconds of the program that these runs took."""
    calls: int = 0
    """Calls of tools."""
    tokens: int = 0
    """Of a language model; 0 where there is none."""
    illegal: int = 0
    """Calls that were not legal when they were made."""
    repeated: int = 0
    """Calls with the tool and arguments of an earlier one."""
    fallbacks: int = 0
    """Decisions that the rule policy took in place of the planner."""
    not_recorded: tuple[str, ...] = ()
    """What was asked for and is not in the tables."""
    evidence: tuple[str, ...] = ()
    """Problems with the evidence, a sentence each: an event that is cited and is not there, a number that no tool gave.
    Empty: every claim is backed. Only contestants that leave a transcript are looked at."""
    transcript: str = ""
    """Hash of the transcript's last event, the same whenever the answer was reached the same way; empty: none."""
    ended: str = ""
    """Why there is no verdict: the budget, a crash; empty where there is one."""


class Contestant(Protocol):
    """Answers recorded cases."""

    @property
    def name(self) -> str:
        """As it stands in tables."""

    def answer(self, case: ShownCase, seed: int) -> ContestAnswer:
        """Answer one case; the seed draws which of the recorded runs are served, and every choice of the contestant."""
