"""What the tabs show when the cut stands where the user moved it, and not where the record has it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...tools.statistics.association.tree import DecisionTree
from .messages import Looking, Refitted
from .scenes import PlottedFactor, SmallTable

RANKING = ("factor", "AUC", "p", "R2", "visible", "column", "slow median", "fast median")
"""Header of the table of factors; what decides stands where a narrow screen shows it."""


@dataclass(frozen=True)
class WhatIf:
    """A recorded view, and beside it the cut that was moved with what came of it."""

    looking: Looking
    recorded: Refitted | None = None
    """The cut as it stands, fitted here because nobody had done so."""
    moved: float | None = None
    """None: the cut stands as recorded."""
    refitted: Refitted | None = None
    """Of a cut that may be older than `moved`, while the newest is computed."""

    @property
    def cut(self) -> float | None:
        """The cut that is drawn."""
        return self.looking.cut if self.moved is None else self.moved

    @property
    def found(self) -> Refitted | None:
        """What was fitted here and is shown; None: what the record has is."""
        return self.recorded if self.moved is None or self.refitted is None else self.refitted

    @property
    def tree(self) -> DecisionTree | None:
        """Of the newest cut that was fitted."""
        return self.looking.tree if self.found is None else self.found.tree

    @property
    def factors(self) -> tuple[PlottedFactor, ...]:
        """Likewise."""
        return self.looking.factors if self.found is None else self.found.factors

    def words(self, waits: str = "") -> str:
        """Say what stands on the screen, in one line; `waits`: why nothing is fitted now."""
        if self.moved is None:
            return "" if self.recorded is None else _refit_words(self.recorded)
        keys = "Enter keeps it, escape puts it back."
        if not self.fitted:
            return f"Moved cut. {waits or 'Fitting.'} {keys}"
        assert self.refitted is not None  # fitted
        return f"Moved cut: {_refit_words(self.refitted)} {keys}"

    @property
    def fitted(self) -> bool:
        """Whether what stands beside a moved cut is of this cut."""
        return self.refitted is not None and self.refitted.cut == self.moved

    def seen(self, looking: Looking) -> WhatIf:
        """Show another moment of the record; a cut that was recorded meanwhile is no longer a moved one."""
        same = looking.cut == self.looking.cut
        state = replace(self, looking=looking, recorded=self.recorded if same and looking.tree is None else None)
        return state if self.moved is None or same or looking.cut is None else state.back()

    def at(self, cut: float) -> WhatIf:
        """Move the cut."""
        return replace(self, moved=cut)

    def back(self) -> WhatIf:
        """Put the cut back."""
        return replace(self, moved=None, refitted=None)

    def with_answer(self, found: Refitted) -> WhatIf:
        """Take in a fit; an exact one of another cut, or a quick one after an exact, is too late."""
        now = self.cut
        before = self.recorded if self.moved is None else self.refitted
        late = before is not None and before.exact and before.cut == found.cut and not found.exact
        if late or (found.exact and found.cut != now) or (self.moved is None and found.cut != now):
            return self
        return replace(self, recorded=found) if self.moved is None else replace(self, refitted=found)


def _refit_words(found: Refitted) -> str:
    if found.reason:
        return found.reason
    how = "" if found.exact else " (quick; exact when you rest)"
    if not found.factors:
        return f"{found.n_slow} of {found.runs} runs are slow; no column could explain them{how}."
    first = found.factors[0]
    seen = "goes with them" if first.visible else "is the best of what does not show"
    return f"{found.n_slow} of {found.runs} runs are slow; {first.name} {seen}, AUC {first.auc:.2f}{how}."


def ranking(factors: tuple[PlottedFactor, ...]) -> SmallTable:
    """Lay out the factors, most convincing first."""
    return SmallTable(RANKING, tuple(map(_ranked, factors)))


def _ranked(one: PlottedFactor) -> tuple[str | float | None, ...]:
    seen = "yes" if one.visible else "no"
    return one.name, one.auc, one.p_value, one.r2, seen, one.column, one.slow_median, one.fast_median
