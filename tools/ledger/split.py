"""The time of each run by state, from the columns of a layer, with time on a CPU divided by its samples."""

from __future__ import annotations

import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np

from ...knowledge.errors import VgoError
from ...knowledge.time_states import MEASURED, ON_CPU_KINDS, TimeState
from ...layers.probes.opened import CpuSamples, OpenedPart, OpenedRun
from ...layers.probes.region import BETWEEN_MARKS, MARKS_NEAR, MARKS_NEAR_NS, WHOLE, FoundBy
from ...layers.probes.shared_lines import LineSamples
from ..row import BASELINE
from ..run_table import RunTable
from ..statistics.values import BoolArray, FloatArray, ranks_of
from ..subject import Subject

CellT = TypeVar("CellT")
PORT = re.compile(r"(socket (?:to|at|of) [^ )]+?):(\d+)(?=[/ )])")
PATH = re.compile(r"(?<=[ (])/[^ (),]+")
FEWEST_SEEN = 3
"""Runs in which a name was seen: with fewer it passes, if at least so many others beside it do, too."""
STACKS, LEDGER = "stacks", "ledger"
"""Layers that split the time of a run; the first also opens it."""
FEWEST_SAMPLES = 8
"""Of a run: where it has fewer, those of all runs say how its time on a CPU is divided."""
FEWEST_OF_ALL = 20
"""Samples of all runs: where a function has fewer, a run more or less makes the difference.

With fewer altogether, time on a CPU is not divided.
"""
OTHERS = "other functions"
MOST_BESIDE = 0.1
"""Of the variance of a metric, the covariance with what lies beside the part that it times."""
MOST_WITHOUT = 0.2
"""Of the runs without a region: where more lack one, whole runs are looked at."""


def with_lasting_names(opened: tuple[OpenedRun, ...]) -> tuple[OpenedRun, ...]:
    """The same runs, with `*` for ports of an address, and for names in a folder, that only few runs have each."""
    runs = Counter[tuple[str, str]](name for run in opened for name in set(_names(run)))
    passing = defaultdict[str, set[str]](set)
    for (beside, name), seen in runs.items():
        if seen < FEWEST_SEEN:
            passing[beside].add(name)
    kept = {beside: names for beside, names in passing.items() if len(names) >= FEWEST_SEEN}
    return tuple(_without(run, kept) for run in opened) if kept else opened


def _names(run: OpenedRun) -> Iterator[tuple[str, str]]:
    """The address and each of its ports, a folder and each name in it."""
    for text in {text for part in run.parts for text in (part.what, part.via)}:
        yield from PORT.findall(text)
        for path in PATH.findall(text):
            pieces = path.split("/")
            yield from (("/".join(pieces[:at]), pieces[at]) for at in range(1, len(pieces)))


def _without(run: OpenedRun, passing: dict[str, set[str]]) -> OpenedRun:
    def of_port(found: re.Match[str]) -> str:
        return f"{found[1]}:*" if found[2] in passing.get(found[1], ()) else found[0]

    def of_path(found: re.Match[str]) -> str:
        pieces = found[0].split("/")
        lasting = ("*" if name in passing.get("/".join(pieces[:at]), ()) else name for at, name in enumerate(pieces))
        return "/".join(lasting)

    def words(text: str) -> str:
        return PATH.sub(of_path, PORT.sub(of_port, text))

    parts = (OpenedPart(one.state, one.own, words(one.what), words(one.via), *one[4:]) for one in run.parts)
    samples = (CpuSamples(words(one.what), words(one.via), *one[2:]) for one in run.samples)
    return run._replace(parts=tuple(parts), samples=tuple(samples))


class SlowRuns(NamedTuple):
    """Which runs are slow, and why they are told from fast ones there."""

    slow: BoolArray
    """Shape (runs,)."""
    how: str


@dataclass(frozen=True)
class SplitRuns:
    """Runs, each split into states that add up to its time."""

    time_ms: FloatArray
    """What is split: the time that the metric gives, or the whole run, shape (runs,)."""
    states: Mapping[str, FloatArray]
    """Milliseconds in each state, shape (runs,)."""
    opened: tuple[OpenedRun, ...]
    """One for each run; none where no stacks were kept."""
    found_by: FoundBy
    """How the part was found that is split; of whole runs, why none was."""
    fits: bool
    """What is split stands for the outcome."""
    left_out: int
    """Runs with the layer that could not be split."""
    lanes: tuple[str, ...] = ()
    """What the threads of each did, packed; empty where it was not kept."""
    lines: tuple[LineSamples, ...] = ()
    """Cache lines that threads shared; none where they were not looked for."""
    order: tuple[int, ...] = ()
    """Place of each in its series."""
    events: Mapping[str, FloatArray] = field(default_factory=dict)
    """Counts of other layers that come from what the program does, shape (runs,), by column."""
    told: SlowRuns | None = None
    """As all runs of a diagnosis tell slow from fast, where these are some of them."""

    @property
    def whole(self) -> bool:
        """Whole runs are split, though the metric may measure a part of them."""
        return self.found_by in WHOLE

    @property
    def residual_ms(self) -> FloatArray:
        """What the states lack, or have too much, of each run."""
        residual: FloatArray = self.time_ms - np.sum(list(self.states.values()), axis=0)
        return residual


def split_runs(
    table: RunTable, layer: str, subject: Subject, without: str = "", told: SlowRuns | None = None
) -> SplitRuns | None:
    """Read what a layer has split, in runs `without` another one; None where it has split nothing.

    `told`: which rows of the table are slow, where that is known of more runs than these.
    """
    ms_each = subject.ns_each / 1e6
    names = [state.value for state in MEASURED if f"{layer}.{state}_ms" in table.names]
    if not names:
        return None
    columns = np.array([table.column(f"{layer}.{name}_ms", BASELINE) for name in names])
    region = table.text(f"{layer}.region", BASELINE) if f"{layer}.region" in table.names else [None] * len(columns.T)
    found = [read_cell(FoundBy, cell or FoundBy.RUN, "region") for cell in region]
    wall = 1e3 * table.column("wall_s", BASELINE)
    on = [(layers or "").split("+") for layers in table.text("layers", BASELINE)]
    split = np.isfinite(columns).all(axis=0) & np.array([without not in layers for layers in on])
    kept = _alike(split, found, part=subject.metric is not None)
    if not kept.any():
        return None
    by = Counter(one for one, keep in zip(found, kept, strict=True) if keep).most_common(1)[0][0]
    outcome = table.column("outcome", BASELINE)
    time = wall if by in WHOLE else columns.sum(axis=0) if by in BETWEEN_MARKS else ms_each * outcome
    if by in BETWEEN_MARKS and ms_each:
        kept = _around(time, ms_each * outcome, kept)

    def cells(name: str) -> list[str]:
        texts = table.text(f"{layer}.{name}", BASELINE) if f"{layer}.{name}" in table.names else []
        return [text or "" for text, keep in zip(texts, kept, strict=False) if keep]

    opened = with_lasting_names(tuple(read_cell(OpenedRun.read, one, "opened") for one in cells("opened")))
    states = dict(zip(names, columns[:, kept], strict=True))
    states = (on_cpu(states.pop(TimeState.ON_CPU), opened) if opened else {}) | states
    seen = {name: values for name, values in states.items() if values.any()}
    tried = sum(layer in layers and without not in layers for layers in on)
    fits = subject.metric is None or by not in WHOLE | BETWEEN_MARKS
    if not fits:
        fits = follows(time[kept], ms_each * outcome[kept]) if ms_each else goes_with(time[kept], outcome[kept])
    shared = tuple(read_cell(LineSamples.read, one, "lines") for one in lines) if all(lines := cells("lines")) else ()
    counts = {name: table.column(name, BASELINE)[kept] for name in _events(table)}
    events = {name: each for name, each in counts.items() if np.isfinite(each).all()}
    left_out, lanes = int(tried - kept.sum()), tuple(cells("lanes"))
    order = tuple(table.column("order", BASELINE)[kept].astype(int).tolist())
    told = told and SlowRuns(told.slow[kept], told.how)
    return SplitRuns(time[kept], seen, opened, by, fits, left_out, lanes, shared, order, events, told)


def read_cell(read: Callable[[str], CellT], text: str, name: str) -> CellT:
    """Read what a layer has packed into a cell; raises VgoError where somebody has changed it since."""
    try:
        return read(text)
    except (ValueError, TypeError, zlib.error) as error:
        raise VgoError(
            f"A cell of the column `{name}` of the ledger cannot be read ({error}): take the table as it was written, "
            "or measure again."
        ) from error


def _events(table: RunTable) -> list[str]:
    """Columns that count what a program asks for; not what it prints, which is longer where a number is."""
    return [
        one.name
        for one in table.columns
        if one.innate and one.scope == "run" and one.role == "factor" and one.type != "text"
        if one.unit in ("count", "bytes") and not (one.level or one.rate or one.holds_output)
    ]


def _alike(split: BoolArray, found: Sequence[FoundBy], part: bool) -> BoolArray:
    """Which of the runs that are `split`, shape (runs,), are looked at: all of one kind.

    Those of which the same kind of `part` was found, by the clock, in CPU time or between marks; else whole ones. Runs
    that looking slowed too much are left out, unless they are the most.
    """
    kinds = [FoundBy.CLOCK if one is FoundBy.OUTPUT else one for one in found]
    count = Counter(kind for kind, keep in zip(kinds, split, strict=True) if keep)
    parts = Counter({kind: runs for kind, runs in count.items() if kind not in WHOLE})
    slowed = count[FoundBy.OFTEN] if count[FoundBy.OFTEN] <= parts.total() else 0
    runs = count.total() - slowed
    if not part or not parts or parts.total() < (1 - MOST_WITHOUT) * runs:
        wanted = WHOLE - ({FoundBy.OFTEN} if slowed else frozenset())
    else:
        wanted = frozenset({parts.most_common(1)[0][0]})
    alike: BoolArray = split & np.array([one in wanted for one in kinds])
    return alike


def _around(between_ms: FloatArray, outcome_ms: FloatArray, kept: BoolArray) -> BoolArray:
    """Leave out runs that lost their CPU between a mark and the part that the metric times, where marks are around it.

    Where few runs have them so, the metric measures something else between the marks: all are `kept`.
    """
    most = np.maximum(MARKS_NEAR_NS / 1e6, MARKS_NEAR * outcome_ms)
    near: BoolArray = kept & (np.abs(between_ms - outcome_ms) <= most)
    return near if near.sum() >= (1 - MOST_WITHOUT) * kept.sum() else kept


def follows(whole_ms: FloatArray, timed_ms: FloatArray) -> bool:
    """Tell whether what is split may stand for the part that a metric times: what lies beside must not go with it."""
    if not timed_ms.std():
        return False
    beside = whole_ms - timed_ms
    covariance = np.mean((beside - beside.mean()) * (timed_ms - timed_ms.mean()))
    return bool(abs(covariance) <= MOST_BESIDE * timed_ms.var())


def goes_with(time_ms: FloatArray, outcome: FloatArray) -> bool:
    """Tell whether what is split may stand for a metric that is no time: of the ranks a tenth at most is left."""
    if not time_ms.std() or not outcome.std():
        return False
    ranks = ranks_of(time_ms), ranks_of(outcome)
    return bool(np.corrcoef(*ranks)[0, 1] ** 2 >= 1 - MOST_BESIDE)


def on_cpu(total_ms: FloatArray, opened: Sequence[OpenedRun]) -> dict[str, FloatArray]:
    """Divide the program's exact time on a CPU, shape (runs,), in the ratio of its samples; not if these are few."""
    own = [Counter[str]() for _ in opened]
    for count, run in zip(own, opened, strict=True):
        for sample in own_samples(run):
            count[sample.kind] += sample.samples
    everything: Counter[str] = sum(own, Counter())
    if everything.total() < FEWEST_OF_ALL:
        return {TimeState.ON_CPU: total_ms}
    divided = {kind.value: np.zeros(len(total_ms)) for kind in ON_CPU_KINDS}
    for place, count in enumerate(own):
        counts = count if count.total() >= FEWEST_SAMPLES else everything
        for kind in ON_CPU_KINDS:
            divided[kind][place] = total_ms[place] * counts[kind] / counts.total()
    return divided


def in_ratio(total_ms: FloatArray, counts: FloatArray) -> FloatArray:
    """Divide time, shape (runs,), in the ratio of samples, shape (runs, parts); of a run without, as in all runs."""
    total = counts.sum(axis=1, keepdims=True)
    pooled = np.tile(counts.sum(axis=0) / counts.sum(), (len(counts), 1))
    divided: FloatArray = total_ms[:, None] * np.divide(counts, total, out=pooled, where=total > 0)
    return divided


def own_samples(run: OpenedRun) -> Sequence[CpuSamples]:
    """Samples of the program itself, without those of others that it waited for."""
    peers = {(part.what, part.via) for part in run.parts if part.state is TimeState.PEER_ON_CPU}
    return [sample for sample in run.samples if (sample.what, sample.via) not in peers]


def by_function(
    opened: Sequence[OpenedRun], beside: Callable[[CpuSamples], tuple[str, ...]]
) -> dict[tuple[str, ...], FloatArray]:
    """Samples of the program, shape (runs,), by function and what else a sample is told by.

    Functions that have few are put together by library, so that the parts add up.
    """
    counts: dict[tuple[str, ...], FloatArray] = defaultdict(lambda: np.zeros(len(opened)))
    for place, run in enumerate(opened):
        for one in own_samples(run):
            counts[one.function, *beside(one)][place] += one.samples
    found: dict[tuple[str, ...], FloatArray] = defaultdict(lambda: np.zeros(len(opened)))
    for (function, *rest), samples in counts.items():
        _, within, library = function.rpartition(" in ")
        rare = f"{OTHERS}{within}{library}" if within else OTHERS
        found[function if samples.sum() >= FEWEST_OF_ALL else rare, *rest] += samples
    return dict(found)


def parts_of(opened: Sequence[OpenedRun]) -> dict[tuple[TimeState, str, str], FloatArray]:
    """Milliseconds of each part, shape (runs,), by its state, what it was and what led there."""
    found: dict[tuple[TimeState, str, str], FloatArray] = defaultdict(lambda: np.zeros(len(opened)))
    for place, run in enumerate(opened):
        for part in run.parts:
            found[part.state, part.what, part.via][place] += part.ms
    return dict(found)
