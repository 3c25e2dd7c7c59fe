"""`vgo-agent layers` tells what this machine can show, why not more, and what runs only once it is trusted."""

import json
import re

import pytest

from vgo_agent.layers.loader import load_launchers, load_layers

MINE = """\
key: mine
description: Lines that the program prints.
run: env A=1 $CMD $ARGS
columns:
  - {name: mine.lines, unit: count, description: Lines., extract: {regex: "^.", take: count}}
"""


@pytest.fixture
def layers(vgo, tmp_path):
    """Run the command with settings and state of its own; return the answer."""

    def run(*arguments, fails=False, refused=False, **more):
        env = {"XDG_STATE_HOME": str(tmp_path / "state"), "COLUMNS": "100"}
        done = vgo("layers", *arguments, env=env, **more)
        assert done.returncode == int(fails or refused), done.stderr
        assert bool(done.stderr) == (fails or refused)
        return done.stderr if fails else done.stdout

    return run


@pytest.fixture
def mine(tmp_path):
    folder = tmp_path / "config/vgo-agent/layers"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(MINE)
    return folder / "mine.yaml"


def rows(text):
    """First and second cell of every line of the tables."""
    return dict(line.split()[:2] for line in text.split("\n\nWhat is missing")[0].splitlines() if line.strip())


def test_every_layer_and_launcher_is_listed_within_100_columns(layers):
    text = layers("--no-cost")
    listed = {name.partition(":")[0]: state for name, state in rows(text).items()}
    assert listed.keys() >= load_layers().keys() | load_launchers().keys()
    assert {listed[name] for name in load_layers()} <= {"yes", "partly", "no"}
    assert listed["process"] in ("yes", "partly")
    assert listed["program"] == listed["local"] == "yes"
    assert max(map(len, text.splitlines())) <= 100


def test_json_says_the_same_and_all_columns(layers):
    names = ["process", "block", "local"]
    answer = {one["layer"]: one for one in json.loads(layers(*names, "--no-cost", "--json"))["layers"]}
    assert list(answer) == names
    for name in names[:2]:
        layer = load_layers()[name]
        assert [column["name"] for column in answer[name]["columns"]] == [column.name for column in layer.columns]
        assert answer[name]["columns_here"] == len(layer.columns) - len(answer[name]["why"])
        assert (answer[name]["kind"], answer[name]["cost_ms"]) == ("metric", None)
    assert answer["local"]["kind"] == "launcher"


def test_a_layer_that_is_named_shows_its_columns(layers):
    text = layers("process", "--no-cost")
    for column in load_layers()["process"].columns:
        assert any(line.split()[:3] == [column.name, column.unit, column.role] for line in text.splitlines())


@pytest.mark.parametrize("layer", ["ledger", "stacks"])
def test_the_layers_of_the_ledger_show_every_rung_of_their_ladder_and_on_which_they_stand(layers, layer):
    shown = layers(layer, "--no-cost")
    words = " ".join(shown.partition("Its ladder, the best rung first")[2].split())
    (told,) = json.loads(layers(layer, "--no-cost", "--json"))["layers"]
    assert [one["layer"] for one in told["ladder"]] == ["stacks", "ledger", "ledger", "ledger"]
    for number, one in enumerate(told["ladder"], start=1):
        assert f"{number}, {one['layer']}: " in words and f"It sees {one['sees']}." in words and one["costs"] in words
        assert "not here" not in words or one["why_not"] == "" or one["why_not"] in words
    stands = next(
        (number for number, one in enumerate(told["ladder"], 1) if one["layer"] == layer and not one["why_not"]), 0
    )
    assert not stands or f"{stands}, {layer}: --layer {layer} stands here" in words


def test_the_cost_of_a_probe_and_of_a_wrapper_is_measured(layers, mine):
    layers("--trust", str(mine))
    for one in json.loads(layers("process", "mine", "--json"))["layers"]:
        assert 0 < one["cost_ms"] < 10_000


def test_the_cost_of_a_wrapper_is_what_a_run_takes_longer_within_it(layers, mine):
    mine.write_text(MINE.replace("env A=1", "sh -c 'sleep 0.3; \"$@\"' sh"))
    layers("--trust", str(mine))
    (one,) = json.loads(layers("mine", "--json"))["layers"]
    assert one["cost_ms"] > 150


def test_an_idle_window_is_shown_beside_the_cost(layers):
    idle = {one["layer"]: one["idle_ms"] for one in json.loads(layers("interference", "process", "--json"))["layers"]}
    assert idle["interference"] >= 10 > idle["process"]
    assert re.search(r"cost +[\d.]+\+\d\d+ ms a run", layers("interference"))
    assert re.search(r"cost +[\d.]+ ms a run", layers("process"))


def test_what_another_root_lacks_is_absent_with_the_reason(layers, tmp_path):
    (tmp_path / "host/proc").mkdir(parents=True)
    (one,) = json.loads(layers("process", "--no-cost", "--json", "--root", str(tmp_path / "host")))["layers"]
    assert one["here"] == "partly"
    assert f"{tmp_path}/host/proc/vmstat cannot be read" in one["why"]["vm.pgfault"]
    assert "minor_faults" not in one["why"]
    assert "has neither proc nor sys" in layers("--root", str(tmp_path / "config"), fails=True)


def test_a_layer_of_the_user_runs_only_once_it_is_trusted(layers, mine):
    def here(**refused):
        (one,) = json.loads(layers("mine", "--no-cost", "--json", **refused))["layers"]
        return one["here"]

    text = " ".join(layers("mine", refused=True).split())
    assert "it would run: run: env A=1 $CMD $ARGS" in text
    assert f"vgo-agent layers --trust {mine}" in text
    assert f"vgo-agent layers --trust {mine}" in layers(str(mine), fails=True)
    assert here(refused=True) == "untrusted"
    assert "untrusted" in layers("--no-cost"), "the list of all of them is an answer"
    row = next(line for line in layers("mine", refused=True).splitlines() if line.startswith("mine.lines "))
    assert "untrusted" in row.split()
    assert "run: env A=1 $CMD $ARGS" in layers("--trust", str(mine))
    assert here() == "yes"
    mine.write_text(MINE.replace("A=1", "A=2"))
    assert here(refused=True) == "untrusted"


def test_a_broken_layer_is_told_and_the_others_are_listed(layers, mine):
    mine.write_text(MINE.replace("take: count", "take: all"))
    text = layers("--no-cost")
    assert rows(text)["mine"] == "broken"
    assert rows(text)["process"] in ("yes", "partly")
    assert "line 5: columns.0.extract.take: is none of those that it may be; write 'last'," in " ".join(text.split())
    assert "line 5: columns.0.extract.take" in layers("mine", fails=True)


def test_an_unknown_layer_is_refused_with_the_known_ones(layers):
    assert "There is no layer qqq; name one of these: " in layers("qqq", fails=True)
    assert "There is no layer proces; did you mean process" in layers("proces", fails=True)
    assert "There is no layer file ./oracle.yaml: check the path" in layers("--trust", "oracle.yaml", fails=True)


def test_a_whole_number_of_a_parameter_is_shown_without_a_point(layers, mine):
    mine.write_text(MINE + "parameters: {node: 0}\n")
    assert "node=0\n" in layers("mine", "--no-cost", refused=True)
