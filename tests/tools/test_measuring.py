"""measure and apply_mitigation on a real program: when they stop, also after having been cut off."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from vgo_agent.knowledge.loader import load
from vgo_agent.layers.probes.base import Probe
from vgo_agent.tools.case import Case
from vgo_agent.tools.claim import Claim
from vgo_agent.tools.comparison import direction
from vgo_agent.tools.execution.bench import Bench
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.record import Record
from vgo_agent.tools.results import MeasureResult, ProfileResult
from vgo_agent.tools.statistics.ratio_test import bounds
from vgo_agent.tools.steps.apply_mitigation import ApplyMitigationTool
from vgo_agent.tools.steps.measure import MeasureTool
from vgo_agent.tools.steps.profile import ProfileTool
from vgo_agent.tools.subject import Limits, Subject
from vgo_agent.tools.trial_results import ApplyResult

MITIGATION = "glibc_malloc_thresholds"
# Prints a number that scatters by 100 without the mitigation, and by WITH with it; every run another one.
PROGRAM = """\
#!/bin/sh
read n < count
n=$((n + 1))
echo $n > count
v=$(((n * n * 31 + n * 7919) % 101))
[ "$MALLOC_TOP_PAD_" ] && v=$((v * WITH / 100))
echo "took $((1000 + v)) ms"
[ ! -e looked ] || echo "run $n: $(cat looked) looks at me" >&2
"""
CURES, DOES_NOTHING, WORSENS = 10, 100, 900


@dataclass
class Store:
    def get(self, sha256: str) -> bytes:
        raise KeyError(sha256)


@pytest.fixture(scope="module")
def spawner() -> Iterator[Spawner]:
    with Spawner() as opened:
        yield opened


@pytest.fixture
def case(tmp_path: Path, spawner: Spawner) -> Any:
    """Make a case whose program answers the mitigation as told."""

    def make(with_it: int = DOES_NOTHING, **limits: Any) -> Case:
        (tmp_path / "program.sh").write_text(PROGRAM.replace("WITH", str(with_it)))
        (tmp_path / "program.sh").chmod(0o755)
        (tmp_path / "count").write_text("0\n")
        argv = (str(tmp_path / "program.sh"),)
        subject = Subject(command=argv, argv=argv, directory=str(tmp_path), metric="took ([0-9]+) ms", unit="ms")
        launch = Launch(argv=argv, directory=tmp_path, environment=dict(os.environ))
        bench = Bench(subject=subject, spawner=spawner, folder=tmp_path / "partial", launch=launch)
        machine = Machine(glibc="2.36", program_dynamic=True)
        return Case("c001", subject, Limits(**limits), machine, load(), Record((), Store()), bench)

    return make


def measured(case: Case, max_runs: int = 200, max_seconds: float = 60.0) -> MeasureResult:
    given = MeasureTool().arguments.model_validate({"max_runs": max_runs, "max_seconds": max_seconds})
    return MeasureResult.model_validate(MeasureTool().run(given, case).result)


def applied(case: Case, pairs: int = 80, batch: int = 1) -> tuple[ApplyResult, bytes]:
    given = ApplyMitigationTool().arguments.model_validate({"mitigation": MITIGATION, "pairs": pairs, "batch": batch})
    outcome = ApplyMitigationTool().run(given, case)
    return ApplyResult.model_validate(outcome.result), outcome.artefacts["runs.csv"]


def test_a_fixed_count_is_met_to_the_run_and_named(case: Any) -> None:
    result = measured(case(stop="count", stop_at=37, min_runs=10))
    assert (result.runs + result.warm_up, result.stopped_by, result.stop_rule) == (37, "fixed count", "count")
    assert result.stop_reason == "37 of 37 runs"


def test_the_spread_rule_is_the_default_and_says_what_it_cannot_have_seen(case: Any) -> None:
    result = measured(case())
    assert (result.stopped_by, result.stop_rule) == ("spread known", "spread")
    assert "may not have been seen" in result.stop_reason


def test_the_caps_hold_beside_any_rule(case: Any) -> None:
    assert measured(case(stop="count", stop_at=1000), max_runs=40).stopped_by == "run cap"
    assert measured(case(stop="count", stop_at=1000), max_seconds=0.01).stopped_by == "time cap"


def test_no_rule_stops_before_the_least_number_of_runs(case: Any) -> None:
    result = measured(case(stop="se", min_runs=45))
    assert (result.runs + result.warm_up, result.stopped_by) == (45, "standard error")


def test_a_series_that_was_cut_off_stops_where_an_unbroken_one_stops(case: Any) -> None:
    unbroken = measured(case())
    made = case()
    for kept in (31, 50):
        cut_off(made, kept)
        assert measured(made).runs == unbroken.runs


def cut_off(made: Case, rows: int) -> None:
    """Leave the first rows of the last series, and the program's counter where it then stood."""
    assert isinstance(made.bench, Bench)
    path = made.bench.folder / "c001.jsonl"
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(lines[:rows]))
    Path(made.subject.directory, "count").write_text(f"{min(rows, len(lines))}\n")


def test_a_cure_that_half_of_the_pairs_show_needs_no_more_of_them(case: Any) -> None:
    result, table = applied(case(CURES))
    assert (result.pairs, result.left) == (40, bounds(0.05).first / 0.05)
    assert [(look.pairs, look.stopped, direction(look.spread)) for look in result.looks] == [(40, True, "less")]
    spread = result.looks[0].spread
    assert isinstance(spread, Claim) and spread.level == pytest.approx(1 - bounds(0.05).first)
    assert "stopped at a look" in result.summary
    assert len(table.splitlines()) == 1 + 80


def test_a_mitigation_that_makes_it_worse_is_given_up_at_half(case: Any) -> None:
    result, _ = applied(case(WORSENS))
    assert (result.pairs, direction(result.looks[0].spread)) == (40, "more")


def test_without_an_effect_all_pairs_are_run_and_judged_at_what_the_look_left(case: Any) -> None:
    result, table = applied(case(DOES_NOTHING))
    assert (result.pairs, result.left) == (80, bounds(0.05).last / 0.05)
    assert not result.looks[0].stopped
    assert len(table.splitlines()) == 1 + 160


def test_the_confirming_batch_goes_on_until_the_target_is_reached(case: Any) -> None:
    assert applied(case(40), batch=1)[0].looks[0].stopped
    confirming, _ = applied(case(40, target_ratio=0.3), batch=2)
    assert (direction(confirming.looks[0].spread), confirming.pairs) == ("less", 80)


def test_too_few_pairs_for_a_look_leave_all_of_alpha(case: Any) -> None:
    result, _ = applied(case(CURES), pairs=30)
    assert (result.pairs, result.looks, result.left) == (30, (), 1.0)


@pytest.mark.parametrize("with_it", [CURES, DOES_NOTHING])
@pytest.mark.parametrize("kept", [33, 80])
def test_pairs_that_were_cut_off_are_looked_at_as_unbroken_ones(case: Any, with_it: int, kept: int) -> None:
    made = case(with_it)
    unbroken, _ = applied(made)
    cut_off(made, kept)
    again, _ = applied(made)
    assert (again.looks[0].stopped, again.pairs, again.left) == (
        unbroken.looks[0].stopped,
        unbroken.pairs,
        unbroken.left,
    )


def test_rows_beyond_the_look_do_not_change_it(case: Any) -> None:
    made = case(DOES_NOTHING)
    unbroken, _ = applied(made)
    cut_off(made, 121)
    again, _ = applied(made)
    assert again.looks == unbroken.looks


def test_any_rule_can_be_asked_for(case: Any) -> None:
    for name in ("ks", "bayesian-bootstrap", "mixture"):
        made = case(stop=name, min_runs=20)
        cut_off(made, 0)
        assert measured(made, max_runs=21).stop_rule == name


class Noticed(Probe):
    """The program sees that it is looked at."""

    def __init__(self, sign: Path, prints: bool) -> None:
        self.sign, self.prints = sign, prints

    def before(self) -> None:
        """Show it."""
        self.sign.write_text("somebody")

    def after(self) -> None:
        """Hide it."""
        self.sign.unlink()


@pytest.mark.parametrize(("more", "heard"), [(0, [20]), (100_000, [0, 1])])
def test_what_a_program_without_a_metric_prints_is_heard_too_until_it_is_much(
    case: Any, tmp_path: Path, more: int, heard: list[int]
) -> None:
    made = case(layers=("process",))
    text = (tmp_path / "program.sh").read_text().replace('looks at me" >&2', f'looks at me"; head -c {more} /dev/zero')
    (tmp_path / "program.sh").write_text(text)
    made.measuring.subject = made.subject.model_copy(update={"metric": None, "unit": "s"})
    made.measuring._probes["process"] = Noticed(tmp_path / "looked", prints=False)
    given = ProfileTool().arguments.model_validate({"layers": ("process",), "runs": 20, "max_seconds": 60.0})
    ProfileTool().run(given, made)
    rows = map(json.loads, (tmp_path / "partial/c001.jsonl").read_text().splitlines())
    said = [row["said"] for row in rows if row["layers"] == "process"]
    assert len(said) == 20 and sum(map(bool, said)) in heard


@pytest.mark.parametrize("prints", [False, True])
def test_a_layer_under_which_the_program_prints_what_it_never_does_without_is_set_aside(
    case: Any, tmp_path: Path, prints: bool
) -> None:
    made = case(layers=("process",))
    made.measuring._probes["process"] = Noticed(tmp_path / "looked", prints)
    given = ProfileTool().arguments.model_validate({"layers": ("process",), "runs": 20, "max_seconds": 60.0})
    outcome = ProfileTool().run(given, made)
    (found,) = ProfileResult.model_validate(outcome.result).distortions
    differs = "what it prints differs when it is looked at: 'run # somebody looks at me' in 20 of 20 runs, in none of"
    assert found.set_aside == ("" if prints else f"{differs} 20 bare ones"), "what wraps it may print itself"
    assert b"said" not in outcome.artefacts["runs.csv"]
