"""The verdict: every combination of cause and remedy is told, read back, and named; the page has the same words."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.knowledge.time_states import TimeState
from vgo_agent.tools.claim import Claim, TooFew
from vgo_agent.tools.ledger.recognise import RecognisedFactor
from vgo_agent.tools.statistics.values import IntervalEstimate
from vgo_agent.tools.verdict import (
    CAUSES,
    REMEDIES,
    TITLES,
    Cause,
    Confirmed,
    Diagnosis,
    Explained,
    Found,
    Located,
    NotSought,
    NotTried,
    NotVisible,
    Observed,
    Refuted,
    Remedy,
    Steady,
    TriedRemedy,
    Undecided,
    UnexplainedRest,
    Unusable,
    Verdict,
    exit_code,
    from_json,
    left_for_time,
    matches,
    title,
    to_json,
)
from vgo_agent.tools.verdict_words import Openings, headline, listed, next_steps

PAGE = Path(__file__).parents[2] / "docs/reference/verdicts.md"
NUMBERS: dict[str, Any] = {"low": 0.1, "high": 0.3, "level": 0.95, "p_value": 0.001, "units": (60, 60), "margin": 0.66}
SPREAD = Claim(measure="spread", ratio=0.2, design="randomised", **NUMBERS)
MEAN = SPREAD.model_copy(update={"measure": "mean", "ratio": 0.9, "low": 0.8, "high": 1.1})
OPEN = SPREAD.model_copy(update={"ratio": 0.8, "low": 0.5, "high": 1.2})
FEW = TooFew(units=(3, 3), why="there are 3 of each, and each arm needs at least 10")
HOPS = Found(factor="cpu_migrations", name="CPU hops", column="migrations", auc=0.97, p_value=0.001)
ASLEEP = Located(
    state=TimeState.SLEEP,
    name="asleep by a timer",
    gap_ms=45.5,
    gap_interval=IntervalEstimate(low=40, high=48),
    share=0.92,
    what="python3: clock_nanosleep",
)
RETRIED = RecognisedFactor(factor="pauses", name="Polling", cure="Wait for the event itself.")
PARTS: list[tuple[Found | Located, ...]] = [
    (HOPS,),
    (HOPS, Found(factor="page_faults", name="Page faults", column="minor_faults", auc=0.8, p_value=0.02, fell=True)),
    (Found(factor="memory_layout", name="Memory layout"),),
    (ASLEEP,),
    (ASLEEP.model_copy(update={"recognised": RETRIED}),),
    (HOPS, ASLEEP),
    (ASLEEP, HOPS),
    (ASLEEP.model_copy(update={"state": TimeState.SYSTEM, "why": "more calls of read, or longer ones"}),),
]
CAUSE: list[Cause] = [
    *(Explained(parts=parts) for parts in PARTS),
    *(
        Explained(parts=(ASLEEP,), rest=UnexplainedRest(gap_ms=ms, share=share))
        for ms, share in ((-1, 0.01), (4, 0.08))
    ),
    NotVisible(groups=7, p_value=0.4, runs=60, hidden=("Memory layout",)),
    NotVisible(groups=7, p_value=0.01, runs=60, slight=HOPS),
    NotVisible(groups=7, p_value=0.01, runs=60, slight=HOPS, less=True, held=(ASLEEP,)),
    NotSought(),
    NotSought(why="the budget of 9 s ran out before any factor was looked at; raise --budget"),
]
TRIED = [
    TriedRemedy(mitigation="x", claim=OPEN),
    TriedRemedy(mitigation="y", claim=FEW, values={"blocks": "2"}),
    TriedRemedy(mitigation="w", claim=SPREAD, less=True),
    TriedRemedy(mitigation="v", refuted_by="made a run hang"),
]
HELPS: dict[str, Any] = {"mitigation": "pin_to_cpu", "claim": SPREAD, "sd": OPEN, "mean": MEAN, "comparison": "c009"}
REMEDY: list[Remedy] = [
    Confirmed(**HELPS, command="taskset -c 0 ./bench.sh", untried=("z",)),
    Observed(**HELPS, promise="order of writes"),
    *(Refuted(trials=tuple(TRIED[:count]), declined=("s",)) for count in (1, 4)),
    *(Undecided(undecided=tuple(TRIED[:count]), untried=("z",)) for count in (0, 1, 3)),
    Undecided(ended_by="planner"),
    NotTried(why="--allow none forbids it"),
]
VERDICTS: list[Verdict] = [
    *(Diagnosis(cause=one, remedy=other, evidence=("c001",)) for one, other in itertools.product(CAUSE, REMEDY)),
    Steady(cv=0.001, limit=0.01, fails="3 of 60 runs failed (exit 1)", evidence=()),
    Unusable(why="only 3 runs count", cure="raise --max-runs", evidence=()),
]
ANY = st.sampled_from(VERDICTS)
OPENINGS = st.builds(
    Openings,
    ready=st.sampled_from([(), ("a", "b")]),
    system=st.sampled_from([(), ("c",)]),
    process=st.booleans(),
    by_hand=st.sampled_from([(), ("d",)]),
    suspects=st.booleans(),
    absent=st.integers(0, 3),
    pairs_needed=st.integers(0, 99),
    best=st.sampled_from(["", "Nothing that was tried left less spread than the baseline."]),
)


@given(ANY)
def test_it_is_read_back_as_it_was_written(verdict: Verdict) -> None:
    assert from_json(to_json(verdict)) == verdict


@given(ANY)
def test_it_has_a_title_that_its_halves_stand_for(verdict: Verdict) -> None:
    assert title(verdict) in TITLES
    assert matches(title(verdict), title(verdict).split(", ")) and matches(title(verdict), [title(verdict)])
    assert not matches("", (*TITLES, *CAUSES, *REMEDIES))
    assert exit_code(verdict) == (title(verdict) == "unusable")


@given(ANY)
def test_it_is_told_in_whole_sentences_that_name_all_that_was_left_open(verdict: Verdict) -> None:
    said = headline(verdict)
    assert said[0].isupper() or said.startswith(
        ("pin_to_cpu brings ", "pin_to_cpu, applied by hand", "x does not help")
    )
    assert said.endswith(".") and not re.search(r"None(?! of)", said) and "  " not in said
    if isinstance(verdict, Diagnosis) and isinstance(verdict.remedy, Undecided):
        names = {*verdict.remedy.untried, *(one.mitigation for one in verdict.remedy.undecided)}
        assert all(name in said for name in names)


@given(ANY, OPENINGS)
def test_next_steps_are_sentences_each_once(verdict: Verdict, openings: Openings) -> None:
    steps = next_steps(verdict, openings)
    assert len(set(steps)) == len(steps)
    assert all(step[0].isupper() and step.endswith(".") and "None" not in step for step in steps)


def test_two_answers_are_told_apart() -> None:
    remedy = Undecided(undecided=(TRIED[0], TRIED[1]), untried=("z",))
    said = headline(Diagnosis(cause=CAUSE[0], remedy=remedy, evidence=()))
    assert said == (
        "The slow runs go with CPU hops (migrations, AUC 0.97, family-wise p 0.001); no remedy was confirmed before "
        "the budget ended: x and y (blocks=2) undecided, z untried."
    )


def test_only_a_budget_is_worth_more_time() -> None:
    left = {"budget": ("z",), "planner": ()}
    for ended_by, names in left.items():
        remedy = Undecided.model_validate({"untried": ("z",), "ended_by": ended_by})
        assert left_for_time(Diagnosis(cause=NotSought(), remedy=remedy, evidence=())) == names
    assert left_for_time(Diagnosis(cause=NotSought(), remedy=REMEDY[0], evidence=())) == ("z",)


@given(st.lists(st.text("abc", min_size=1), max_size=7))
def test_a_list_of_names_tells_how_many_there_are(names: list[str]) -> None:
    said = listed(names)
    assert bool(said) == bool(names) and ("more" in said) == (len(names) > 3)


@pytest.mark.parametrize("one", [Explained, NotVisible, NotSought], ids=lambda one: one.__name__)
def test_the_page_says_of_each_cause_what_the_source_does(one: Any) -> None:
    assert f"| `cause {one.model_fields['kind'].default}` | {one.__doc__} |" in PAGE.read_text()


def test_what_is_known_in_milliseconds_is_said_first() -> None:
    said = [
        headline(Diagnosis(cause=Explained(parts=parts), remedy=NotTried(why="x"), evidence=()))
        for parts in ((ASLEEP, HOPS), (HOPS, ASLEEP))
    ]
    assert (
        said[0].startswith("Slow runs spend more time asleep by a timer (45.5 ms")
        and ", and go with CPU hops" in said[0]
    )
    assert said[1].startswith("The slow runs go with CPU hops")


@pytest.mark.parametrize("one", [Confirmed, Observed, Refuted, Undecided, NotTried], ids=lambda one: one.__name__)
def test_the_page_says_of_each_remedy_what_the_source_does(one: Any) -> None:
    assert f"| `remedy {one.model_fields['kind'].default}` | {one.__doc__} |" in PAGE.read_text()


@pytest.mark.parametrize("one", [Steady, Unusable], ids=lambda one: one.__name__)
def test_the_page_says_of_the_rest_what_the_source_does(one: Any) -> None:
    assert f"| `{one.model_fields['kind'].default}` | {one.__doc__} |" in PAGE.read_text()


def test_what_a_state_was_recognised_as_stands_in_the_headline_and_its_cure_comes_first() -> None:
    parts = (ASLEEP.model_copy(update={"recognised": RETRIED}),)
    verdict = Diagnosis(cause=Explained(parts=parts), remedy=NotTried(why="none is known"), evidence=())
    assert "python3: clock_nanosleep, which looks like polling" in headline(verdict)
    assert next_steps(verdict, Openings())[0] == "Polling: Wait for the event itself (`vgo-agent explain pauses`)."


def test_what_no_part_explains_is_told_where_it_matters() -> None:
    def told(share: float, gap_ms: float = 5.25) -> str:
        cause = Explained(parts=(ASLEEP,), rest=UnexplainedRest(gap_ms=gap_ms, share=share))
        return headline(Diagnosis(cause=cause, remedy=NotTried(why="none is known"), evidence=()))

    assert "clock_nanosleep); 5.25 ms more, 8 % of the variance, stay unexplained; no remedy" in told(0.08)
    assert "clock_nanosleep); 8 % of the variance stay unexplained; no remedy" in told(0.08, -0.9)
    assert "unexplained" not in told(0.04) and "unexplained" not in told(-0.1)
