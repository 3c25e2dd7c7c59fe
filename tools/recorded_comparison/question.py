"""What a user asks two or more recorded conditions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Contrast:
    """Which runs to compare, and how; None and () leave it to the tables."""

    metric: str | None = None
    condition: str | None = None
    """The column of one table whose values are the arms; None: every table is an arm."""
    among: tuple[str, ...] = ()
    """Those of its values that count, the baseline first; () for all."""
    baseline: str | None = None
    """The arm that the others are held against; None for the first."""
    where: tuple[tuple[str, str], ...] = ()
    """Only runs whose column has one of the values given for it."""
    paired: bool = False
    pair: tuple[str, ...] = ()
    """Columns that two runs of one pair have in common; () with `paired`: row by row."""
    by: tuple[str, ...] = ()
    """Columns whose combinations of values are cells, within which the arms are compared."""
    lower_is_better: bool | None = None
    alpha: float = 0.05
    seed: int = 1

    @property
    def in_pairs(self) -> bool:
        """Tell whether runs of the arms belong together two by two."""
        return self.paired or bool(self.pair)
