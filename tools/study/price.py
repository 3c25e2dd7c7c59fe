"""What a recommended setting costs: the setting that is shown to have a better mean, and the option for a limit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...knowledge.shape import Frozen
from ..claim import Claim, interval, word
from ..sweep.where import condition
from .design import LIMIT_NAMES, LIMITED, StudyDesign
from .setting import StudySetting
from .spreads import TIMES, Spread, held_against

LIMIT = "mean<=1.05*best"
"""The paper's "no significant loss of performance", for a user who asks for it."""


class StudyPrice(Frozen):
    """A setting that is shown to have a better mean than the recommended one; of several, that of the best mean."""

    chosen: str
    """The recommended one."""
    fastest: str
    mean: Claim
    """The mean of the fastest over that of the recommended one."""

    @property
    def words(self) -> str:
        """Say it in a clause."""
        better = word("less", "mean")  # whether low or high outcomes are good, it is the better one
        return f"{self.fastest} is {better}, its mean {interval(self.mean)} of that of {self.chosen}"


def price_of(
    chosen: StudySetting, design: StudyDesign, times: TIMES, lower_is_better: bool, alpha: float, seed: int
) -> StudyPrice | None:
    """Find what is shown to have a better mean in the rounds; all settings are one family."""
    names = [one.name for one in design.settings if one.name in times and not one.background]
    means = {name: held.mean for name, held in held_against(chosen.name, names, times, alpha, seed).items()}
    better = "less" if lower_is_better else "more"
    shown = {name: one for name, one in means.items() if isinstance(one, Claim) and one.direction == better}
    if not shown:
        return None
    best = (min if lower_is_better else max)(shown, key=lambda name: float(np.nanmean(times[name])))
    return StudyPrice(chosen=chosen.name, fastest=best, mean=shown[best])


def price_words(price: StudyPrice | None, limit: str) -> str:
    """Say in a sentence what the recommendation costs, and how to choose otherwise; `limit`: the one in force."""
    if price is None:
        return ""
    other = "" if limit else f"; --subject-to '{LIMIT}' recommends only what is about as fast as the best"
    return f" It has a price: {price.words}{other}."


def within_limit(found: Sequence[Spread], limit: str, lower_is_better: bool) -> list[Spread]:
    """Give the settings that keep to a limit, all where it is empty; `best` is the best mean of all."""
    if not limit:
        return list(found)
    means = [one.mean for one in found if one.mean is not None]
    if not means:
        return []
    best, kept = min(means) if lower_is_better else max(means), condition(limit, LIMIT_NAMES, "--subject-to")
    values = ((one, {name: getattr(one, name) for name in LIMITED}) for one in found)
    return [one for one, its in values if None not in its.values() and kept.holds({**its, "best": best})]
