"""The front door of surface: a table in, errors, shares and the steadiest configuration out."""

from __future__ import annotations

import io
import itertools
import json
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from vgo_agent.agent.cli import main

Ask = Callable[..., dict[str, Any]]
QUICK = ("--models", "gaussian,mars")
MARS = ("--models", "mars")
"""After QUICK: the later option counts."""
TABLE = ("runs.csv", "--settings", "threads,freq", "--outcome", "time_s", "--lower-is-better", *QUICK)
MOANA = Path(__file__).parents[4] / "shared/data/moana-half/sample_input4d.csv"


def runs(each: int = 12) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    rows = []
    for threads, freq in itertools.product((1, 2, 4, 8, 16), (1.2, 1.8, 2.4, 3.0)):
        for noise in rng.normal(0, 0.01 * threads**0.7, each):
            rows.append((threads, freq, 10 / threads**0.5 / freq + noise))
    return pl.DataFrame(rows, schema=["threads", "freq", "time_s"], orient="row")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    runs().write_csv(tmp_path / "runs.csv")
    return tmp_path


@pytest.fixture
def ask(folder: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    def surface(*words: str) -> dict[str, Any]:
        assert main(["surface", *words, "--json"]) == 0, capsys.readouterr().err
        told: dict[str, Any] = json.loads(capsys.readouterr().out)
        return told

    return surface


@pytest.fixture
def refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def surface(*words: str) -> str:
        assert main(["surface", *words]) == 1
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        return err

    return surface


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Fit once; give the folder that was saved, and the answer."""
    place = tmp_path_factory.mktemp("fitted")
    runs().write_csv(place / "runs.csv")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as out:
        patch.chdir(place)
        assert main(["surface", "fit", *TABLE, "--save", "kept", "--json"]) == 0
    return place / "kept", json.loads(out.getvalue())


@pytest.fixture
def kept(fitted: tuple[Path, dict[str, Any]], folder: Path) -> dict[str, Any]:
    """Put what was saved into the folder of the test; give what the fit said."""
    shutil.copytree(fitted[0], folder / "kept")
    return fitted[1]


@pytest.mark.slow
def test_settings_that_tell_nothing_are_told_as_that(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    rows = [f"{a},{b},{rng.lognormal():.6f}" for a in range(6) for b in range(6) for _ in range(5)]
    (folder / "noise.csv").write_text("\n".join(["a,b,time_s", *rows]))
    assert main(["surface", "fit", "noise.csv", "--settings", "a,b", "--outcome", "time_s"]) == 0
    assert "no model predicts better from the settings" in " ".join(capsys.readouterr().out.split())


def test_fit_compares_models_and_says_what_explains_the_spread(kept: dict[str, Any]) -> None:
    found = kept
    assert (found["cells"], found["how"], found["response"]) == (20, "10-fold", "sd")
    assert {one["model"] for one in found["scored"]} == {"gaussian", "mars", "mean of the others"}
    assert found["scored"][-1]["model"] == "mean of the others"
    assert found["model"] == min(found["scored"], key=lambda one: one["errors"]["relative"])["model"]
    shares = {one["setting"]: one["total"] for one in found["explained"]["shares"]}
    assert shares["threads"] > 0.8 > 0.3 > shares["freq"]
    first = found["explained"]["variance"]["effects"][0]
    assert first["term"] == ["threads"] and first["p"] < 0.001 and first["eta2"] > 0.7
    by_runs = found["explained"]["by_runs"]
    assert (by_runs["runs"], by_runs["residual_df"]) == (240, 220) and "Brown and Forsythe" in found["explained"][
        "by_runs_of"
    ]
    assert by_runs["effects"][0]["term"] == ["threads"] and by_runs["effects"][0]["p"] < 0.001


def test_the_mean_is_tested_against_the_scatter_within_cells(ask: Ask) -> None:
    explained = ask("fit", *TABLE, *MARS, "--response", "mean")["explained"]
    assert (explained["by_runs"]["runs"], explained["by_runs_of"]) == (240, "log time_s")
    assert {tuple(one["term"]) for one in explained["by_runs"]["effects"]} >= {("threads",), ("freq",)}


def test_a_percentile_has_no_test_by_runs(ask: Ask) -> None:
    explained = ask("fit", *TABLE, *MARS, "--response", "p90")["explained"]
    assert explained["variance"] and explained["by_runs"] is None


def test_a_condition_that_the_direction_makes_empty_is_pointed_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = [word for word in TABLE if word != "--lower-is-better"]
    words = ("surface", "best", *table, *MARS, "--higher-is-better", "--subject-to", "mean<=1.05*best")
    assert main(list(words)) == 0
    assert "write one such as mean>=0.95*best" in " ".join(capsys.readouterr().out.split())


def test_what_fit_saves_is_read_by_the_others(ask: Ask, folder: Path, kept: dict[str, Any]) -> None:
    saved = kept["saved"]
    names = {"surface.json", "report.md", "report.html", "fit.svg", "shares.svg", "map.svg", "front.svg"}
    assert {Path(path).name for path in saved} == names and all((folder / path).stat().st_size for path in saved)
    for picture in (folder / "kept").glob("*.svg"):
        ElementTree.parse(picture)
    report = (folder / "kept" / "report.md").read_text()
    assert "| threads |" in report and "sqrt(mse)/mean" in report and "\\|" not in report
    again, table = ask("predict", "kept", "threads=6", "freq=2"), ask("predict", *TABLE, "threads=6", "freq=2")
    assert again["value"] == pytest.approx(table["value"], rel=1e-6)
    assert again["low"] < again["value"] < again["high"] and again["extrapolated"] == ""
    assert again["value"] == pytest.approx(0.01 * 6**0.7, rel=0.4)


@pytest.mark.usefixtures("kept")
def test_extrapolation_and_what_was_measured_are_told(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        "threads=64 lies outside what was measured, 1 to 16"
        in ask("predict", "kept", "threads=64", "freq=2")["extrapolated"]
    )
    measured = float(runs().filter((pl.col("threads") == 4) & (pl.col("freq") == 2.4))["time_s"].std())  # type: ignore[arg-type]
    assert ask("predict", "kept", "threads=4", "freq=2.4")["measured"] == pytest.approx(measured)
    assert main(["surface", "predict", "kept", "threads=64", "freq=2"]) == 0
    assert "Note: this is extrapolation: threads=64" in capsys.readouterr().out


@pytest.mark.usefixtures("kept")
def test_the_steadiest_that_is_fast_enough(ask: Ask, folder: Path) -> None:
    free = ask("best", "kept")
    assert free["best"]["config"]["threads"] == 1
    bound = ask("best", "kept", "--minimise", "sd", "--subject-to", "mean<=1.5*best", "--picture", "front.svg")
    assert bound["best"]["config"]["threads"] in (8, 16) and bound["allowed"] < free["allowed"]
    assert bound["best"]["mean"] <= 1.5 * bound["front"][0]["mean"]
    ElementTree.parse(folder / "front.svg")


@pytest.mark.usefixtures("kept")
def test_show_lays_out_a_grid_and_a_slice(ask: Ask, folder: Path) -> None:
    grid = ask("show", "kept", "--picture", "map.svg")
    assert grid["axes"] == ["threads", "freq"] and (len(grid["values"]), len(grid["values"][0])) == (4, 5)
    line = ask("show", "kept", "--axes", "threads", "--at", "freq=2.4", "--picture", "line.svg")
    assert line["values"][0] == sorted(line["values"][0]) and line["held"] == {"freq": 2.4}
    for name in ("map.svg", "line.svg"):
        ElementTree.parse(folder / name)


def test_a_table_that_names_its_settings_needs_no_options(ask: Ask, folder: Path) -> None:
    (folder / "sweep").mkdir()
    runs().with_columns(ok=pl.lit(1), order=pl.int_range(pl.len())).write_csv(folder / "sweep" / "runs.csv")
    mapping = ["columns:", "- {name: time_s, role: outcome, unit: s}", "- {name: ok, role: id}"]
    mapping += ["- {name: order, role: order}", "- {name: threads, role: setting}", "- {name: freq, role: setting}"]
    (folder / "meant.yaml").write_text("\n".join(mapping))
    found = ask("fit", "sweep", "--mapping", "meant.yaml", "--models", "mars")
    assert [axis["name"] for axis in found["axes"]] == ["threads", "freq"] and found["cells"] == 20


def test_failed_runs_and_gaps_are_left_out_and_told(ask: Ask, folder: Path) -> None:
    frame = runs().with_columns(ok=pl.when(pl.int_range(pl.len()) % 50 == 0).then(0).otherwise(1))
    frame = frame.with_columns(freq=pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise(pl.col("freq")))
    frame.write_csv(folder / "gaps.csv")
    notes = " ".join(ask("fit", "gaps.csv", *TABLE[1:], *MARS)["notes"])
    assert "5 runs failed: left out." in notes and "1 rows have a setting without a value: left out." in notes


@pytest.mark.parametrize(
    ("words", "cure"),
    [
        (("fit", "runs.csv"), "Name the outcome"),
        (("fit", "runs.csv", "--outcome", "time_s"), "with --settings"),
        (("fit", "runs.csv", "--outcome", "time_s", "--settings", "thread"), "did you mean threads"),
        (("fit", "runs.csv", "--outcome", "time_s", "--settings", "time_s"), "take it out of --settings"),
        (("fit", "runs.csv", "--outcome", "time_s", "--settings", "threads"), "a surface needs 8"),
        (("fit", *TABLE[:5], "--models", "spline"), "choose among shepard"),
        (("fit", *TABLE, "--response", "range"), "choose sd, cv"),
        (("fit", *TABLE, "--given", "mean"), "gives the mean of a cell alone"),
        (("fit", "none.csv"), "check the path"),
        (("fit", "steady.csv", *TABLE[1:]), "there is nothing to model"),
        (("fit", "single.csv", *TABLE[1:]), "vary a setting"),
        (("fit", "once.csv", *TABLE[1:]), "repeat the runs"),
        (("predict", "kept", "threads=4"), "add freq=VALUE"),
        (("predict", "kept", "threads=4", "freq"), "is not SETTING=VALUE"),
        (("predict", "kept", "threads=4", "frequency=2"), "did you mean freq"),
        (("predict", "kept", "threads=four", "freq=2"), "is no number"),
        (("best", "kept", "--minimise", "p95"), "--response p95"),
        (("fit", *TABLE, "--keep-out", "0.9"), "give up to 0.6"),
        (("fit", *TABLE, "--keep-out", "0"), "give up to 0.6"),
        (("best", *TABLE, "--keep-out", "0.2"), "--keep-out counts only with ACTION fit"),
        (("best", "kept", "--subject-to", "mean<=0"), "allow more"),
        (("best", "kept", "--subject-to", "men<=1"), "not known here"),
        (("best", "kept", "--picture", "front.png"), "name it *.svg"),
        (("show", "kept", "--axes", "threads,freq,x"), "no setting x"),
        (("show", "kept", "--axes", "threads", "--at", "threads=4"), "give it to one"),
        (("fit", *TABLE, "threads=4"), "SETTING=VALUE counts only with ACTION predict"),
        (("show", *TABLE, "--save", "x"), "--save counts only with ACTION fit"),
    ],
)
@pytest.mark.usefixtures("kept")
def test_what_cannot_be_done_is_said_with_the_cure(
    refused: Callable[..., str], folder: Path, words: tuple[str, ...], cure: str
) -> None:
    frame = runs()
    steady = frame.with_columns(time_s=pl.int_range(pl.len()).mod(2).cast(pl.Float64)).sort("threads", "freq")
    steady.with_columns(time_s=pl.int_range(pl.len()).mod(2).cast(pl.Float64)).write_csv(folder / "steady.csv")
    frame.with_columns(threads=pl.lit(1), freq=pl.lit(2.0)).write_csv(folder / "single.csv")
    frame.unique(["threads", "freq"]).write_csv(folder / "once.csv")
    assert cure in refused(*words)


def test_a_spread_and_its_mean_give_the_other_spreads(folder: Path, ask: Ask, refused: Callable[..., str]) -> None:
    cells = runs().group_by("threads", "freq").agg(pl.col("time_s").std().alias("sd"), pl.col("time_s").mean())
    cells.write_csv(folder / "cells.csv")
    given = ("cells.csv", "--settings", "threads,freq", "--outcome", "sd", "--given", "sd", *MARS, "--lower-is-better")
    both = (*given, "--mean", "time_s")
    assert "--mean" in refused("best", *given, "--minimise", "cv")
    whole = ask("best", *TABLE, *MARS, "--minimise", "cv", "--subject-to", "mean<=2*best")
    found = ask("best", *both, "--minimise", "cv", "--subject-to", "mean<=2*best")
    assert found["goal"] == "cv" and found["best"]["config"] == whole["best"]["config"]
    assert "--given" in refused("fit", *TABLE, "--mean", "time_s")


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("option", ["--models mars", "--response cv", "--given mean", "--seed 1", "--leave-one-out"])
def test_what_is_fitted_already_takes_no_option_of_a_fit(refused: Callable[..., str], option: str) -> None:
    assert f"is a fitted surface: leave out {option.split()[0]}." in refused("best", "kept", *option.split())


def test_a_broken_surface_is_refused(refused: Callable[..., str], folder: Path) -> None:
    (folder / "kept").mkdir()
    (folder / "kept" / "surface.json").write_text("{}")
    assert "save the surface again" in refused("predict", "kept", "threads=1")


@pytest.mark.skipif(not MOANA.exists(), reason="the published data lie beside the project, not in it")
def test_the_published_variances_give_a_surface_of_the_sd(ask: Ask) -> None:
    columns = "file_size_kb,record_size_kb,threads,freq_khz"
    table = (str(MOANA), "--settings", columns, "--outcome", "throughput_variance", "--given", "variance")
    found = ask("fit", *table, "--models", "mars,shepard")
    assert found["cells"] == 432 and {one["name"]: one["scale"] for one in found["axes"]}["freq_khz"] == "levels"
    assert all(one["errors"]["relative"] < 0.2 for one in found["scored"][:-1])
    assert max(found["explained"]["shares"], key=lambda one: one["total"])["setting"] == "threads"


@pytest.mark.usefixtures("kept")
def test_cv_is_minimised_on_a_surface_of_the_sd(ask: Ask) -> None:
    cv = ask("best", "kept", "--minimise", "cv")
    assert (cv["response"], cv["goal"]) == ("cv", "cv")
    direct = ask("best", *TABLE, "--response", "cv")
    assert cv["best"] == direct["best"] and cv["prediction"]["low"] < cv["prediction"]["value"]


def test_a_fit_is_checked_on_cells_that_were_kept_out(
    ask: Ask, kept: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert kept["kept_out"] is None
    out = ask("fit", *TABLE, *MARS, "--keep-out", "0.4")["kept_out"]
    assert out["cells"] == 8 and out["errors"]["points"] == 8 and 0 < out["errors"]["relative"] < 1
    assert 4 <= out["inside"] <= 8 and out["errors"]["relative"] < out["without"]
    assert main(["surface", "fit", *TABLE, *MARS, "--keep-out", "0.4"]) == 0
    assert "On 8 cells that were kept out of the fit" in " ".join(capsys.readouterr().out.split())
