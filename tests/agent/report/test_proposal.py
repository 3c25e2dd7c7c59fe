"""The sweep that a report proposes: a command line that the sweep itself understands."""

from __future__ import annotations

import shlex

import pytest

from vgo_agent.agent.report.further import Proposal, levels_around, options_of, proposal
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.subject import Subject
from vgo_agent.tools.survey import survey
from vgo_agent.tools.sweep.cell import first_cells
from vgo_agent.tools.sweep.space import inline


def subject(*command: str, **more: object) -> Subject:
    return Subject.model_validate({"command": command, "argv": command, "directory": "/", **more})


@pytest.fixture(scope="module")
def machine() -> Machine:
    return survey(subject("/bin/true"), []).model_copy(update={"cpus": (0, 1)})


def asked(machine: Machine, *command: str, knobs: tuple[tuple[str, tuple[str, ...]], ...] = (), **more: object) -> str:
    found = proposal(subject(*command, **more), machine, knobs, "process", "vgo-runs")
    return "" if found is None else found.sweep


def test_two_options_are_crossed_around_what_was_given(machine: Machine) -> None:
    line = asked(machine, "./solver", "--size", "1000", "--block=64", "input.dat")
    assert line == (
        "vgo-agent sweep 'size=500,1000,2000 block=32,64,128' -- ./solver --size '{size}' '--block={block}' input.dat"
    )


def test_what_is_proposed_is_a_space_with_as_many_cells_as_are_told(machine: Machine) -> None:
    for words in (["./a", "-k", "8"], ["./a", "--x=0.5", "--y=3"], ["./a", "-k", "100", "--seed", "3"]):
        found = proposal(subject(*words), machine, (), "process", "vgo-runs")
        assert isinstance(found, Proposal)
        line = shlex.split(found.sweep)
        space = inline(line[2], tuple(line[line.index("--") + 1 :]))
        assert len(first_cells(space, 1).cells) == found.cells >= 8


def test_one_option_is_crossed_with_the_cpus_or_with_a_knob(machine: Machine) -> None:
    assert asked(machine, "./a", "-k", "64").startswith("vgo-agent sweep 'k=16,32,64,128,256 affinity=0,0+1' ")
    knobs = (("glibc_tcache.blocks", ("0", "32", "127")),)
    assert "'k=32,64,128 glibc_tcache.blocks=0,32,127'" in asked(machine, "./a", "-k", "64", knobs=knobs)
    alone = machine.model_copy(update={"cpus": (0,)})
    assert len(shlex.split(asked(alone, "./a", "-k", "64"))[2].split(",")) == 9


def test_how_the_program_was_judged_is_kept(machine: Machine) -> None:
    line = asked(machine, "./a", "-k", "64", metric="v=(.*)", unit="MB/s", lower_is_better=False, timeout_s=5)
    assert "--metric 'v=(.*)' --unit MB/s --higher-is-better --timeout 5 -- ./a" in line


def test_nothing_is_proposed_where_nothing_can_be_varied(machine: Machine) -> None:
    assert asked(machine, "./a", "input.dat") == ""
    assert asked(machine, "./a -k 64", shell=True) == ""
    assert asked(machine, "./a", "-k", "64", on="tcp://head:8786") == ""
    assert asked(machine, "./a", "-k", "64", per_iteration="csv", metric="t") == ""


WORDS = ["a", "--seed=1", "--port", "80", "--size", "0", "-n", "4", "--order=5", "-x"]


def test_numbers_that_are_names_are_no_options() -> None:
    names = [one.name for one in options_of(WORDS)]
    assert names == ["n", "order_option"]
    assert not list(options_of(["a", "--key", "9" * 400, "-k", "٣"]))  # not an amount


@pytest.mark.parametrize("number", ["1", "7", "1000", "0.25"])
def test_levels_go_up_and_hold_what_was_given(number: str) -> None:
    for steps in (3, 5, 9):
        levels = list(map(float, levels_around(number, steps)))
        assert levels == sorted(set(levels)) and float(number) in levels
