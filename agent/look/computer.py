"""The parent's side of the processes that compute: it never blocks, and of each kind of question the newest wins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ...knowledge.errors import VgoError
from ...tools.statistics.association.tree import DecisionTree
from ..desk.desk import Desk
from .messages import Failed, LookAnswer, Looking, LookQuestion, OpenFile, Refit, Refitted, packed, unpacked
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
    def newest(self) -> Refitted | None:
        """What was fitted here and is shown; None: what the record has is."""
        return self.recorded if self.moved is None or self.refitted is None else self.refitted

    @property
    def tree(self) -> DecisionTree | None:
        """Of the newest cut that was fitted."""
        return self.looking.tree if self.newest is None else self.newest.tree

    @property
    def factors(self) -> tuple[PlottedFactor, ...]:
        """Likewise."""
        return self.looking.factors if self.newest is None else self.newest.factors

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
    rows = (
        (f.name, f.auc, f.p_value, f.r2, "yes" if f.visible else "no", f.column, f.slow_median, f.fast_median)
        for f in factors
    )
    return SmallTable(RANKING, tuple(rows))


@dataclass
class _Lane:
    """One warm process, and the questions that wait for it: an older one of the same kind gives way to a newer."""

    desk: Desk = field(default_factory=Desk)
    waiting: dict[type, LookQuestion] = field(default_factory=dict)
    work: asyncio.Task[None] | None = None


class Computer:
    """Ask about the table that is open, and the answer comes back in the same loop.

    Exact answers have a process of their own, started when it is first needed, so that quick ones do not wait for them.
    """

    def __init__(self, answered: Callable[[LookQuestion, LookAnswer], None]) -> None:
        self._answered = answered
        self._lanes = {exact: _Lane() for exact in (False, True)}
        self._table: OpenFile | None = None
        self._opened = 0

    @property
    def opened(self) -> bool:
        """Whether a table was asked for."""
        return self._table is not None

    @property
    def busy(self) -> bool:
        """Whether an answer is still to come."""
        return any(lane.work is not None and not lane.work.done() for lane in self._lanes.values())

    def open(self, table: OpenFile) -> None:
        """Open a table instead of the one before; what was asked of that one is dropped."""
        self._opened += 1
        self._table = replace(table, number=self._opened)
        for lane in self._lanes.values():
            lane.waiting.clear()
        self.ask(self._table)

    def forget(self) -> None:
        """Nothing is open any more."""
        self._table = None

    def ask(self, question: LookQuestion) -> None:
        """Ask about the table that is open; returns at once."""
        lane = self._lanes[isinstance(question, Refit) and question.exact]
        lane.waiting[type(question)] = question
        if lane.work is None or lane.work.done():
            lane.work = asyncio.create_task(self._answer_all(lane))

    async def close(self) -> None:
        """End the processes."""
        for lane in self._lanes.values():
            if lane.work is not None:
                lane.work.cancel()
            await asyncio.to_thread(lane.desk.close)

    async def _answer_all(self, lane: _Lane) -> None:
        while lane.waiting:
            question, table = lane.waiting.pop(next(iter(lane.waiting))), self._table
            if table is None:
                continue
            answer: LookAnswer
            try:
                answer = unpacked(await asyncio.to_thread(lane.desk.ask, "look", asked=packed((table, question))))
            except VgoError as error:
                answer = Failed(str(error))
            if table is self._table:  # else nobody looks at that table any more
                self._answered(question, answer)
