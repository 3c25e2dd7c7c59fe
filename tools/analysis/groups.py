"""Every group of a table on its own, and the price of looking at many groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..recorded.shapes import Observations
from ..statistics.holm import holm
from ..statistics.values import FiniteResult
from .analyse import analyse
from .analysis import Analysis
from .question import AnalysisOptions
from .verdict import concluded

PER_GROUP, MOST_PERMUTATIONS = 60, 20_000
"""Draws for each group, so that the least p-value there is survives being multiplied by the number of groups."""


class GroupAnalysis(FiniteResult):
    """The runs that agree in the grouping columns."""

    values: Mapping[str, str | int | float | bool | None]
    """Column to value; empty for the whole table."""
    analysis: Analysis


class Analyses(FiniteResult):
    """All groups, in the order of the table."""

    groups: tuple[GroupAnalysis, ...]

    @property
    def answered(self) -> bool:
        """Some group had enough data for a verdict."""
        return any(group.analysis.verdict != "unusable" for group in self.groups)


def analyse_groups(
    parts: Sequence[tuple[Mapping[str, str | int | float | bool | None], Observations]], question: AnalysisOptions
) -> Analyses:
    """Analyse each; a cause in one of many groups must be convincing over all of them (Holm)."""
    enough = min(max(question.permutations, PER_GROUP * len(parts)), MOST_PERMUTATIONS)
    found = [analyse(design, replace(question, permutations=enough)) for _, design in parts]
    tested = [one for one in found if one.p_value is not None]
    adjusted = iter(holm([one.p_value for one in tested if one.p_value is not None]))
    ended = [concluded(one, None if one.p_value is None else next(adjusted), question) for one in found]
    return Analyses(
        groups=tuple(GroupAnalysis(values=values, analysis=one) for (values, _), one in zip(parts, ended, strict=True))
    )
