"""What a diagnosis is given does not come from the case."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vgo_agent.agent.cli import main
from vgo_agent.evals.contest.paper import weigh
from vgo_agent.evals.recorded.folders import CASES
from vgo_agent.evals.recorded.recorded_case import USUAL, Given, RecordedCase, read_case

from .cases_made import made_case

ALL = Given(("auto",))


@pytest.fixture(scope="module")
def noise() -> RecordedCase:
    """Recorded with every light layer."""
    return read_case(CASES / "noise")


@pytest.mark.parametrize(
    ("asked", "there"),
    [
        (USUAL, ("process",)),
        (Given(("process", "cgroup")), ("cgroup", "process")),
        (Given(("process", "nvidia")), ("process",)),
    ],
    ids=["usual", "named", "not recorded"],
)
def test_layers_are_given_as_far_as_they_were_recorded(
    noise: RecordedCase, asked: Given, there: tuple[str, ...]
) -> None:
    assert asked.to(noise).file.limits.layers == there


def test_auto_gives_all_that_showed_something(noise: RecordedCase) -> None:
    given = ALL.to(noise).file.limits.layers
    assert set(given) <= set(noise.recording.profiling.layers) and {"process", "memory", "perf"} <= set(given)


def test_the_permission_is_the_same_for_all(noise: RecordedCase) -> None:
    assert (USUAL.to(noise).file.limits.allow, Given(allow="process").to(noise).file.limits.allow) == (
        "system",
        "process",
    )


@pytest.mark.slow
def test_the_tree_of_the_paper_sees_no_column_of_a_layer_that_was_not_given(noise: RecordedCase) -> None:
    profile = [row for row in noise.shown.rows("profile") if row.get("layers")]
    seen = {
        of: {weight.column for weight in weigh(of.to(noise).shown, profile, 1, consequences=True)}
        for of in (USUAL, ALL)
    }
    assert all(noise.layers["process"].column(column) for column in seen[USUAL])
    assert not all(noise.layers["process"].column(column) for column in seen[ALL])


def test_it_is_said_by_options_and_told_in_the_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made_case(tmp_path, "steady")
    words = ["eval", "--folder", str(tmp_path), "--planner", "oracle", "--seeds", "1", "--json"]
    assert main([*words, "--layer", "auto", "--allow", "system"]) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    assert (results["layers"], results["allow"]) == (["auto"], "system")
    assert main([*words, "--layer", "procces"]) != 0
    assert "There is no layer 'procces'" in capsys.readouterr().err
