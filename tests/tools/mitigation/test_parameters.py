"""Parameters: put in their places, bounded, never more than a number or a plain word."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.knowledge.actions import Parameter
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.loader import load
from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.parameters import levels_of, with_values

KNOWN = load().mitigations
EIGHT = Machine(cpus=tuple(range(8)))
THREADS = {"name": "threads", "description": "d", "default": "cpus-1", "least": "1", "most": "cpus"}
Make = Callable[..., Mitigation]


@pytest.fixture
def team(one: Make) -> Mitigation:
    return one(
        parameters=[THREADS],
        apply={"environment": {"OMP_NUM_THREADS": "{threads}", "OTHER": "{cgroup.cpu} {mask_but_quiet}"}},
        verify={"environment": ["OMP_NUM_THREADS", "OTHER"]},
        permanent={"slurm": "#SBATCH --cpus-per-task={threads}"},
        steps=["Set {threads}."],
    )


def test_values_stand_everywhere_and_words_that_are_no_parameter_stay(team: Mitigation) -> None:
    done = with_values(team, {"threads": "3"}, EIGHT)
    assert done.apply is not None
    assert done.apply.environment == {"OMP_NUM_THREADS": "3", "OTHER": "{cgroup.cpu} {mask_but_quiet}"}
    assert done.permanent["slurm"].endswith("=3")
    assert done.steps == ("Set 3.",)


@pytest.mark.parametrize(("word", "number"), [("cpus", "8"), ("cpus/2", "4"), ("cpus-1", "7"), ("cpus*1", "8")])
def test_words_are_counted_from_the_cpus(team: Mitigation, word: str, number: str) -> None:
    done = with_values(team, {"threads": word}, EIGHT)
    assert done.apply is not None
    assert done.apply.environment["OMP_NUM_THREADS"] == number


def test_the_default_is_used_where_nothing_is_said(team: Mitigation) -> None:
    done = with_values(team, {}, EIGHT)
    assert done.apply is not None
    assert done.apply.environment["OMP_NUM_THREADS"] == "7"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"thread": "2"}, "has no parameter thread: it has threads"),
        ({"threads": "0"}, "0 is no value for threads of some_mitigation: it is from 1 to 8"),
        ({"threads": "9"}, "from 1 to 8"),
        ({"threads": "many"}, "it is a number"),
        ({"threads": "1; rm -rf /"}, "give a number or a plain word"),
        ({"threads": ""}, "give a number or a plain word"),
        ({"threads": "$(id)"}, "give a number or a plain word"),
        ({"threads": "../x"}, "give a number or a plain word"),
    ],
)
def test_what_is_wrong_is_named(team: Mitigation, values: dict[str, str], said: str) -> None:
    with pytest.raises(VgoError) as refused:
        with_values(team, values, EIGHT)
    assert said in str(refused.value)


def test_a_mitigation_without_parameters_says_so(one: Make) -> None:
    with pytest.raises(VgoError, match="no parameter x: it has none"):
        with_values(one(apply={}), {"x": "1"}, EIGHT)


def test_levels_are_counted_once_and_within_bounds() -> None:
    parameter = Parameter.model_validate(THREADS | {"levels": ["cpus", "cpus-1", "8", "cpus/2", "16"]})
    assert levels_of(parameter, EIGHT) == ("8", "7", "4")
    assert levels_of(Parameter.model_validate(THREADS), Machine(cpus=(0, 1, 2))) == ("1", "2")


@given(st.integers(1, 256), st.integers(1, 256))
def test_doing_it_again_changes_nothing(cpus: int, threads: int) -> None:
    machine = Machine(cpus=tuple(range(cpus)))
    known = KNOWN["omp_threads"]
    done = with_values(known, {"threads": str(min(threads, 4 * cpus))}, machine)
    assert with_values(done, {}, machine) == done
    assert "{threads}" not in done.model_dump_json()


@pytest.mark.parametrize("key", sorted(key for key, known in KNOWN.items() if known.parameters))
def test_every_known_parameter_has_a_default_and_levels_that_are_taken(key: str) -> None:
    known = KNOWN[key]
    with_values(known, {}, EIGHT)
    for parameter in known.parameters:
        levels = levels_of(parameter, EIGHT)
        assert levels
        for level in levels:
            with_values(known, {parameter.name: level}, EIGHT)
