"""A series of runs, each with its own layers on, and what it leaves for those who read it later."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.layers.launcher import Launcher, open_launcher
from vgo_agent.layers.loader import find_layer
from vgo_agent.layers.reading import trust
from vgo_agent.tools.execution.bench import Bench
from vgo_agent.tools.execution.expected import Deadline
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.record import Finished, Record
from vgo_agent.tools.row import REQUIRED
from vgo_agent.tools.run_table import LAYERS, RUNS, artefacts, read_layers, read_runs, write_runs
from vgo_agent.tools.subject import Subject

TALKS = "echo word=NA; echo value=3; echo count sda 7"
SAID = """\
key: said
description: What the program says.
columns:
  - {name: said.word, unit: "", type: text, role: setting, description: A word., extract: {regex: "word=(.*)"}}
  - {name: said.value, unit: count, description: A number., extract: {regex: "value=(.*)"}}
  - {name: "said.*.count", unit: count, description: A number of each., extract: {regex: "count (.*) (.*)"}}
"""
OUTER = """\
key: {name}
description: A wrapper that names itself.
run: sh -c 'printf "{name} "; exec "$$0" "$$@"' $CMD $ARGS
"""


@pytest.fixture(scope="module")
def spawner() -> Iterator[Spawner]:
    with Spawner() as opened:
        yield opened


@pytest.fixture
def layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """Write a layer file that the user trusts, and give its spec."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def write(name: str, text: str) -> str:
        path = tmp_path / f"{name}.yaml"
        path.write_text(text)
        trust([path])
        return str(path)

    return write


@pytest.fixture
def bench(tmp_path: Path, spawner: Spawner) -> Iterator[Callable[..., Bench]]:
    """Make a bench for a line of sh."""
    made: list[Bench] = []

    def make(line: str, launcher: Launcher | None = None, **subject: object) -> Bench:
        argv = ("/bin/sh", "-c", line)
        asked = Subject.model_validate({"command": argv, "argv": argv, "directory": str(tmp_path), **subject})
        launch = Launch(argv, directory=tmp_path, environment=dict(os.environ))
        made.append(Bench(asked, spawner, tmp_path / "partial", launch, launcher=launcher))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def said(layers: Callable[[str, str], str]) -> str:
    """The layer of what `TALKS` says."""
    return layers("said", SAID)


def test_each_run_has_the_layers_that_it_asks_for_and_only_their_cells(bench: Callable[..., Bench], said: str) -> None:
    made = bench(TALKS)
    with made.series("c001", ("process", said)) as series:
        for on in (None, (), (said,), ("process",), (said, "process")):
            series.run("baseline", made.launch, layers=on)
    rows = series.rows
    assert [row["layers"] for row in rows] == ["process+said", "", "said", "process", "said+process"]
    assert ["minor_faults" in row for row in rows] == [True, False, False, True, True]
    assert ["said.value" in row for row in rows] == [True, False, True, False, True]
    assert rows[2]["said.sda.count"] == 7


def test_a_table_comes_back_with_text_as_text_and_what_is_missing_as_missing(
    bench: Callable[..., Bench], said: str
) -> None:
    made = bench(TALKS)
    with made.series("c001", ("process", said)) as series:
        for on in (None, (), (said,)):
            series.run("baseline", made.launch, layers=on)
    left = artefacts(series.rows, made.described_by(series.layers))
    record = Record((Finished("c001", "profile", {}, {}, {name: name for name in left}),), Files(left))
    Path(said).write_text("broken")  # what the columns meant is in the record
    table = record.runs(record.calls[0])
    assert table.text("said.word") == ["NA", None, "NA"]
    assert table.text("layers") == ["process+said", "", "said"]
    values = table.column("said.value")
    assert (values[0], math.isnan(values[1])) == (3, True)
    assert {column.name: column.unit for column in table.columns}["said.sda.count"] == "count"


def test_a_table_of_an_older_version_has_no_column_of_layers() -> None:
    old = b"order,condition,pair,ok,exit_code,survivors,outcome,wall_s,minor_faults\n0,baseline,-1,1,0,0,1.5,1.5,7\n"
    table = read_runs(old, "old")
    assert table.text("layers") == [""]
    assert table.columns[0].name == "minor_faults"


def test_a_call_without_layers_leaves_its_table_alone() -> None:
    assert set(artefacts([], {})) == {RUNS}
    assert set(artefacts([], {"process": find_layer("process")})) == {RUNS, LAYERS}


def test_a_column_that_no_layer_describes_is_refused_by_name() -> None:
    text = b"order,condition,pair,ok,exit_code,survivors,outcome,wall_s,nobody.knows\n"
    with pytest.raises(VgoError, match=r"nobody\.knows"):
        read_runs(text, "it")


def test_numbers_come_back_as_they_were_and_a_word_among_them_is_refused() -> None:
    values = [0.1 + 0.2, 1e-7, 5e-324, -0.0, 2.0**53 - 1, math.nan]
    bare = dict.fromkeys(REQUIRED, 0) | {"condition": "baseline", "ok": 1}
    rows = [{**bare, "outcome": value, "minor_faults": n} for n, value in enumerate(values[:-1])]
    left = write_runs([*rows, {**bare, "outcome": values[-1]}])
    table = read_runs(left, "it")
    assert repr(table.outcome().tolist()) == repr(values)
    assert repr(table.column("minor_faults").tolist()) == repr([0.0, 1.0, 2.0, 3.0, 4.0, math.nan])
    with pytest.raises(VgoError, match="words where numbers belong.*outcome"):
        read_runs(left.replace(b"1e-07", b"fast"), "it")


def test_the_first_layer_is_outermost_and_the_launcher_is_outside_all(
    bench: Callable[..., Bench], layers: Callable[[str, str], str]
) -> None:
    outer, inner = (layers(name, OUTER.format(name=name)) for name in ("outer", "inner"))
    launcher = open_launcher(layers("mine", "kind: launcher\n" + OUTER.format(name="mine")))
    made = bench("echo; echo time 1", launcher, metric="time (.*)")
    with made.series("c001", (outer, inner)) as series:
        series.run("baseline", made.launch)
    way = made.way(made.launch, (outer, inner))
    assert [layer.key for layer in way.through] == ["mine", "outer", "inner"]
    assert made.spawner.run(way.launch, capture=True).output.splitlines()[0] == b"mine outer inner "
    assert made.way(made.launch, (outer, inner)) is way


def test_counters_of_the_machine_are_read_below_the_root(tmp_path: Path, spawner: Spawner) -> None:
    (tmp_path / "host/proc").mkdir(parents=True)
    argv = ("/bin/true",)
    subject = Subject(command=argv, argv=argv, directory=str(tmp_path), root=str(tmp_path / "host"))
    made = Bench(subject, spawner, tmp_path / "partial", Launch(argv), root=Path(subject.root))
    try:
        absent = made.absent("process")
        with made.series("c001", ("process",)) as series:
            series.run("baseline", made.launch)
    finally:
        made.close()
    assert "cpu.steal" in absent and "on_cpu_ms" not in absent
    assert "cpu.steal" not in series.rows[0] and "on_cpu_ms" in series.rows[0]


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("docker: Error response from daemon: no image\\n\\nRun --help for more information", "docker: Error response"),
        ("first\\nopen: Permission denied\\nExit code:    3\\n-----", "open: Permission denied"),
        ("first\\nlast words\\n-----", "last words"),
    ],
)
def test_of_what_a_failing_run_said_the_line_about_the_error_is_quoted(
    bench: Callable[..., Bench], said: str, line: str
) -> None:
    made = bench(f"printf '{said}' >&2; exit 3")
    with made.series("c001") as series, pytest.raises(VgoError, match=f"exited with 3 and said: {line}"):
        for _ in range(3):
            series.run("baseline", made.launch)
    assert series.rows[0]["failure"].startswith(f"exit 3, {line}")


def test_a_failure_through_a_launcher_names_it(bench: Callable[..., Bench], layers: Callable[[str, str], str]) -> None:
    launcher = open_launcher(layers("mine", "kind: launcher\n" + OUTER.format(name="mine")))
    made = bench("echo oh >&2; exit 3", launcher)
    with made.series("c001") as series, pytest.raises(VgoError) as refused:
        for _ in range(10):
            series.run("baseline", made.launch)
    assert re.search(
        r"3 of the first 3 runs failed, the last because the program, started through the launcher mine "
        r"\(.*mine.yaml, line \d+\), exited with 3 and said: oh; run it by hand first",
        str(refused.value),
    )


def test_a_run_that_fails_under_a_layer_is_a_row_with_its_reason(
    bench: Callable[..., Bench], layers: Callable[[str, str], str]
) -> None:
    made = bench("sleep 1000", timeout_s=0.1)
    outer = layers("outer", OUTER.format(name="outer"))
    with made.series("c001", (outer,)) as series:
        for _ in range(10):
            series.run("baseline", made.launch)
    assert {row["failure"] for row in series.rows} == {"did not end within 0.1 s"}


def test_the_first_failure_ends_all_where_that_is_asked_for(bench: Callable[..., Bench]) -> None:
    made = bench("exit 3", on_failure="stop")
    with made.series("c001") as series, pytest.raises(VgoError, match="Run 1 failed: the program exited with 3"):
        series.run("baseline", made.launch)


def test_a_changed_run_has_a_limit_from_the_longest_of_the_baseline(
    bench: Callable[..., Bench], layers: Callable[[str, str], str]
) -> None:
    outer = layers("outer", OUTER.format(name="outer") + "slower: 10\n")
    made = bench("exit 0")
    wrapped, bare = made.way(made.launch, (outer,)), made.way(made.launch)
    assert made.limit_s(wrapped) is None, "nobody knows yet how long the program takes"
    with made.series("c001", (outer,)) as series:
        series.run("baseline", made.launch, layers=())
        series.run("other", made.launch, layers=(outer,))
    longest_s = series.rows[0]["wall_s"]
    assert made.limit_s(bare) == pytest.approx(5 * longest_s + 1)
    assert made.limit_s(bare, times=4) == pytest.approx(20 * longest_s + 1), "on one thread of four"
    assert made.limit_s(wrapped) == pytest.approx(50 * longest_s + 1), "the layer says what it costs"
    assert made.limit_s(bare, changed=False) is None, "a program alone may take what it takes"
    assert Deadline(0.5).limit_s(made.limit_s(bare, changed=False)) == 0.5, "but no longer than the budget"
    assert bench("exit 0", timeout_s=0.25).limit_s(wrapped) == 0.25


def test_each_line_that_is_printed_is_a_row_and_rows_add_up(bench: Callable[..., Bench]) -> None:
    made = bench("echo name,t; echo a,3; echo b,4", per_iteration="csv", metric="t")
    with made.series("c001", ("process",)) as series:
        for _ in range(2):
            series.run("baseline", made.launch)
        assert (series.processes, series.last_gave) == (2, 2)
        assert series.outcomes == [3, 4, 3, 4]
    rows = series.rows
    assert [(row["order"], row["program.run"], row["program.iteration"]) for row in rows] == [
        (0, 0, 0),
        (1, 0, 1),
        (2, 1, 0),
        (3, 1, 1),
    ]
    assert rows[0]["wall_s"] == rows[1]["wall_s"] and rows[0]["minor_faults"] == rows[1]["minor_faults"]
    left = artefacts(rows, made.described_by(series.layers))
    table = read_runs(left[RUNS], "a table", read_layers(left[LAYERS]).values())
    assert table.text("program.name") == ["a", "b", "a", "b"]


def test_a_run_without_samples_does_not_count(bench: Callable[..., Bench]) -> None:
    made = bench("echo nothing", per_iteration="json", metric="t")
    with made.series("c001") as series:
        series.run("baseline", made.launch)
    (row,) = series.rows
    assert row["ok"] == 0
    assert row["failure"].startswith("printed 1 lines, and none is a sample with the field t (JSON lines")


def test_pairs_of_samples_are_whole_runs_of_equal_length(bench: Callable[..., Bench]) -> None:
    made = bench("n=$((2 + $(cat n))); for i in $(seq $n); do echo t=$i; done", per_iteration="t=(?P<t>.*)", metric="t")
    with made.series("c001") as series:
        for pair, more in enumerate((1, 2, 0)):
            for condition in ("other", "baseline"):
                (made.folder.parent / "n").write_text(str(more))
                series.run(condition, made.launch, pair)
    left = artefacts(series.rows, {})
    pairs = read_runs(left[RUNS], "a table", read_layers(left[LAYERS]).values()).paired("other")
    assert pairs.whole == 2
    assert pairs.baseline.tolist() == pairs.other.tolist() == [1, 2, 1, 2, 1, 2]


def test_a_code_that_a_wrapper_keeps_for_its_own_failures_is_told_as_such(
    bench: Callable[..., Bench], layers: Callable[[str, str], str]
) -> None:
    outer = layers("outer", OUTER.format(name="outer") + "exits: {99: which says that it is broken}\n")
    made = bench("exit 99")
    with made.series("c001", (outer,)) as series:
        series.run("baseline", made.launch)
    assert re.fullmatch(
        r"the layer outer \(.*\) ended with 99, which says that it is broken", series.rows[0]["failure"]
    )


def test_rows_of_a_series_that_was_cut_off_are_its_beginning(bench: Callable[..., Bench]) -> None:
    made = bench("exit 0")
    with made.series("c001", ("process",)) as series:
        series.run("baseline", made.launch, layers=())
    with made.series("c001", ("process",)) as series:
        series.run("baseline", made.launch)
    assert [(row["order"], row["layers"]) for row in series.rows] == [(0, ""), (1, "process")]
    assert [json.loads(line)["order"] for line in (made.folder / "c001.jsonl").read_text().splitlines()] == [0, 1]


WORD = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)


@given(words=st.lists(WORD, max_size=4), order=st.permutations(["outer", "inner"]), value=WORD)
@settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_words_arrive_through_any_wrappers(
    bench: Callable[..., Bench],
    layers: Callable[[str, str], str],
    spawner: Spawner,
    words: list[str],
    order: list[str],
    value: str,
) -> None:
    specs = [layers(name, f"key: {name}\ndescription: One.\nrun: env A=1 $CMD $ARGS\n") for name in order]
    environment = {"PATH": os.environ["PATH"], "VALUE": value}
    launch = Launch(("/bin/sh", "-c", 'printf "%s\\0" "$VALUE" "$@"', "sh", *words), environment=environment)
    run = spawner.run(bench("").way(launch, specs).launch, capture=True)
    assert run.output.decode().split("\0")[:-1] == [value, *words]


@dataclass
class Files:
    """Artefacts under their own names."""

    files: dict[str, bytes]

    def get(self, sha256: str) -> bytes:
        return self.files[sha256]
