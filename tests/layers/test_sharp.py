"""SHARP's backend and metric files load unchanged and mean what they mean there.

The files here are written from the description of SHARP's format; `bintime` is the layer of the paper's Figure 15.
"""

import contextlib
import os
import shutil

import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.layers.launcher import open_launcher
from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes.base import SpawnCommand
from vgo_agent.layers.reading import trust
from vgo_agent.layers.sharp import files_of
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner

BINTIME = """\
backend_options:
  bintime:
    run: '/usr/bin/time -f "Major page faults: %R" $CMD $ARGS 2>&1'
    profiling: true
metrics:
  page_faults_seen:
    description: Page faults that needed no disk
    extract: "grep 'Major page faults:' | awk '{print $4}'"
    lower_is_better: true
    type: numeric
    units: count
"""
STRACE = """\
version: 4.0.0
include: [inner_time.yaml]
backend_options:
  tracer:
    command_template: "strace -c -o $TMP_PATH/out $CMD $ARGS"
    run: "false $CMD $ARGS"
metrics:
  auto:
    description: Calls by name
    extract: "awk '$4 ~ /^[0-9]+$/ && $NF != \\"total\\" {print $NF, $4}' $TMP_PATH/out"
    units: count
"""
INNER = """\
metrics:
  inner_time:
    description: Run time as the function reports it
    extract: "grep '@@@ Time' | awk '{ print $(NF); }'"
    type: numeric
    units: seconds
  policy:
    description: A word
    extract: "sed -n 's/policy //p'"
    type: string
"""


pytestmark = pytest.mark.usefixtures("own_state")


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def trusted(path, spec=""):
    trust(files_of(path))
    return find_layer(f"{path}{spec}")


def ran(layer, argv):
    """Run once through the layer; return the cells of its columns."""
    probe = open_probe(layer)
    try:
        command = probe.wrap(SpawnCommand(tuple(argv), dict(os.environ)))
        with Spawner() as spawner:
            run = spawner.run(Launch(command.argv, environment=command.environment), [probe], timeout_s=60)
        return {name: value for name, value in run.counters.items() if layer.column(name)}
    finally:
        probe.close()


def needs(program):
    if shutil.which(program) is None:
        pytest.skip(f"apt install {program}")


def test_the_layer_of_figure_15_counts_page_faults_in_a_real_run(write):
    needs("time")
    layer = trusted(write("bintime.yaml", BINTIME))
    assert (layer.key, layer.kind, layer.shell) == ("bintime", "metric", True)
    column = layer.column("page_faults_seen")
    assert (column.unit, column.role, column.lower_is_better) == ("count", "factor", True)
    few = ran(layer, ["/bin/sh", "-c", "echo 'hello world'"])["page_faults_seen"]
    many = ran(layer, ["/usr/bin/python3", "-IS", "-c", "b = bytearray(64 << 20)"])["page_faults_seen"]
    assert 0 < few < many


def test_it_is_refused_until_it_is_trusted(write):
    path = write("bintime.yaml", BINTIME)
    with pytest.raises(VgoError, match="not trusted.*Major page faults: %R.*awk"):
        find_layer(str(path))


def test_trust_covers_the_files_that_are_included(write):
    write("inner_time.yaml", INNER)
    path = write("strace.yaml", STRACE)
    trusted(path)
    write("inner_time.yaml", INNER.replace("NF", "1"))
    with pytest.raises(VgoError, match="not trusted"):
        find_layer(str(path))


def test_the_metric_auto_gives_a_column_for_each_name(write):
    needs("strace")
    write("inner_time.yaml", INNER)
    layer = trusted(write("strace.yaml", STRACE))
    assert (layer.run, layer.shell, layer.heavy) == ("strace -c -o $FOLDER/out $CMD $ARGS", False, True)
    cells = ran(layer, ["/bin/sh", "-c", "echo @@@ Time 1.5; echo policy x y"])
    assert cells.pop("inner_time") == 1.5
    assert cells.pop("policy") == "x y"
    assert cells["tracer.execve"] == 1
    assert all(name.startswith("tracer.") for name in cells)


def test_types_units_and_roles_are_carried_over(write):
    layer = trusted(write("inner_time.yaml", INNER))
    assert layer.run == ""
    time, policy = layer.columns
    assert (time.unit, time.role, time.type, time.extract.text) == ("s", "consequence", "number", "both")
    assert (policy.role, policy.type) == ("setting", "text")


def test_a_file_of_several_backends_asks_which(write):
    several = (
        "backend_options:\n  one: {run: 'env A=1 $CMD $ARGS'}\n  two: {run: 'chrt --batch 0 $CMD $ARGS | tee x'}\n"
    )
    path = write("several.yaml", several)
    trust(files_of(path))
    with pytest.raises(VgoError, match="holds the backends one, two: choose one with .*:backend=NAME"):
        find_layer(str(path))
    assert find_layer(f"{path}:backend=one").shell is False
    assert find_layer(f"{path}:backend=two").shell is True
    assert find_layer(f"{path}:backend=two").needs == ("chrt",)
    named = write("two.yaml", several)
    assert trusted(named).run.startswith("chrt")


def test_macros_of_launchers_become_parameters(write):
    path = write(
        "mpi.yaml",
        "backend_options:\n  mpi: {run: 'mpirun -np $MPL --host $HOST0,$HOST1 $MPIFLAGS $CMD $ARGS # $TASK',"
        " hosts: 'a, b', mpiflags: '--bind-to core'}\n",
    )
    layer = trusted(path)
    assert (layer.kind, layer.here) == ("launcher", False)
    assert layer.parameters == {"host0": "a", "host1": "b", "mpl": "1", "options": "--bind-to core"}


def test_a_launcher_of_sharp_starts_the_program(write):
    flags = write("flags.yaml", "backend_options: {flags: {run: 'env $MPIFLAGS $CMD $ARGS', mpiflags: '-u A B=1'}}\n")
    shell = write("shell.yaml", "backend_options: {shell: {run: 'cd /; exec $CMD $ARGS 2>&1'}}\n")
    trust(files_of(flags))
    trust(files_of(shell))
    command = SpawnCommand(("/bin/echo", "a b"), {})
    assert open_launcher(str(flags)).wrap(command).argv == ("/usr/bin/env", "-u", "A", "B=1", "/bin/echo", "a b")
    assert open_launcher(str(shell)).wrap(command).argv == ("/bin/sh", "-c", "cd /; exec /bin/echo 'a b' 2>&1")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("metrics:\n  a: {units: s}\n", r"line 2: metrics.a: has no `extract`; add the shell filter"),
        ("metrics: [a]\n", "line 1: metrics: is no mapping; write `key: value` lines"),
        ("metrics: {}\ninclude: other.yaml\n", r"line 2: include: includes other.yaml, which is not there"),
        ("include: it.yaml\nmetrics: {}\n", "includes itself"),
        ("backend_options:\n  a: 3\n", "line 2: backend_options.a: is no mapping"),
        ("metrics:\n  a:\n    extract: cat\n    bogus: 1\n", "line 4: metrics.a.bogus: is not a known key; .*extract"),
        ("backend_options:\n  a:\n    bogus: 1\n", "line 3: backend_options.a.bogus: is not a known key; .*mpiflags"),
        ("metrics: {}\nbogus: 1\n", "line 2: bogus: is not a known key; .*backend_options"),
        ("metrics: {a: {extract: cat, lower_is_better: 12}}\n", "lower_is_better: is neither true nor false"),
        ("metrics: {a: {extract: cat, type: wibble}}\n", "type: is none of .*; write 'numeric', 'string'"),
        ("metrics: {a: {extract: cat, description: [1]}}\n", "description: is no text"),
        ("backend_options: {a: {run: 5}}\n", "run: is no text; put it in quotes"),
        ("metrics:\n  a: {extract: cat}\n  a: {extract: tac}\n", "line 3: metrics.a: the key stands twice; keep one"),
        (
            'metrics:\n  "a b": {extract: cat}\n  a_b: {extract: tac}\n',
            "line 3: .*the same column as a b .a_b.; rename",
        ),
        ("backend_options:\n  a: {run: echo hello}\n", r"line 2: .*run: does not start the program, .*put \$CMD"),
        (
            'backend_options:\n  a:\n    run: time -f "faults: %R" $CMD\n',
            "line 3: .*: put the text after the key in quotes",
        ),
    ],
)
def test_what_is_wrong_is_named_with_the_cure(write, text, what):
    with pytest.raises(VgoError, match=what):
        find_layer(str(write("it.yaml", text)))


def test_what_is_wrong_in_an_included_file_is_named_there(write):
    write("inner_time.yaml", INNER.replace("units: seconds", "unit: seconds"))
    with pytest.raises(VgoError, match=r"inner_time.yaml, line 6: metrics.inner_time.unit: is not a known key"):
        find_layer(str(write("strace.yaml", STRACE)))


def test_the_files_of_mitigations_and_clouds_load(write):
    path = write(
        "calm.yaml",
        "calm: {description: A recipe., references: {a: b}}\nbackend_options: {calm: {run: 'nice $CMD $ARGS'}}\n",
    )
    assert trusted(path).run == "nice $CMD $ARGS"
    cloud = write(
        "cloud.yaml", "backend_options: {cloud: {run: 'fission fn test --name $FN', reset: , version: 1.0}}\n"
    )
    assert trusted(cloud).run == "fission fn test --name $PROGRAM"


def test_a_name_that_a_shipped_layer_has_gets_the_name_of_the_layer(write):
    path = write("it.yaml", INNER.replace("inner_time:", "major_faults:"))
    assert [column.name for column in trusted(path).columns] == ["it.major_faults", "policy"]


REMOVING = """\
backend_options:
  ranks:
    run: "echo 0.5 > $TMP_PATH/0; $CMD $ARGS; cat $TMP_PATH* && rm -rf $TMP_PATH"
    tmp_path: "{kept}/"
    check: "test -e {ready}"
    check_message: "start the daemon first"
metrics:
  rank_seconds:
    description: Time of a rank
    extract: "cat"
    type: numeric
    units: seconds
"""


def test_a_backend_that_removes_its_folder_removes_ours_and_never_what_it_names(write, tmp_path):
    kept, ready = tmp_path / "kept", tmp_path / "ready"
    kept.mkdir()
    ready.touch()
    text = REMOVING.format(kept=kept, ready=ready).replace("cat $TMP_PATH*", "cat $TMP_PATH/0")
    layer = trusted(write("ranks.yaml", text))
    probe = open_probe(layer)
    command = probe.wrap(SpawnCommand(("/bin/true",), dict(os.environ)))
    with contextlib.closing(probe), Spawner() as spawner:
        for _ in range(2):  # the folder of the second run is there again
            run = spawner.run(Launch(command.argv, environment=command.environment), [probe], timeout_s=60)
            assert run.counters["rank_seconds"] == 0.5, run.error
    assert kept.is_dir() and list(kept.iterdir()) == []


def test_what_a_backend_checks_first_is_asked_for(write, tmp_path):
    layer = trusted(write("ranks.yaml", REMOVING.format(kept=tmp_path, ready=tmp_path / "ready")))
    with contextlib.closing(open_probe(layer)) as probe:
        assert "start the daemon first" in probe.absent()["rank_seconds"]
