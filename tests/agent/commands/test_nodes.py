"""`vgo-agent analyze --by node` on tables with a known odd node."""

from __future__ import annotations

import json
import re

import numpy as np
import polars as pl
import pytest

from vgo_agent.agent.cli import main


def table(path, nodes=8, runs=30, slow=2, by=1.3, seed=1):
    """One node is slow and throttled; switches slow runs everywhere."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(nodes), runs))
    switches = rng.poisson(5, codes.size)
    pinned = rng.choice(["no", "yes"], codes.size)
    noise = rng.normal(0, 0.02, codes.size) * np.where(pinned == "yes", 0.25, 1)
    level = np.where(codes == slow, np.log(by), 0)
    pl.DataFrame(
        {
            "host": [f"n{code:02d}" for code in codes],
            "pinned": pinned,
            "time_s": np.exp(level + 0.02 * switches + noise),
            "switches": switches,
            "throttled": np.where(codes == slow, 3 + rng.poisson(6, codes.size), 0),
        }
    ).write_csv(path)
    return str(path)


def answered(capsys, *words):
    assert main(["analyze", "--by", "node", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_slow_node_is_named_with_what_stands_out_there(tmp_path, capsys):
    found = answered(capsys, table(tmp_path / "runs.csv"), "--outcome", "time_s", "--save", str(tmp_path / "out"))
    assert found["verdict"] == "odd nodes"
    assert found["drain"] == ["n02"]
    first = found["nodes"][0]
    assert first["name"] == "n02" and first["level"]["odd"]
    assert first["level"]["interval"]["low"] < 1.3 < first["level"]["interval"]["high"]
    assert first["differs"][0]["name"] == "throttled"
    assert found["drained"]["sd_interval"]["high"] < 0.8
    assert found["within"]["verdict"] == "cause explained"
    assert found["within"]["findings"][0]["factor"]["name"] == "switches"
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["distributions.svg", "nodes.csv", "nodes.html", "nodes.json", "standings.svg"]
    assert "n02" in (tmp_path / "out" / "nodes.html").read_text()


def test_a_cause_that_sits_on_the_slow_node_is_no_factor_within_nodes(tmp_path, capsys):
    found = answered(capsys, table(tmp_path / "runs.csv"), "--outcome", "time_s", "--exclude", "switches,pinned")
    assert found["within"]["verdict"] == "cause not visible"


def test_a_pattern_leaves_out_every_column_that_it_fits(tmp_path, capsys):
    found = answered(capsys, table(tmp_path / "runs.csv"), "--outcome", "time_s", "--exclude", "switch*,pinned")
    assert found["within"]["verdict"] == "cause not visible"


def test_equal_nodes_name_none(tmp_path, capsys):
    found = answered(capsys, table(tmp_path / "runs.csv", by=1.0), "--outcome", "time_s")
    assert found["verdict"] == "no odd node"
    assert found["drained"] is None


def test_a_condition_is_compared_within_nodes_and_pooled(tmp_path, capsys):
    path = table(tmp_path / "runs.csv", runs=60)
    found = answered(capsys, path, "--outcome", "time_s", "--condition", "pinned=no,yes")
    effect = found["effect"]
    assert effect["spread"]["nodes"] == 8
    assert effect["level"]["interval"]["low"] < 1 < effect["level"]["interval"]["high"]
    back = answered(capsys, path, "--outcome", "time_s", "--condition", "pinned=yes,no")["effect"]
    assert back["spread"]["ratio"] == pytest.approx(1 / effect["spread"]["ratio"])
    assert main(["analyze", "--by", "node", path, "--outcome", "time_s", "--condition", "pinned=no,yes"]) == 0
    words = capsys.readouterr().out
    assert re.search(r"\nyes is compared with no within 8 nodes\.\n\n  spread  x.*\n  level   x", words)


def test_words_for_a_terminal_name_the_node_and_the_drain(tmp_path, capsys):
    assert main(["analyze", "--by", "node", table(tmp_path / "runs.csv", nodes=3), "--outcome", "time_s"]) == 0
    out = capsys.readouterr().out
    assert "ODD NODES" in out and "Drain n02" in out and "throttled" in out and "fewer than six" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--node", "rack"], "no such column"),
        (["--condition", "pinned"], "write COL=A,B"),
        (["--condition", "pinned=no,never"], "Only 0 nodes"),
        (["--condition", "nothing=a,b"], "no such column"),
        (["--exclude", "cheese*"], "--exclude cheese*: the table has no such column"),
        (["--alpha", "2"], "--alpha 2"),
        (["--margin", "-1"], "--margin -1"),
        (["--seed", "-1"], "--seed -1"),
    ],
)
def test_stupid_input_gets_one_sentence(tmp_path, capsys, words, said):
    assert main(["analyze", "--by", "node", table(tmp_path / "runs.csv"), "--outcome", "time_s", *words]) == 1
    error = capsys.readouterr().err
    assert said in error and "Traceback" not in error


def test_one_node_or_no_node_column_is_refused(tmp_path, capsys):
    path = table(tmp_path / "runs.csv", nodes=1, slow=0)
    assert main(["analyze", "--by", "node", path, "--outcome", "time_s"]) == 1
    assert "All runs are of one host" in capsys.readouterr().err
    pl.read_csv(path).drop("host").write_csv(path)
    assert main(["analyze", "--by", "node", path, "--outcome", "time_s"]) == 1
    assert "name it with --node" in capsys.readouterr().err


def test_short_nodes_are_left_out_and_told(tmp_path, capsys):
    path = table(tmp_path / "runs.csv")
    frame = pl.read_csv(path)
    short = frame.filter(pl.col("host") == "n05").head(2)
    pl.concat([frame.filter(pl.col("host") != "n05"), short]).write_csv(path)
    found = answered(capsys, path, "--outcome", "time_s")
    assert "1 node with fewer than 5 runs left out." in found["warnings"]
    assert len(found["nodes"]) == 7
