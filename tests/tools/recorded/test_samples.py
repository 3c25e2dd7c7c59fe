"""Rows that are samples of runs: what whole runs share is no evidence, and arms are compared by whole runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.layers.schema import Column, Layer
from vgo_agent.tools.analysis.analyse import analyse_groups, columns
from vgo_agent.tools.analysis.analysis import AnalysisOptions
from vgo_agent.tools.claim import TooFew, in_a_word
from vgo_agent.tools.recorded.design import ColumnOptions, Observations, designs
from vgo_agent.tools.recorded.formats.vgo import measured
from vgo_agent.tools.recorded.read import read
from vgo_agent.tools.recorded.recorded import RecordedRuns
from vgo_agent.tools.recorded.write import write
from vgo_agent.tools.recorded_comparison.arms import Contrast
from vgo_agent.tools.recorded_comparison.compare import Contrasted, contrast
from vgo_agent.tools.recorded_power import plan
from vgo_agent.tools.statistics.stopping.power import PowerRequest

EACH = 10


def sampled(seed: int, runs: int = 12, spread: float = 1.0, level: float = 8.0, **more: Any) -> RecordedRuns:
    """Every run has a level of its own, which its temperature shows; decoding takes part of each sample's time."""
    rng = np.random.default_rng(seed)
    run, place = np.repeat(np.arange(runs), EACH), np.tile(np.arange(EACH), runs)
    own = rng.normal(0, level, runs)[run]
    decode = np.where(rng.random(run.size) < 0.3, 30.0, 20.0) + rng.random(run.size)
    frame = pl.DataFrame(
        {
            "program.run": run,
            "program.iteration": place,
            "program.temp_c": 60 + own + rng.normal(0, 0.1, run.size),
            "program.decode_ms": decode,
            "faults": rng.poisson(1000, runs)[run],
            "host": np.where(run % 2, "a", "b"),
            "total_ms": 100 + own + spread * rng.normal(0, 1, run.size) + more.pop("phase", 0) * decode,
            "even_ms": 100 + spread * rng.normal(0, 1, run.size),
        }
    )
    return RecordedRuns(frame, f"samples{seed}.csv", "vgo-agent", roles={"program.run": "id"}, **more)


def design(recorded: RecordedRuns, **options: Any) -> Observations:
    wanted = ColumnOptions(**{"outcome": "total_ms", "lower_is_better": True, "exclude": ("even_ms",), **options})
    [(_, found)] = designs(recorded, wanted)
    return found


def against(first: RecordedRuns, second: RecordedRuns, **options: Any) -> Contrasted:
    return contrast([first, second], Contrast(**{"metric": "even_ms", "lower_is_better": True, **options}))[0]


def test_what_whole_runs_share_is_taken_out_of_outcome_and_columns_and_said() -> None:
    found = design(sampled(1))
    assert found.runs is not None
    middles = [np.median(found.outcome[found.runs == run]) for run in np.unique(found.runs)]
    assert np.ptp(middles) < 1e-9 and abs(middles[0] - np.median(sampled(1).frame["total_ms"].to_numpy())) < 1e-9
    temperature = found.values[:, found.names.index("program.temp_c")]
    assert abs(np.corrcoef(temperature, found.outcome)[0, 1]) < 0.3, "both follow the run's level in the table"
    assert any("Rows are samples of 12 runs" in words and "% of the variance" in words for words in found.warnings)


def test_what_is_the_same_in_a_whole_run_is_set_aside_with_the_reason() -> None:
    found = design(sampled(1), settings=("host",))
    for name in ("faults", "host"):
        assert found.set_aside[name].startswith("the same in all samples of each run")
    assert not {"host=a", "host=b"} & set(found.names)


def test_levels_of_runs_give_no_cause_and_a_slow_phase_does() -> None:
    def verdict(recorded: RecordedRuns) -> tuple[str, list[str], int]:
        [group] = analyse_groups([({}, design(recorded))], AnalysisOptions()).groups
        one = group.analysis
        return one.verdict, [f.factor.name for f in one.findings if f.factor.visible], one.of_runs

    assert [verdict(sampled(seed))[0] for seed in range(6)].count("cause explained") <= 1
    found, names, runs = verdict(sampled(7, phase=1.0))
    assert (found, names[:1], runs) == ("cause explained", ["program.decode_ms"], 12)


def test_rows_that_are_runs_of_one_sample_each_stay_as_they_are() -> None:
    recorded = sampled(1)
    firsts = RecordedRuns(recorded.frame.filter(pl.col("program.iteration") == 0), "firsts.csv", "vgo-agent")
    found = design(firsts)
    assert found.runs is None and np.array_equal(found.outcome, firsts.frame["total_ms"].to_numpy())
    assert not any("samples of" in words for words in found.warnings)


def test_arms_are_compared_by_whole_runs() -> None:
    found = against(sampled(1), sampled(2, spread=0.3))
    [arm] = found.arms
    assert found.samples == {arm.name: EACH} and arm.described.block % EACH == 0
    assert (arm.described.baseline_runs, in_a_word(arm.spread)) == (120, "steadier")
    [few] = against(sampled(1, runs=4), sampled(2, runs=4)).arms
    assert few.spread == TooFew(units=(4, 4), why="there are 4 of each, and each arm needs at least 10")


def test_longer_runs_are_cut_to_the_shortest_and_runs_stay_together_whatever_the_order_of_rows() -> None:
    short = sampled(2)
    short = RecordedRuns(short.frame.filter(pl.col("program.iteration") < 7), short.source, "vgo-agent")
    found = against(sampled(1), short)
    assert found.samples == {short.source: 7}
    assert any("36 samples were left out, so that every run gives 7" in note for note in found.notes)
    by_place = RecordedRuns(short.frame.sort("program.iteration", maintain_order=True), short.source, "vgo-agent")
    assert against(sampled(1), by_place).arms == found.arms


def test_pairs_are_made_sample_by_sample_of_runs_that_are_pairs() -> None:
    both = []
    for condition, seed in (("baseline", 1), ("cure", 2)):
        frame = sampled(seed, spread=1.0 if seed == 1 else 0.3).frame
        both.append(
            frame.with_columns(
                pl.lit(condition).alias("condition"),
                pl.lit("c1").alias("call"),
                pl.col("program.run").alias("pair"),
                2 * pl.col("program.run") + seed,
            )
        )
    table = RecordedRuns(pl.concat(both)[:-1], "runs.csv", "vgo-agent", usual={"condition": "baseline"})
    asked = Contrast(metric="even_ms", condition="condition", paired=True, lower_is_better=True)
    found, _ = contrast([table], asked)
    assert (found.samples, found.alone) == ({"cure": EACH - 1}, {"cure": 1})
    assert found.arms[0].described.baseline_runs == 12 * (EACH - 1)
    assert in_a_word(found.arms[0].spread) == "steadier"


def test_power_says_that_samples_of_one_run_are_not_independent() -> None:
    planned = plan(sampled(1), "even_ms", PowerRequest(ratio=0.5))
    [note] = [note for note in planned.notes if "samples of 12 runs" in note]
    assert planned.power.runs
    assert f"at 10 samples a run it is at least {-(-planned.power.runs // EACH)} runs" in note


@pytest.mark.parametrize("name", ["runs.csv", "runs.parquet"])
def test_a_rate_reaches_the_search_as_one_also_when_saved_and_read_again(tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(3)
    fixed = {"call": "", "tool": "measure", "batch": 0, "pair": -1, "condition": "baseline", "layers": "cpu"}
    frame = pl.DataFrame({**fixed, "ok": 1, "outcome": rng.lognormal(0, 0.2, 40), "misses_share": rng.random(40)})
    layer = Layer(key="cpu", description="", columns=(Column(name="misses_share", description="", unit="", rate=True),))
    write(measured(frame, "runs", [layer], {}), tmp_path / name)
    recorded = read(tmp_path / name)
    assert recorded.rates == {"misses_share"} and not recorded.levels
    [(_, found)] = designs(recorded, ColumnOptions(outcome="outcome", lower_is_better=True))
    assert columns(found).multiplied().sum() == 1 and not columns(found).divided().any()
    [(_, told)] = designs(recorded, ColumnOptions(outcome="outcome", lower_is_better=True, levels=("misses_share",)))
    assert not columns(told).rates, "the user's word counts"


def test_a_table_of_one_run_is_refused_or_cannot_tell() -> None:
    try:
        [arm] = against(sampled(1, runs=1, level=0), sampled(2, runs=1, level=0)).arms
    except VgoError as error:
        assert "run" in str(error)
    else:
        assert isinstance(arm.spread, TooFew)
