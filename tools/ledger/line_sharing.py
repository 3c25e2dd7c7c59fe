"""Cache lines that threads share on two CPUs, in slow runs and in fast ones."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ...layers.probes.shared_lines import LINE, UNNAMED, SharedLine
from ..statistics.association.mix import ALPHA, going_with
from ..statistics.ranks import centred_ranks, ranks_of
from ..statistics.values import BoolArray, FiniteResult, FloatArray
from ..verdict_words import listed
from .split import FEWEST_OF_ALL, SplitRuns

MATERIAL_SHARE = 0.1
"""Of the samples in the program's own instructions, in slow runs: a line with fewer is not named."""
EXPLAIN = "vgo-agent explain false_sharing"
MOST_LINES = 2
"""That are named."""


class LineSharing(FiniteResult):
    """A cache line that threads use at once on two CPUs, and at least one writes."""

    where: str
    functions: tuple[str, ...]
    writers: int
    apart: bool
    """Each uses other bytes of it: false sharing."""
    locked: bool
    slow: float
    """Mean share of a run's samples in own instructions that are at the line while a thread on another CPU is at it."""
    fast: float
    grows: bool
    """That surely goes with the time on a CPU: a run that does more of everything has no larger share."""

    @property
    def words(self) -> str:
        """Say what was seen, and what may help."""
        goes = "the time goes with it" if self.grows else "no time surely goes with it"
        shares = f"{100 * self.slow:.2g} % of a slow run's samples, {100 * self.fast:.2g} % of a fast one's"
        return (
            f"{self.short[0].upper()}{self.short[1:]} in {listed(list(self.functions))}: {self._kind}. "
            f"{shares}, are at an instruction that uses it or just after one while another CPU does; {goes}."
        )

    @property
    def short(self) -> str:
        """A clause."""
        line = "a cache line of memory without a name" if self.where == UNNAMED else f"one cache line ({self.where})"
        if self.writers > 1:
            return f"threads on two CPUs write {line} at once"
        return f"a thread writes {line} while another one uses it on another CPU"

    @property
    def _kind(self) -> str:
        how = f"by {'locked' if self.locked else 'plain'} instructions"
        if self.apart:
            return (
                f"false sharing, since each uses other bytes of it, {how}: keep them {LINE} bytes apart (`{EXPLAIN}`)"
            )
        return f"they use the same bytes, {how}: give each thread its own, or use them less often"


def line_sharing(split: SplitRuns, slow: BoolArray, time_ms: FloatArray, seed: int) -> tuple[LineSharing, ...]:
    """Lines that hold enough samples of slow runs, the most first; `time_ms` on a CPU, shape (runs,)."""
    counts: dict[tuple[str, ...], FloatArray] = defaultdict(lambda: np.zeros(len(split.lines)))
    seen: dict[tuple[str, ...], SharedLine] = {}
    for place, run in enumerate(split.lines):
        for line in run.lines:
            key = (line.where, *(line.functions if line.where == UNNAMED else ()))
            counts[key][place] += line.samples
            seen[key] = max(seen.get(key, line), line, key=lambda one: one.samples)
    every = np.array([max(1, run.samples) for run in split.lines])
    shares = {key: each / every for key, each in counts.items() if each.sum() >= FEWEST_OF_ALL}
    kept = {key: share for key, share in shares.items() if share[slow].mean() >= MATERIAL_SHARE}
    if not kept:
        return ()
    found, p_values = going_with(ranks_of(time_ms), centred_ranks(np.array([*kept.values()]).T), seed)
    lines = [
        LineSharing(
            where=seen[key].where,
            functions=seen[key].functions,
            writers=seen[key].writers,
            apart=seen[key].apart,
            locked=seen[key].locked,
            slow=float(share[slow].mean()),
            fast=float(share[~slow].mean()),
            grows=bool(with_time > 0 and p_value <= ALPHA),
        )
        for (key, share), with_time, p_value in zip(kept.items(), found, p_values, strict=True)
    ]
    return tuple(sorted(lines, key=lambda line: -line.slow)[:MOST_LINES])
