"""The built-in policy: the loop of the paper as a list of rules, read from the top; the first that applies decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ...tools.case import Record
from ...tools.compare import reached
from ...tools.look_up import Candidate, LookUpResult
from ...tools.rank_factors import RankResult
from ..legal import open_candidates
from .amounts import to_apply, to_measure, to_profile
from .base import Choice, View

PROFILE_WHY = "the baseline varies: look at what the system did in each run"
PER_FACTOR = 4
"""Mitigations of one factor before the next factor has its turn."""


class Turn(NamedTuple):
    """When a mitigation is tried: by round, then by factor, then by its place."""

    round: int
    look_up: int
    """The number of the look-up that offered it first."""
    place: int


@dataclass(frozen=True)
class Rules:
    """Deterministic; needs no model."""

    name: str = "rules"

    def choose(self, view: View) -> Choice:
        """Take the first rule that has an answer."""
        for rule in RULES:
            if choice := rule(view):
                return choice
        left = view.legal.ran_out
        return Choice("conclude", {}, "there is no time left for more" if left else "nothing else is left to do")


def _measure(view: View) -> Choice | None:
    return Choice("measure", to_measure(view), "the baseline comes first") if "measure" in view.legal.tools else None


def _profile(view: View) -> Choice | None:
    if "profile" not in view.legal.tools:
        return None
    waiting = "layers" in view.legal.tools["profile"]
    why = "the light layers show no factor: look with the heavy ones" if waiting else PROFILE_WHY
    return Choice("profile", to_profile(view), why)


def _label(view: View) -> Choice | None:
    return _plain(view, "label", "fix the cut before any counter is looked at")


def _fit_tree(view: View) -> Choice | None:
    return _plain(view, "fit_tree", "a shallow tree shows which counters separate slow from fast")


def _rank_factors(view: View) -> Choice | None:
    return _plain(view, "rank_factors", "test whether any factor goes with slow runs by more than luck")


def _compare(view: View) -> Choice | None:
    if "compare" not in view.legal.tools:
        return None
    return Choice("compare", {"call": view.legal.tools["compare"]["call"][0]}, "judge the pairs just measured")


def _stop_at_target(view: View) -> Choice | None:
    if reached(view.record, view.limits.target_ratio):
        return Choice("conclude", {}, "the target is reached and confirmed")
    return None


def _confirm(view: View) -> Choice | None:
    second = sorted(key for key, batch in view.legal.batches if batch == 2)
    return _apply(view, second[0], 2, "it scattered less: confirm in an independent batch") if second else None


def _try_next(view: View) -> Choice | None:
    ready = [c for c in _in_turn(view) if (c.mitigation, 1) in view.legal.batches]
    return _apply(view, ready[0].mitigation, 1, f"next for this factor: {ready[0].when}") if ready else None


def _in_turn(view: View) -> list[Candidate]:
    """Open candidates: the first few of each factor in the order of the look-ups, then the rest."""
    turn = turns(view.record)
    return sorted(open_candidates(view.record, view.limits), key=lambda c: turn[c.mitigation])


def turns(record: Record) -> dict[str, Turn]:
    """Say of each mitigation that was offered when it has its turn."""
    found: dict[str, Turn] = {}
    for factor, call in enumerate(record.succeeded("look_up")):
        for place, candidate in enumerate(call.read(LookUpResult).offered):
            found.setdefault(candidate.mitigation, Turn(place // PER_FACTOR, factor, place))
    return found


def _next_factor(view: View) -> Choice | None:
    """Leave a factor whose first mitigations did not help, while another one waits."""
    looked = view.record.succeeded("look_up")
    tried = {call.arguments.get("mitigation") for call in view.record.calls if call.tool == "apply_mitigation"}
    offered = {c.mitigation for c in looked[-1].read(LookUpResult).candidates} if looked else set()
    return _look_up(view) if len(offered & tried) >= PER_FACTOR else None


def _look_up(view: View) -> Choice | None:
    if "look_up" not in view.legal.tools:
        return None
    factor = view.legal.tools["look_up"]["factor"][0]
    why = f"what is known about {factor}, and what may help"
    if factor in view.record.latest("rank_factors").read(RankResult).uncounted:
        why = f"no counter shows {factor}: only trying can tell"
    return Choice("look_up", {"factor": factor}, why)


def _predict_surface(view: View) -> Choice | None:
    why = "nothing else is left to try: ask the surface which configuration is steady"
    return _plain(view, "predict_surface", why)


RULES: tuple[Callable[[View], Choice | None], ...] = (
    _measure,
    _profile,
    _label,
    _fit_tree,
    _rank_factors,
    _compare,
    _stop_at_target,
    _confirm,
    _next_factor,
    _try_next,
    _look_up,
    _predict_surface,
)


def _plain(view: View, tool: str, why: str) -> Choice | None:
    return Choice(tool, {}, why) if tool in view.legal.tools else None


def _apply(view: View, mitigation: str, batch: int, why: str) -> Choice:
    return Choice(
        "apply_mitigation", {"mitigation": mitigation, "batch": batch, "pairs": to_apply(view, mitigation)}, why
    )
