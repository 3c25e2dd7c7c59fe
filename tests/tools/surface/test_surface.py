"""A surface from a table to an answer: axes, responses, intervals, extrapolation, storage."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.recorded.recorded import RecordedRuns
from vgo_agent.tools.surface.axes import axis_of
from vgo_agent.tools.surface.cells import CellOutcomes, SurfaceOptions, cells, response_of
from vgo_agent.tools.surface.fitted import fit_surface, surface
from vgo_agent.tools.surface.predict import best, field, predict
from vgo_agent.tools.surface.stored import Fitted, fit_both, load, save

THREADS, FREQS, HOSTS = (1, 2, 4, 8, 16), (1.2, 1.8, 2.4, 3.0), ("a", "b")


def spread(threads: float, freq: float, host: str) -> float:
    return float(0.01 * threads**0.7 * (2 if host == "b" else 1) * (1 + 0.2 * freq))


def runs(each: int = 15, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for threads, freq, host in itertools.product(THREADS, FREQS, HOSTS):
        for noise in rng.normal(0, spread(threads, freq, host), each):
            rows.append((threads, freq, host, 10 / threads**0.5 / freq + noise))
    return pl.DataFrame(rows, schema=["threads", "freq", "host", "time_s"], orient="row")


def gathered(frame: pl.DataFrame, **asked: object) -> CellOutcomes:
    named = {"settings": ("threads", "freq", "host"), "outcome": "time_s", **asked}
    return cells(RecordedRuns(frame, "runs.csv", "CSV"), SurfaceOptions(**named))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    return fit_both(gathered(runs()), "sd", ("gaussian",))


def test_runs_of_one_configuration_are_one_cell(fitted: Fitted) -> None:
    record = fitted.response.record
    assert len(record.values) == 40 and set(record.runs) == {15}
    scales = {axis.name: axis.scale for axis in record.axes}
    assert scales == {"threads": "log", "freq": "straight", "host": "named"}


def test_predictions_follow_the_spread_and_its_interval_holds_it(fitted: Fitted) -> None:
    within = 0
    for threads, freq, host in itertools.product((1, 3, 6, 16), (1.3, 2.0, 2.9), HOSTS):
        found = predict(fitted.response, {"threads": threads, "freq": freq, "host": host})
        assert found.value == pytest.approx(spread(threads, freq, host), rel=0.4)
        assert found.low is not None and found.high is not None and 0 < found.low < found.value < found.high
        within += found.low < spread(threads, freq, host) < found.high
    assert within >= 22


def test_intervals_cover_what_is_measured_anew(fitted: Fitted) -> None:
    anew = response_of(gathered(runs(seed=7)), "sd").values
    record = fitted.response.record
    rows = (dict(zip(record.columns, row, strict=True)) for row in zip(*record.columns.values(), strict=True))
    told = [predict(fitted.response, row) for row in rows]
    covered = np.mean([(one.low or 0) <= value <= (one.high or 0) for one, value in zip(told, anew, strict=True)])
    assert covered >= 0.8


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"threads": 64, "freq": 2.0, "host": "a"}, "outside what was measured"),
        ({"threads": 8, "freq": 0.5, "host": "a"}, "outside what was measured"),
        ({"threads": 8, "freq": 2.0, "host": "a"}, ""),
        ({"threads": 8, "freq": 2.4, "host": "b"}, ""),
    ],
)
def test_extrapolation_is_said(fitted: Fitted, config: dict[str, float | str], why: str) -> None:
    found = predict(fitted.response, config)
    assert (why in found.extrapolated) if why else found.extrapolated == ""
    assert found.value > 0


def test_a_corner_that_was_not_measured_is_extrapolation() -> None:
    frame = runs().filter(~((pl.col("threads") > 2) & (pl.col("freq") > 2)))
    corner = fit_surface(gathered(frame), "sd", ("mars",))
    assert "not between them" in predict(corner, {"threads": 8, "freq": 2.4, "host": "a"}).extrapolated


def test_a_stored_surface_answers_the_same(fitted: Fitted, tmp_path: Path) -> None:
    save(fitted, tmp_path / "kept")
    again = load(tmp_path / "kept")
    assert again.stored == fitted.stored
    config: dict[str, float | str] = {"threads": 5, "freq": 2.1, "host": "b"}
    assert predict(again.response, config).value == pytest.approx(predict(fitted.response, config).value, rel=1e-9)


def test_a_stored_hybrid_keeps_its_weights(fitted: Fitted, tmp_path: Path) -> None:
    weights = {"mars": 0.25, "shepard": 0.75, "boosting": 0.0}
    hybrid = surface(fitted.response.record.model_copy(update={"model": "hybrid", "weights": weights}))
    save(Fitted(hybrid), tmp_path)
    mars, shepard = (surface(fitted.response.record.model_copy(update={"model": name})) for name in ("mars", "shepard"))
    config: dict[str, float | str] = {"threads": 5, "freq": 2.1, "host": "b"}
    expected = predict(mars, config).value ** 0.25 * predict(shepard, config).value ** 0.75
    assert predict(load(tmp_path).response, config).value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("response", ["sd", "cv", "variance", "mean", "median", "p95"])
def test_every_response_is_what_numpy_says(response: str) -> None:
    found, outcomes = response_of(gathered(runs()), response).values, gathered(runs()).outcomes
    formulas: dict[str, Callable[[Any], Any]] = {
        "sd": lambda x: x.std(ddof=1),
        "cv": lambda x: x.std(ddof=1) / x.mean(),
        "variance": lambda x: x.var(ddof=1),
        "mean": np.mean,
        "median": np.median,
        "p95": lambda x: np.quantile(x, 0.95),
    }
    np.testing.assert_allclose(found, [formulas[response](one) for one in outcomes])


def test_a_table_of_cells_gives_the_same_surface_as_its_runs() -> None:
    frame = runs()
    of_cells = frame.group_by("threads", "freq", "host", maintain_order=True).agg(pl.col("time_s").var().alias("var"))
    given = gathered(of_cells, outcome="var", given="variance")
    np.testing.assert_allclose(response_of(given, "sd").values, response_of(gathered(frame), "sd").values)


def test_doubled_cells_are_averaged_and_told() -> None:
    frame = pl.DataFrame({"threads": [*range(1, 10), 9], "var": [float(n) for n in range(1, 10)] + [11.0]})
    found = gathered(frame, settings=("threads",), outcome="var", given="variance")
    assert response_of(found, "variance").values[-1] == 10
    assert any("more than once" in note for note in found.notes)


def test_levels_that_lie_very_close_are_spaced_evenly() -> None:
    axis = axis_of("freq", [1.2, 2.0, 3.0, 3.001] * 5)
    assert axis.scale == "levels"
    np.testing.assert_allclose(axis.encode([1.2, 2.0, 2.5, 3.0, 3.001])[:, 0], [0, 1 / 3, 0.5, 2 / 3, 1])


@settings(deadline=None)
@given(st.lists(st.integers(1, 10**8).map(lambda n: n / 100), min_size=2, max_size=40, unique=True))
def test_an_axis_keeps_order_and_spans_zero_to_one(values: list[float]) -> None:
    placed = axis_of("x", values).encode(sorted(values))[:, 0]
    assert (np.diff(placed) > 0).all() and placed[0] == pytest.approx(0) and placed[-1] == pytest.approx(1)


def test_the_best_meets_its_constraint_and_none_that_does_is_better(fitted: Fitted) -> None:
    found, all_of_them = best(fitted, "sd", "mean<=1.5*best and host=='a'")
    assert all_of_them.mean is not None
    fine = (all_of_them.mean <= 1.5 * all_of_them.mean.min()) & (np.array(all_of_them.columns["host"]) == "a")
    assert found.best.response == all_of_them.response[fine].min()
    assert found.best.config["host"] == "a" and found.allowed == fine.sum()


def test_the_front_runs_from_the_best_mean_to_the_smallest_spread(fitted: Fitted) -> None:
    found, all_of_them = best(fitted, "sd")
    means, spreads = [one.mean for one in found.front], [one.response for one in found.front]
    assert all_of_them.mean is not None
    assert means == sorted(means) and spreads == sorted(spreads, reverse=True)  # type: ignore[type-var]
    assert means[0] == all_of_them.mean.min() and spreads[-1] == all_of_them.response.min()


def test_combinations_that_were_not_measured_are_candidates_near_cells_alone() -> None:
    frame = runs().filter(~((pl.col("threads") == 4) & (pl.col("freq") == 2.4)))
    found = field(Fitted(fit_surface(gathered(frame), "sd", ("mars",))))
    assert len(found.response) == 40 and (found.measured < 0).sum() == 2


def test_zero_spread_is_kept_above_zero() -> None:
    frame = runs(4).with_columns(pl.when(pl.col("threads") == 1).then(1.0).otherwise(pl.col("time_s")).alias("time_s"))
    found = fit_surface(gathered(frame), "sd", ("gaussian",))
    columns = {name: list(column) for name, column in found.record.columns.items()}
    assert (found.at(columns) > 0).all()


def test_no_interval_has_zero_width_where_nearly_all_cells_are_alike() -> None:
    """Of 40 cells two have another mean, and rounding is all that the others are missed by."""
    rows = [
        (threads, freq, host, 7.0 + (run == 0 and threads == 1 and freq == 1))
        for threads, freq, host, run in itertools.product(THREADS, (1, 2, 3, 4), HOSTS, range(10))
    ]
    alike = pl.DataFrame(rows, schema=["threads", "freq", "host", "time_s"], orient="row")
    fitted = fit_both(gathered(alike), "sd", ("gaussian", "shepard")).mean
    assert fitted is not None
    found = predict(fitted, {"threads": 3, "freq": 2.5, "host": "a"})
    assert found.value == pytest.approx(7) and found.low is None
