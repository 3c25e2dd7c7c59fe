"""From the rows of a study to its answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..row import BASELINE, Row
from ..statistics.comparison.compare import compare
from ..subject import Frozen, Subject
from .advice import Advice, advice
from .design import Design
from .effects import Effect, Runs, effects
from .reservation import Reservation, reservation
from .rounds import LEAST
from .setting import Setting
from .spreads import AMONG_MANY, Against, Spread, against, outcomes, paired, spreads
from .warm_up import Tried, ignores_threads

NONE = "No setting is steadier than the environment as given by more than luck."
STEADY_CV = 0.01


class Study(Frozen):
    """What a study found."""

    design: Design
    tried: tuple[Tried, ...]
    rounds: int
    """In which the baseline counts."""
    planned: int
    spreads: tuple[Spread, ...]
    effects: tuple[Effect, ...]
    reservation: Reservation
    chosen: str | None
    """The setting that looked steadiest among those that are shown to be steadier; None: none is."""
    confirmed: Against | None
    """It against the baseline in runs that had no part in the choice; None where there were none."""
    advice: Advice | None
    """None where nothing is recommended."""
    verdict: str
    notes: tuple[str, ...]

    def spread(self, name: str) -> Spread | None:
        """Find the numbers of a setting."""
        return next((one for one in self.spreads if one.setting == name), None)


def measured(design: Design, tried: Sequence[Tried]) -> tuple[Setting, ...]:
    """Settings that are run in rounds: those that do not fail and are not the same as an earlier one."""
    left = {its.setting for its in tried if its.failure or its.alike}
    return tuple(setting for setting in design.settings if setting.name not in left)


def runs_for(design: Design, tried: Sequence[Tried]) -> Runs:
    """Say whose runs stand for a combination of levels; None where it was not run or failed."""
    alike = {its.setting: its.alike or its.setting for its in tried if not its.failure}

    def find(levels: Mapping[str, str]) -> str | None:
        setting = design.at(dict(levels))
        return alike.get(setting.name) if setting else None

    return find


def choose(found: Sequence[Spread], design: Design) -> Setting | None:
    """Choose the steadiest of those that are shown to be steadier; jobs of ours beside it are nothing to recommend."""
    usable = {one.name: one for one in design.settings if not one.background and not one.baseline}
    steadier = [one for one in found if one.setting in usable and one.against and one.against.verdict == "steadier"]
    best = min(steadier, key=lambda one: (one.against.sd_ratio or 1.0) if one.against else 1.0, default=None)
    return usable[best.setting] if best else None


def answered(
    design: Design,
    tried: Sequence[Tried],
    rows: Sequence[Row],
    batch: Sequence[Row],
    subject: Subject,
    planned: int,
    alpha: float = 0.05,
    seed: int = 1,
) -> Study:
    """Compute all answers; `batch` are the runs that confirm the choice, or none."""
    times = outcomes(rows)
    runs = runs_for(design, tried)
    place = {one.name: number for number, one in enumerate(design.settings)}
    found = sorted(spreads(rows, subject.lower_is_better, alpha, seed), key=lambda one: place[one.setting])
    chosen = choose(found, design)
    confirmed = _confirmed(batch, chosen, subject.lower_is_better, alpha) if chosen else None
    rounds = next((one.runs for one in found if one.setting == BASELINE), 0)
    recommended = chosen is not None and (confirmed is None or confirmed.verdict == "steadier")
    return Study(
        design=design,
        tried=tuple(tried),
        rounds=rounds,
        planned=planned,
        spreads=tuple(found),
        effects=effects(design, times, runs, seed),
        reservation=reservation(design, times, runs, subject.lower_is_better, alpha),
        chosen=chosen.name if chosen else None,
        confirmed=confirmed,
        advice=advice(chosen, design, _words(subject)) if chosen and recommended else None,
        verdict=_verdict(chosen, confirmed, rounds),
        notes=tuple(_notes(design, tried, found, rounds)),
    )


def _words(subject: Subject) -> tuple[str, ...]:
    return ("sh", "-c", " ".join(subject.command)) if subject.shell else subject.command


def _confirmed(batch: Sequence[Row], chosen: Setting, lower_is_better: bool, alpha: float) -> Against | None:
    times = outcomes(batch)
    if {BASELINE, chosen.name} - times.keys():
        return None
    x, y = paired(times, BASELINE, chosen.name)
    if x.size < LEAST:
        return None
    made = compare(x, y, paired=True, lower_is_better=lower_is_better, alpha=alpha)
    return against(made, made.p_value, alpha)


def _verdict(chosen: Setting | None, confirmed: Against | None, rounds: int) -> str:
    if rounds < LEAST:
        return (
            f"Rounds that count: {rounds}, and {LEAST} are the least: nothing can be said; raise --budget or --rounds."
        )
    if chosen is None:
        return NONE
    if confirmed is None:
        return (
            f"{chosen.name} is steadier, in the rounds that also chose it: run the study again before you rely on it."
        )
    if confirmed.verdict != "steadier":
        return f"{chosen.name} looked steadiest, but runs of its own did not confirm it. {NONE}"
    return f"{chosen.name} is steadier, and runs that had no part in the choice confirm it."


def _notes(design: Design, tried: Sequence[Tried], found: Sequence[Spread], rounds: int) -> Iterator[str]:
    if ignored := ignores_threads(design.settings, tried):
        yield ignored
    baseline = next((one for one in found if one.setting == BASELINE), None)
    if baseline and baseline.cv is not None and baseline.cv < STEADY_CV:
        yield f"As it is given its spread is only {100 * baseline.cv:.2g} % of its mean: there is little to reduce."
    if LEAST <= rounds < 2 * LEAST:
        yield f"{rounds} rounds show only large differences of spread, and no interval of a ratio; take 20 or more."
    if lost := [one.setting for one in found if one.against and one.against.reason == AMONG_MANY]:
        yield (
            f"Settings that would be shown to differ alone and not among so many: {len(lost)} ({', '.join(lost[:3])}"
            f"{', ...' if len(lost) > 3 else ''}): take more --rounds, or fewer --factors."
        )
    for one in found:
        if one.failed:
            yield f"{one.failed} of {one.failed + one.runs} runs of {one.setting} failed and do not count."
