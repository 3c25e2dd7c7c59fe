"""Where the milliseconds went: the ledger of a series of runs in words and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...knowledge.terms import read_states, state_words
from ...knowledge.time_states import ON_CPU_KINDS, TimeState
from ...layers.probes.region import BETWEEN_MARKS, FoundBy
from ...layers.probes.sched_events import BEGIN, END
from ...tools.claim import WORDS
from ...tools.document import Block, Command, Facts, Figure, Listing, Note, Section, Table, TableColumn
from ...tools.ledger.causes import LedgerCause
from ...tools.ledger.ledger import Ledger
from ...tools.ledger.recognise import alike
from ...tools.ledger.shares import StateShare, VarianceShares, slow_runs
from ...tools.ledger.split import FEWEST_OF_ALL, STACKS, SplitRuns
from ...tools.statistics.values import FloatArray
from ...tools.subject import Subject
from ...tools.trial_results import CompareResult
from ..again import again
from .ledger_bars import drawn, ledger_bars
from .numbers import number, percent

LEAST_SHARE, LEAST_TIME = 0.005, 0.01
"""Of the variance and of the time: a state with less of both is not listed."""
LEAST_REST = 0.02
"""Of the gap: with less, the other parts of a state are not told."""
TIMELINE = (
    "A slow and a fast run, of each class the one whose states are nearest to its means. Where the time went: each "
    "wait replaced by what the thread did that ended it. Below it the threads, thin where they wait; arrows come from "
    "who ended a wait."
)
FLAME = "The mean slow run by what the timed thread was in, the waits that led on from there, and what was done there."
SPLIT = {
    FoundBy.MARKS: "the part of the run between its marks",
    FoundBy.CLOCK: "the part of the run that the metric measures, between two readings of the clock",
    FoundBy.OUTPUT: "the part of the run that the metric measures, up to its output",
    FoundBy.CPU_CLOCK: "the CPU time that the metric measures, which has no waits, between two readings of it",
    FoundBy.CPU_MARKS: "the CPU time between the marks of the run, which has no waits",
}
UNFOUND = {
    FoundBy.UNREAD: "its first thread reads no clock through the C library, and it is not known when it printed",
    FoundBy.OFTEN: "it reads the clock so often that no pair of readings stands out, or that watching it slows it down",
    FoundBy.LONGER: "the metric says more time than all CPUs had in the run: is its unit right (`--unit`)?",
    FoundBy.UNPAIRED: "no two readings of the clock by its first thread are as far apart as the metric says",
}
MARKS = (
    f"Let the program mark it, where it starts and stops its clock: write {BEGIN} and {END} to /proc/thread-self/comm "
    f'(shell: echo {BEGIN} > /proc/self/comm; C: prctl(PR_SET_NAME, "{BEGIN}")).'
)
INTERPRETER, SCRIPT = re.compile("_PyEval_EvalFrame|( in |/)libpython3"), re.compile(r" in (<\w+>|\S+\.py)\b")
"""Functions of the interpreter, and of a script whose functions are named already."""
PYTHON = "Which functions of Python these are is told with --layer stacks:python=true, of Python 3.12 or later."
COUNTING = "More calls, or longer ones? Counted up to 1000 a run"


def section(ledger: Ledger | None, bars: str = "", subject: Subject | None = None) -> Iterator[Section]:
    """The section of a report; none where no ledger was kept. `bars`: its picture for a terminal."""
    if ledger is not None:
        yield Section("Where the milliseconds went", (*_blocks(ledger, bars), *_counting(ledger, subject)))


def ledger_text(split: SplitRuns, shares: VarianceShares) -> str:
    """Draw slow and fast runs by state, and each run, in characters."""
    return ledger_bars(states_drawn(split, shares), slow_runs(split.time_ms, split.told)[0])


def states_drawn(split: SplitRuns, shares: VarianceShares) -> dict[str, FloatArray]:
    """States by name, those with the largest shares and means first; the others together."""
    weight = {one.state: max(abs(one.share), one.mean_ms / shares.mean_ms) for one in shares.states}
    return drawn(split.states, weight)


def headline(ledger: Ledger) -> str:
    """The answer in one sentence."""
    shares = ledger.shares
    if not ledger.sums.hold:
        return (
            f"The states of a run miss its time by {number(ledger.sums.median_ms)} ms in the median: "
            "nothing is concluded from them."
        )
    if not ledger.fits and ledger.timeless:
        what = "of whole runs" if ledger.whole else "between the marks"
        return (
            f"The metric is no time, and the time {what} does not go with it: nothing is concluded. "
            "If it is a time, say in which unit (`--unit ms`)."
        )
    if not ledger.fits:
        what = "Whole runs are" if ledger.whole else "The part between the marks is"
        return f"{what} split, and the metric times something that does not go with that: nothing is concluded of it."
    if not ledger.seen:
        return "The scheduler told nothing of too much of the runs' time: nothing is concluded."
    if ledger.steady:
        spread = number(100 * shares.sd_ms / shares.mean_ms, 2)
        return f"The runs are steady: their SD is {spread} % of the mean, so that nothing has to be explained."
    if not ledger.material:
        return "No state of the runs' time surely goes with slow runs."
    told = f"Slow runs take {number(shares.gap_ms, 3)} ms more than fast ones{_most_of(shares)}."
    if ledger.net is None or len(ledger.material) == len(shares.material):
        return told
    net = ledger.net
    return f"{told} Without what others took of the CPUs they take {number(net.gap_ms, 3)} ms more{_most_of(net)}."


def _most_of(shares: VarianceShares) -> str:
    parts = [f"{number(one.gap_ms, 3)} ms {state_words(one.state)}" for one in shares.material[:3]]
    return f": {', '.join(parts)}" if parts else ""


def sentences(ledger: Ledger) -> Iterator[str]:
    """The answer, and what the states that matter most were made of."""
    yield headline(ledger)
    for one in ledger.material[:3]:
        if largest := ledger.cause_of(one.state):
            yield f"{read_states()[one.state].name}: {_cause(largest)}."
            yield largest.recognised.words if largest.recognised else ""
        yield _why(ledger).get(one.state, "")


def gained(compared: CompareResult | None) -> Iterator[Section]:
    """The time of both arms by state, and where the gain lies, if there is one; none where the pairs have no ledger."""
    gain = compared.gain if compared else None
    if compared is None or gain is None or gain.total is None:
        return
    whole_ms = sum(one.baseline_ms for one in gain.states)
    rows = [
        (
            state_words(one.state),
            "yes" if one.meant else "no",
            one.baseline_ms,
            one.other_ms,
            one.mean.words,
            one.gain.words,
        )
        for one in gain.states
        if abs(one.gain.ms) >= LEAST_SHARE * abs(gain.total.ms) or one.baseline_ms >= LEAST_TIME * whole_ms
    ]
    last = ("the outcome", "", "", "", "", gain.total.words)
    head = ("state", "acted on", TableColumn("baseline, ms", digits=3), TableColumn("mitigated, ms", digits=3))
    yield Section(
        "Where the gain lies" if compared.gained else "Time of both arms by state",
        (
            compared.by_state,
            Table((*head, "less, ms", "gain, ms"), (*rows, last)),
            f"Means of {number(gain.pairs)} pairs, how much less they are, and what each state gave of the fall of the "
            f"{WORDS[gain.measure]}, with 95 % intervals.",
            "The outcome follows the time on a CPU, so only that is divided." * gain.cpu_time,
        ),
    )


def _blocks(ledger: Ledger, bars: str) -> Iterator[Block]:
    shares = ledger.shares
    yield headline(ledger)
    yield Figure("ledger", "The mean slow run and the mean fast run by state, and each run in its order.", bars)
    yield Figure("timeline", TIMELINE)
    yield Figure("flame", FLAME)
    what = SPLIT.get(ledger.found_by, "the whole run" if ledger.whole else "the part that the metric measures")
    runs = f"{shares.runs} runs; {shares.n_slow} are slow, cut {shares.how}"
    yield f"Split is {what}, of {runs}.{_missed(ledger)}{_undivided(ledger)}"
    if why := UNFOUND.get(ledger.found_by):
        yield Note(f"Which part of a run the metric measures was not found: {why}. {MARKS}")
    yield _table(shares)
    if not ledger.concludes:
        return
    yield from _left(shares)
    if ledger.net is not None:
        yield Section("Without what others took of the CPUs", tuple(_net(ledger.net)))
    told = _why(ledger)
    for state in dict.fromkeys((*(one.state for one in ledger.causes), *told)):
        causes = [one for one in ledger.causes if one.state == state]
        known = dict.fromkeys(one.recognised.words for one in causes if one.recognised)
        notes = [f"This looks like {words}" for words in known]
        within = any(INTERPRETER.search(one.what) for one in causes)
        notes += [PYTHON] if within and not any(SCRIPT.search(one.what) for one in causes) else []
        parts = (*map(_cause, causes), *_rest(shares, state, causes))
        yield Section(read_states()[state].name, (Listing(parts), told.get(state, ""), *notes))
    counts = [
        (one.what, f"{number(one.slow, 3)} a slow run, {number(one.fast, 3)} a fast one") for one in ledger.counts
    ]
    if counts:
        yield Section("Counted in the same runs", (Facts(tuple(counts)),))
    if ledger.changed:
        names = ", ".join(state_words(state) for state in ledger.changed)
        yield Note(f"Runs in which stacks were kept spend another time {names}: that changed the program; left out.")
    if ledger.left_out:
        runs = "1 run" if ledger.left_out == 1 else f"{ledger.left_out} runs"
        yield Note(f"{runs} could not be split, left out.")


def _counting(ledger: Ledger, subject: Subject | None) -> Iterator[Block]:
    """How to count the calls of the function that takes longer; not of an interpreter, which calls it all the time."""
    spec = ledger.on_cpu.to_count if ledger.on_cpu else ""
    if spec and subject is not None and not INTERPRETER.search(spec):
        yield Command(again("measure", ("--ledger", "--layer", spec), subject), COUNTING)


def _missed(ledger: Ledger) -> str:
    """Say how well the states add up; not of a part that was found by its length, whose states always do."""
    if ledger.found_by in (FoundBy.OUTPUT, *BETWEEN_MARKS):
        return ""
    median, worst = (number(round(ms, 4), 2) for ms in (ledger.sums.median_ms, ledger.sums.worst_ms))
    return f" The states of a run add up to its time within {median} ms in the median, {worst} ms at worst."


def _undivided(ledger: Ledger) -> str:
    """Say why time on a CPU is not divided, where stacks were kept."""
    few = ledger.layer == STACKS and ledger.shares.state(TimeState.ON_CPU)
    return f" Time on a CPU is not divided: fewer than {FEWEST_OF_ALL} samples of it in all runs." if few else ""


def _why(ledger: Ledger) -> dict[str, str]:
    """What tells why slow runs spend more on a CPU, by state."""
    return {ledger.on_cpu.state: ledger.on_cpu.sentence} if ledger.on_cpu else {}


def _net(net: VarianceShares) -> Iterator[Block]:
    yield (
        f"Less what others took of the CPUs, runs vary by an SD of {number(net.sd_ms, 3)} ms, and slow runs take "
        f"{number(net.gap_ms, 3)} ms more."
    )
    yield _table(net)


def _table(shares: VarianceShares) -> Table:
    columns = (
        "state",
        TableColumn("mean, ms", digits=3),
        TableColumn("slow - fast, ms", digits=3),
        "95 % interval",
        "of variance",
        "95 %",
    )
    rows = [_row(one) for one in shares.states if listed(one, shares)]
    return Table(columns, rows)


def listed(one: StateShare, shares: VarianceShares) -> bool:
    """Tell whether a state is worth a line."""
    return abs(one.share) >= LEAST_SHARE or one.mean_ms >= LEAST_TIME * shares.mean_ms


def _row(one: StateShare) -> tuple[str | float, ...]:
    gap, share = one.gap_interval, one.share_interval
    return (
        state_words(one.state),
        one.mean_ms,
        one.gap_ms,
        f"{number(gap.low, 3)} to {number(gap.high, 3)}",
        percent(one.share, 2),
        f"{percent(share.low, 2)} to {percent(share.high, 2)}",
    )


def _left(shares: VarianceShares) -> Iterator[str]:
    if shares.taken_out:
        each = "; ".join(f"without {state_words(one.state)} {number(one.sd_left, 2)}" for one in shares.taken_out)
        yield f"SD ratio left, each state taken out beside those before it: {each}."


def _rest(shares: VarianceShares, state: str, causes: Sequence[LedgerCause]) -> Iterator[str]:
    """What the named parts of a state leave of what slow runs spend more in it, where that is worth a line."""
    rest = sum(one.gap_ms for one in shares.states if one.state == state) - sum(one.gap_ms for one in causes)
    if causes and abs(rest) >= LEAST_REST * abs(shares.gap_ms):
        yield f"{number(rest, 3)} ms: all other parts together"


def _cause(one: LedgerCause) -> str:
    what = " samples" * (one.state in ON_CPU_KINDS)
    slow_ms, fast_ms = one.each_slow_ms, one.each_fast_ms
    same = slow_ms is not None and (fast_ms is None or alike(slow_ms, fast_ms))
    lengths = ["" if same or ms is None else f" of {number(ms, 3)} ms" for ms in (slow_ms, fast_ms)]
    slow, fast = f"{number(one.episodes_slow, 2)}{what}{lengths[0]}", f"{number(one.episodes_fast, 2)}{lengths[1]}"
    each = f"; {slow} a slow run, {fast} a fast one"
    each *= one.state not in (TimeState.START_AND_END, TimeState.UNSEEN)
    long = f", {number(slow_ms, 3)} ms each" if same else ""
    surely = f"{number(one.gap_interval.low, 3)} to {number(one.gap_interval.high, 3)}"
    return f"{number(one.gap_ms, 3)} ms, {surely} ({percent(one.share, 2)} of the variance): {one.words}{each}{long}"
