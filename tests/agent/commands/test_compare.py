"""The front door of compare: recorded tables in, a verdict about spread out."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from vgo_agent.agent.cli import main
from vgo_agent.tools.claim import Claim, interval

Columns = Mapping[str, Any]
Compare = Callable[..., dict[str, Any]]
SMT = Path(__file__).parents[4] / "shared/data/smt-atomic-queue/ryzen_5825u_runs.csv.gz"


def wide(n: int = 80, seed: int = 1) -> Columns:
    rng = np.random.default_rng(seed)
    return {"trial": np.arange(n), "time_s": rng.normal(1, 0.1, n), "host": ["a"] * n, "flags": ["O2"] * n}


def narrow(n: int = 80, seed: int = 2) -> Columns:
    rng = np.random.default_rng(seed)
    return {"trial": np.arange(n), "time_s": rng.normal(1, 0.03, n), "host": ["a"] * n, "flags": ["O3"] * n}


def both(*parts: Columns) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(dict(part)) for part in parts])


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    monkeypatch.chdir(tmp_path)

    def save(name: str, columns: Columns | pl.DataFrame) -> str:
        frame = columns if isinstance(columns, pl.DataFrame) else pl.DataFrame(dict(columns))
        frame.write_csv(tmp_path / name)
        return name

    return save


@pytest.fixture
def compare(capsys: pytest.CaptureFixture[str]) -> Compare:
    def ask(*words: str) -> dict[str, Any]:
        assert main(["compare", *words, "--json"]) == 0, capsys.readouterr().err
        told: dict[str, Any] = json.loads(capsys.readouterr().out)
        return told

    return ask


def sd(arm: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(ratio for ratio in arm["described"]["ratios"] if ratio["statistic"] == "sd")
    return found


def direction(arm: dict[str, Any]) -> str:
    return Claim.model_validate(arm["claims"]["spread"]).direction


def test_two_tables_are_compared_and_what_differs_is_named(write: Callable[..., str], compare: Compare) -> None:
    found = compare(write("before.csv", wide()), write("after.csv", narrow()), "--metric", "time_s")
    (arm,) = found["arms"]
    assert (found["baseline"], arm["name"], direction(arm)) == ("before.csv", "after.csv", "less")
    assert sd(arm)["low"] < 0.3 < sd(arm)["high"] < 0.66
    assert found["systems"] == {"differs": [{"name": "flags", "values": ["O2", "O3"]}], "equal": {"host": "a"}}
    assert any("No pairs" in note for note in found["notes"])


def test_the_words_hold_verdict_table_and_differences(
    write: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", write("before.csv", wide()), write("after.csv", narrow()), "--metric", "time_s"]) == 0
    words = capsys.readouterr().out
    assert words.startswith(
        "STEADIER: after.csv against before.csv\nafter.csv is steadier than before.csv: ratio of the "
    )
    for part in ("\nmean ", "\np95-p05 ", "\nrange ", "spread p < 0.001", "Wasserstein", "flags    O2          O3"):
        assert part in words
    assert "1 known facts of the systems under test are equal" in words


def test_an_arm_that_does_not_vary_is_told_and_two_outliers_beside_it_decide_nothing(
    write: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    steady, odd = {"time_s": [0.1] * 41}, {"time_s": ([0.1] * 13 + [0.3]) * 2 + [0.1] * 13}
    assert main(["compare", write("steady.csv", steady), write("odd.csv", odd), "--metric", "time_s"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert words.startswith("UNDECIDED: odd.csv against steady.csv")
    assert "no ratio, since the baseline has none" in words and "The SD alone" not in words
    assert "Note: All runs of steady.csv have the same time_s: what it is rounded to may hide a spread." in words


def test_conditions_of_one_table_are_compared_in_the_order_asked_for(
    write: Callable[..., str], compare: Compare
) -> None:
    file = write("runs.csv", both(wide(), narrow()))
    one = compare(file, "--condition", "flags", "--metric", "time_s")
    turned = compare(file, "--condition", "flags=O3,O2", "--metric", "time_s")
    named = compare(file, "--condition", "flags", "--baseline", "O3", "--metric", "time_s")
    assert (one["baseline"], direction(one["arms"][0])) == ("O2", "less")
    assert (turned["baseline"], direction(turned["arms"][0])) == ("O3", "more")
    assert named["baseline"] == "O3"
    assert sd(one["arms"][0])["value"] * sd(turned["arms"][0])["value"] == pytest.approx(1)


def test_pairs_are_joined_by_column_whatever_their_order_and_gaps_are_counted(
    write: Callable[..., str], compare: Compare
) -> None:
    shuffled = pl.DataFrame(dict(narrow())).sample(fraction=1, shuffle=True, seed=3)
    gaps = shuffled.filter(~pl.col("trial").is_in([3, 4, 5]))
    files = write("before.csv", wide()), write("after.csv", gaps)
    (arm,) = (found := compare(*files, "--metric", "time_s", "--pair", "trial"))["arms"]
    assert (arm["described"]["paired"], arm["described"]["baseline_runs"]) == (True, 77)
    assert found["alone"] == {"after.csv": 3}
    ordered = compare(files[0], write("sorted.csv", gaps.sort("trial")), "--metric", "time_s", "--pair", "trial")
    assert arm["described"]["ratios"] == ordered["arms"][0]["described"]["ratios"]


def test_of_several_arms_each_is_held_against_the_baseline_and_their_number_is_paid_for(
    write: Callable[..., str], compare: Compare, capsys: pytest.CaptureFixture[str]
) -> None:
    idle = [{**wide(seed=10 + k), "flags": [f"idle{k}"] * 80} for k in range(4)]
    file = write("runs.csv", both(wide(), *idle, narrow()))
    found = compare(file, "--condition", "flags", "--metric", "time_s")
    claims = {arm["name"]: direction(arm) for arm in found["arms"]}
    assert claims.pop("O3") == "less" and set(claims.values()) <= {"undecided", "equivalent"}
    levels = {arm["name"]: arm["claims"]["spread"]["level"] for arm in found["arms"]}
    assert levels.pop("O3") == pytest.approx(0.99) and [*levels.values()] == pytest.approx([1 - 0.05 / 4] * 4)
    assert main(["compare", file, "--condition", "flags", "--metric", "time_s"]) == 0
    words = capsys.readouterr().out
    assert words.startswith("1 OF 5 STEADIER: each against O2") and "P, ALONE" in words


def test_a_rate_is_told_by_its_low_tail(write: Callable[..., str], compare: Compare) -> None:
    files = write("before.csv", wide()), write("after.csv", narrow())
    found = compare(*files, "--metric", "time_s", "--higher-is-better")
    names = [ratio["statistic"] for ratio in found["arms"][0]["described"]["ratios"]]
    assert not found["lower_is_better"]
    assert {"p10", "p5", "p1"} <= set(names) and not {"p90", "p95", "p99"} & set(names)
    assert direction(found["arms"][0]) == "less"


def test_a_table_against_itself_is_called_so_and_shows_nothing(write: Callable[..., str], compare: Compare) -> None:
    file = write("runs.csv", wide())
    found = compare(file, file, "--metric", "time_s")
    assert direction(found["arms"][0]) in ("undecided", "equivalent")
    assert any("the same file" in note and "A/A" in note for note in found["notes"])


def test_the_only_column_of_numbers_that_tells_no_arms_or_pairs_is_compared(
    write: Callable[..., str], compare: Compare
) -> None:
    table = write("all.csv", both(wide(), narrow()))
    assert compare(table, "--condition", "flags", "--pair", "trial")["metric"] == "time_s"


def cells(seed: int, apart: float = 5.0) -> pl.DataFrame:
    """Twelve kernels of three sizes, each of its own length: within them the second arm scatters half as much."""
    rng = np.random.default_rng(seed)
    rows = [
        {"flags": flags, "kernel": f"k{kernel}", "size": size, "host": "ab"[run % 2], "time_s": time}
        for flags, spread in (("O2", 0.2), ("O3", 0.1))
        for kernel in range(12)
        for size in (1, 2, 4)
        for run, time in enumerate(10 + apart * (kernel % 4) + apart * size + spread * rng.normal(size=12))
    ]
    return pl.DataFrame(rows)


ASKED = ("--condition", "flags", "--metric", "time_s")


def test_kinds_of_runs_that_make_most_of_the_spread_are_told_with_what_is_found_within_them(
    write: Callable[..., str],
    compare: Compare,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = write("all.csv", cells(1))
    found = compare(table, *ASKED)
    assert direction(found["arms"][0]) not in ("less", "more")
    assert set(found["strata"]["columns"]) == {"kernel", "size"} and found["strata"]["share"] > 0.95
    within = Claim.model_validate(found["within"]["O3"])
    assert within.direction == "less" and within.units == (36, 36)
    monkeypatch.setattr("sys.argv", ["vgo-agent", "compare", table, *ASKED])
    assert main(["compare", table, *ASKED]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "AS ONE HEAP: O3 against O2" in said and "Within the cells, taken together: O3 is steadier than O2" in said
    columns = ",".join(found["strata"]["columns"])
    assert f"`vgo-agent compare all.csv --condition flags --metric time_s --by {columns}`" in said


def test_within_cells_the_kinds_that_they_still_mix_are_told(write: Callable[..., str], compare: Compare) -> None:
    table = write("all.csv", cells(2))
    assert compare(table, *ASKED, "--by", "kernel")["strata"]["columns"] == ["size"]
    assert compare(table, *ASKED, "--by", "kernel,size")["strata"] is None


def test_columns_that_make_no_spread_or_tell_the_arms_apart_are_no_kinds(
    write: Callable[..., str], compare: Compare
) -> None:
    for seed in range(5):
        same = cells(seed, apart=0)
        own = same.with_columns(build=pl.col("flags") + "-" + pl.col("size").cast(pl.String))
        assert compare(write("all.csv", own), *ASKED)["strata"] is None


def test_the_picture_is_a_drawing_of_its_own(write: Callable[..., str], compare: Compare, tmp_path: Path) -> None:
    file = write("runs.csv", both(wide(), narrow(), {**narrow(seed=5), "flags": ["Os"] * 80}))
    compare(file, "--condition", "flags", "--metric", "time_s", "--picture", "shift.svg")
    root = ElementTree.parse(tmp_path / "shift.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    text = "".join(root.itertext())
    assert text.count("shift of each quantile, 95 % band") == 2 and "time_s" in text


def odd() -> pl.DataFrame:
    unit = pl.Series(["ms", "s"] * 80)
    return both(wide(), narrow()).with_columns(
        unit=unit, one=pl.Series(["x"] + ["y"] * 159), word=pl.Series(["w"] * 160)
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--metric", "time"], "no column time (--metric): did you mean time_s"),
        (["--metric", "word", "--condition", "flags", "--where", "unit=s"], "is text"),
        ([], "--metric"),
        (["--metric", "trial", "--condition", "flag"], "no column flag (--condition): did you mean flags"),
        (["--metric", "trial", "--condition", "flags=O2,O4"], "has flags=O4 (--condition): it has O2 and O3"),
        (["--metric", "trial", "--condition", "host"], "host is a in every run"),
        (["--metric", "trial", "--where", "unit=s"], "alone has no two arms"),
        (["--metric", "trial", "--condition", "one", "--where", "unit=ms"], "x has 1 run with a trial"),
        (["--metric", "trial", "--condition", "flags"], "in several units (ms and s): give --where unit=ms"),
        (["--metric", "trial", "--condition", "flags", "--where", "host=b"], "has host=b: it has a"),
        (["--metric", "trial", "--condition", "flags", "--where", "host"], "--where host is not COL=VALUE"),
        (["--metric", "trial", "--condition", "one", "--where", "unit=s", "--paired"], "y in every run"),
        (["--metric", "trial", "--condition", "flags", "--where", "unit=s", "--pair", "trail"], "did you mean trial"),
        (
            ["--metric", "trial", "--condition", "flags", "--where", "unit=s", "--pair", "host"],
            "several runs with host=a",
        ),
        (["--metric", "trial", "--condition", "flags", "--where", "unit=s", "--baseline", "O9"], "No arm is called O9"),
        (["--metric", "trial", "--condition", "flags", "--picture", "x.png"], "name it *.svg"),
        (["--metric", "trial", "--condition", "flags", "--alpha", "1"], "--alpha 1 is no chance"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_sentence(
    words: list[str], sentence: str, write: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", write("runs.csv", odd()), *words]) == 1
    said = capsys.readouterr().err
    assert said.startswith("vgo-agent: ") and said.count("\n") == 1
    assert sentence in said


def test_rows_that_are_no_pairs_and_units_that_differ_are_refused(
    write: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    files = write("before.csv", wide()), write("after.csv", narrow(n=70))
    assert main(["compare", *files, "--metric", "time_s", "--paired"]) == 1
    assert "80 runs and after.csv 70, so rows are not pairs" in capsys.readouterr().err
    seconds = write("s.csv", {"time": [1.0, 2.0, 3.0], "unit": ["s"] * 3})
    millis = write("ms.csv", {"time": [1.0, 2.0, 3.0], "unit": ["ms"] * 3})
    assert main(["compare", seconds, millis, "--metric", "time"]) == 1
    assert "The units of time differ (s.csv is in s and ms.csv is in ms)" in capsys.readouterr().err


@pytest.mark.skipif(not SMT.exists(), reason="the recorded measurements of others are not here")
def test_switching_smt_off_slows_a_queue_down(compare: Compare) -> None:
    asked = [
        "--where",
        "kind=throughput",
        "--where",
        "queue=AtomicQueue",
        "--where",
        "threads=4",
        "--where",
        "placement=s",
    ]
    found = compare(str(SMT), "--condition", "smt=smt1,smt0", *asked, "--metric", "value", "--higher-is-better")
    (arm,) = found["arms"]
    mean = next(ratio for ratio in arm["described"]["ratios"] if ratio["statistic"] == "mean")
    assert found["unit"] == "msg/s" and mean["high"] < 1 and arm["claims"]["mean"]["high"] < 1


def in_blocks(blocks: int, each: int, seed: int = 5) -> pl.DataFrame:
    """A table as a run folder has it: each block of one condition drifts by its own amount."""
    rng = np.random.default_rng(seed)
    pairs = np.arange(blocks * each)
    block = pairs // each
    parts = [
        {
            "call": ["c4"] * pairs.size,
            "tool": ["apply_mitigation"] * pairs.size,
            "batch": [1] * pairs.size,
            "block": block,
            "order": 2 * pairs + place,
            "condition": [condition] * pairs.size,
            "pair": pairs,
            "ok": [1] * pairs.size,
            "exit_code": [0] * pairs.size,
            "survivors": [0] * pairs.size,
            "outcome": 1 + rng.exponential(0.3, blocks)[block] + rng.normal(0, 0.01, pairs.size),
            "wall_s": [1.0] * pairs.size,
            "layers": [""] * pairs.size,
        }
        for place, condition in enumerate(("baseline", "smt_off"))
    ]
    return both(*parts)


def test_pairs_that_took_turns_by_block_are_exchanged_by_block(write: Callable[..., str], compare: Compare) -> None:
    table = in_blocks(20, 5)
    asked = ("--condition", "condition", "--pair", "pair")
    whole = compare(write("runs.csv", table), *asked)
    assert whole["blocks"] == {"smt_off": 5} and whole["samples"] == {}
    apart = compare(write("apart.csv", table.with_columns(block=pl.lit(None))), *asked)
    assert apart["blocks"] == {}
    widths = [sd(found["arms"][0])["high"] / sd(found["arms"][0])["low"] for found in (whole, apart)]
    assert widths[0] > 1.2 * widths[1]


def test_the_words_name_blocks(write: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    table = write("runs.csv", in_blocks(20, 5))
    assert main(["compare", table, "--condition", "condition", "--pair", "pair"]) == 0
    assert "100 pairs, in blocks of 5" in " ".join(capsys.readouterr().out.split())


def test_an_outlier_that_makes_the_sd_say_otherwise_is_told(
    write: Callable[..., str], compare: Compare, capsys: pytest.CaptureFixture[str]
) -> None:
    """All runs but one scatter a third as much, and that one makes the SD larger."""
    after = dict(narrow())
    after["time_s"] = np.append(after["time_s"][:-1], 2.0)
    files = write("before.csv", wide()), write("after.csv", after)
    (arm,) = compare(*files, "--metric", "time_s")["arms"]
    assert direction(arm) == "less" and arm["claims"]["sd"]["ratio"] > 1
    assert main(["compare", *files, "--metric", "time_s"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The SD does not show it (ratio 1." in said


def on_hosts(many: int, turned: int = 1) -> list[dict[str, Any]]:
    """Both arms on each host; on every second one in the order `turned`."""
    return [
        {**part(40, seed=2 * place + odd), "host": [f"h{place}"] * 40}
        for place in range(many)
        for odd, part in list(enumerate((wide, narrow)))[:: turned if place % 2 else 1]
    ]


def test_arms_are_compared_within_cells_and_these_together(
    write: Callable[..., str], compare: Compare, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (write("hosts.csv", both(*on_hosts(7))), "--condition", "flags", "--by", "host", "--metric", "time_s")
    found = compare(*words)
    together = Claim.model_validate(found["arms"]["O3"]["together"])
    assert together.units == (7, 7) and together.direction == "less"
    assert list(found["arms"]["O3"]["cells"]) == [f"host=h{place}" for place in range(7)]
    assert main(["compare", *words]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("STEADIER: O3 against O2") and "7 cells of host" in said and "disagree" not in said
    cv = Claim.model_validate(found["arms"]["O3"]["beside"]["cv"])
    assert cv.measure == "cv" and cv.direction == "less" and f"the ratio of the CV {interval(cv)}, of the mean" in said
    assert main(["compare", *words[:3], "--by", "hots", "--metric", "time_s"]) == 1
    assert "did you mean host" in capsys.readouterr().err
    assert main(["compare", *words[:3], "--by", "flags", "--metric", "time_s"]) == 1
    assert "No cell of flags has two runs of both arms" in capsys.readouterr().err


def test_the_baseline_is_the_same_in_every_cell_whatever_comes_first_there(
    write: Callable[..., str], compare: Compare, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = {**wide(40), "host": ["alone"] * 40}
    third = {**narrow(40, seed=99), "flags": ["Os"] * 40, "host": ["h0"] * 40}
    words = (
        write("hosts.csv", both(*on_hosts(8, turned=-1), alone, third)),
        "--condition",
        "flags",
        "--by",
        "host",
        "--metric",
        "time_s",
    )
    found = compare(*words)
    assert found["baseline"] == "O2" and list(found["arms"]) == ["O3", "Os"]
    cells = [Claim.model_validate(one) for one in found["arms"]["O3"]["cells"].values()]
    assert len(cells) == 8 and all(one.ratio is not None and one.ratio < 1 for one in cells)
    together = Claim.model_validate(found["arms"]["O3"]["together"])
    assert together.direction == "less" and together.level == pytest.approx(0.975)  # two arms share alpha
    assert any("No pairs" in note for note in found["notes"])
    assert found["left_out"]["O3"] == {"host=alone": "fewer than two runs of an arm"}
    assert len(found["left_out"]["Os"]) == 8
    assert main(["compare", *words]) == 0
    assert "host=alone is left out: fewer than two runs of an arm" in capsys.readouterr().out


def test_values_that_tie_give_no_interval_of_zero_width(
    write: Callable[..., str], compare: Compare, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(4)
    rare = [("a", 10 + int(one)) for one in rng.random(80) < 0.2] + [
        ("b", 10 + int(one)) for one in rng.random(80) < 0.2
    ]
    turns = [("a", 10 + place % 2) for place in range(40)] + [("b", 10 + 2 * (place % 2)) for place in range(40)]
    for name, rows in (("rare.csv", rare), ("turns.csv", turns)):
        asked = (
            write(name, pl.DataFrame(rows, schema=["arm", "t"], orient="row")),
            "--condition",
            "arm",
            "--metric",
            "t",
        )
        described = compare(*asked)["arms"][0]["described"]
        bounded = [one for one in (*described["ratios"], *described["shifts"]) if one["high"] is not None]
        assert bounded and all(one["low"] < one["high"] for one in bounded)
        assert main(["compare", *asked]) == 0
        shown = re.findall(r"\[([^],]+), ([^]]+)\]", capsys.readouterr().out)
        assert shown and all(low != high for low, high in shown)
