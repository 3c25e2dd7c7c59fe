"""A wrapper puts the program into its command and reads what both say; nothing is parsed twice, nothing is left."""

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.layers.loader import open_probe
from vgo_agent.layers.probes.base import SpawnCommand
from vgo_agent.layers.reading import read_layer, trust
from vgo_agent.layers.schema import Layer
from vgo_agent.layers.wrapper import own_folder
from vgo_agent.tools.execution.bench import Bench
from vgo_agent.tools.execution.launch import Launch, Run
from vgo_agent.tools.execution.outcomes import judge
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.mitigation.owned_folder import stale_folders
from vgo_agent.tools.subject import Subject

from ..examples import examples

SHOW = (sys.executable, "-IS", "-c", "import sys, os; print(repr(sys.argv[1:])); print(os.environ.get('SEEN'))")
NUMBER = {"name": "it.value", "description": "A number.", "unit": "count"}
WORD = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)


def layer(**more):
    columns = more.pop("columns", ())
    return Layer.model_validate({"key": "it", "description": "A wrapper.", "columns": columns, **more})


def wrapped(one, argv, environment=None):
    probe = open_probe(one)
    try:
        return probe.wrap(SpawnCommand(tuple(argv), environment or {}))
    finally:
        probe.close()


def ran(one, argv, runs=1):
    """Run the program through the layer; return the last run, the cells of each run, and what is absent."""
    probe = open_probe(one)
    cells = []
    try:
        command = probe.wrap(SpawnCommand(tuple(argv), dict(os.environ)))
        with Spawner() as spawner:
            for _ in range(runs):
                run = spawner.run(
                    Launch(command.argv, environment=command.environment), [probe], timeout_s=60, capture=True
                )
                cells.append({name: value for name, value in run.counters.items() if one.column(name)})
        return run, cells, probe.absent()
    finally:
        probe.close()


@pytest.mark.parametrize(
    "shape",
    [
        {"run": "env SEEN=$WHAT $CMD $ARGS"},
        {"run": "env SEEN=$WHAT $CMD $ARGS", "shell": True},
        {"run": "SEEN=$WHAT $CMD $ARGS 2>&1", "shell": True},
        {"run": "sh -c 'SEEN=a; export SEEN; exec \"$@\"' sh $CMD $ARGS"},
        {"run": "SEEN=$WHAT exec sh -c '$CMD $ARGS'", "shell": True},
        {"run": 'SEEN=$WHAT exec sh -c "$CMD $ARGS"', "shell": True},
        {"run": "env SEEN=$WHAT sh -c $LINE"},
        {"run": "SEEN=$WHAT sh -c $LINE", "shell": True},
        {"environment": {"SEEN": "$WHAT"}},
    ],
    ids=lambda shape: shape.get("run", "environment alone"),
)
def test_the_program_gets_its_words_as_they_are(shape):
    words = ["hello world", "x;touch f", "it's", '"', "$HOME `id` $(id)", "*", "", "\\", "a\nb", "$CMD", "é"]
    run, _, _ = ran(layer(parameters={"what": "a"}, **shape), [*SHOW, *words])
    assert run.output.decode() == f"{words!r}\na\n"


@given(words=st.lists(WORD, max_size=4), value=WORD)
@settings(derandomize=True, deadline=None, max_examples=examples(2))
def test_no_shell_means_that_words_and_values_stay_within_their_words(words, value):
    one = layer(run="env SEEN=<$WHAT> $CMD $ARGS", parameters={"what": value})
    assert wrapped(one, ["/bin/x", *words]).argv == ("/usr/bin/env", f"SEEN=<{value}>", "/bin/x", *words)


@given(words=st.lists(WORD, max_size=3), value=WORD)
@settings(derandomize=True, deadline=None)
def test_a_shell_gives_the_program_its_words_too(words, value):
    one = layer(run='SEEN="<$WHAT>" $CMD $ARGS', shell=True, parameters={"what": value})
    run, _, _ = ran(one, [*SHOW, *words])
    assert run.output.decode() == f"{words!r}\n<{value}>\n"


def test_a_parameter_that_stands_alone_gives_several_words_or_none():
    assert wrapped(layer(run="env $OPTIONS $CMD", parameters={"options": "-u 'A B' C=1"}), ["/bin/x", "y"]).argv == (
        "/usr/bin/env",
        "-u",
        "A B",
        "C=1",
        "/bin/x",
    )
    assert wrapped(layer(run="env $OPTIONS $CMD", parameters={"options": ""}), ["/bin/x"]).argv[1:] == ("/bin/x",)


def test_two_dollars_are_one_and_numbers_are_written_plainly():
    one = layer(run="env $$A=$COUNT,$SHARE,$ON $CMD $ARGS", parameters={"count": 1000000, "share": 0.25, "on": True})
    assert wrapped(one, ["/bin/x"]).argv[1] == "$A=1000000,0.25,true"


def test_a_variable_may_hold_what_it_held_before():
    one = layer(environment={"LIST": "/mine:$LIST", "FLAG": "1"})
    assert wrapped(one, ["/bin/x"], {"LIST": "/yours", "OTHER": "2"}).environment == {
        "LIST": "/mine:/yours",
        "FLAG": "1",
        "OTHER": "2",
    }
    assert wrapped(one, ["/bin/x"]).environment["LIST"] == "/mine:"
    assert wrapped(one, ["/bin/x"]).argv == ("/bin/x",)


def test_the_file_is_empty_before_each_run_and_gone_at_the_end(tmp_path):
    column = {**NUMBER, "extract": {"regex": "^line", "from": "file", "take": "count"}}
    one = layer(run='sh -c \'echo line >> "$1"; shift; exec "$@"\' sh $FILE $CMD $ARGS', columns=[column])
    probe = open_probe(one)
    path = Path(probe.wrap(SpawnCommand(("/bin/true",), {})).argv[4])
    assert path.parent.is_dir()
    probe.close()
    assert not path.parent.exists()
    _, cells, absent = ran(one, ["/bin/true"], runs=3)
    assert cells == [{"it.value": 1.0}] * 3
    assert absent == {}


def test_every_file_of_the_folder_is_read_and_none_of_the_run_before():
    column = {**NUMBER, "extract": {"regex": r"rank (\d+)", "from": "file", "take": "sum"}}
    one = layer(
        run='sh -c \'for i in 1 2 3; do echo rank $i > "$1/$$.$i"; done; shift; exec "$@"\' sh $FOLDER $CMD',
        columns=[column],
    )
    assert ran(one, ["/bin/true"], runs=2)[1] == [{"it.value": 6.0}] * 2


def test_what_the_program_says_reaches_the_columns_and_the_metric():
    one = layer(
        columns=[
            {**NUMBER, "name": "it.out", "extract": {"regex": r"out=(\d+)"}},
            {**NUMBER, "name": "it.err", "extract": {"regex": r"err=(\d+)", "from": "error"}},
            {**NUMBER, "name": "it.both", "extract": {"regex": r"=(\d+)", "from": "both", "take": "sum"}},
        ]
    )
    run, cells, _ = ran(one, ["/bin/sh", "-c", "echo out=1; echo err=2 >&2"])
    assert cells == [{"it.out": 1.0, "it.err": 2.0, "it.both": 3.0}]
    assert run.output == b"out=1\n"


def test_a_wrapper_that_is_not_installed_leaves_its_columns_absent_with_the_cure():
    column = {**NUMBER, "extract": {"regex": "x"}}
    one = layer(run="no-such-tool $CMD $ARGS", cure="apt install such-tools", columns=[column])
    run, cells, absent = ran(one, ["/bin/echo", "x"])
    assert (run.exit_code, run.output, cells) == (0, b"x\n", [{}])
    assert absent == {"it.value": "no-such-tool is not installed: apt install such-tools"}
    needing = layer(needs=("no-such-part",), columns=[column])
    assert ran(needing, ["/bin/true"])[2] == {"it.value": "no-such-part is not installed: put no-such-part on PATH"}


def test_a_layer_that_is_only_a_command_is_refused_where_the_command_is_missing():
    with pytest.raises(VgoError, match="layer it cannot be used: no-such-tool is not installed"):
        open_probe(layer(run="no-such-tool $CMD $ARGS"))


def test_an_extraction_that_never_matched_is_absent_with_file_and_column():
    column = {**NUMBER, "extract": {"regex": r"value (\d+)"}}
    _, cells, absent = ran(layer(columns=[column]), ["/bin/echo", "nothing"], runs=3)
    assert cells == [{}] * 3
    assert list(absent) == ["it.value"]
    assert r"its regex 'value (\d+)' in it.yaml found nothing for it in the standard output of 3 runs" in str(
        absent["it.value"]
    )


def test_a_wrapper_that_outlives_its_program_is_ended_at_the_time_limit_and_named(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "endless.yaml"
    path.write_text('key: endless\ndescription: It never ends.\nrun: sh -c \'"$$0" "$$@"; sleep 985\' $CMD $ARGS\n')
    trust([path])
    argv = ("/bin/true",)
    subject = Subject(command=argv, argv=argv, directory=str(tmp_path), timeout_s=0.5)
    with Spawner() as spawner:
        bench = Bench(subject, spawner, tmp_path / "partial", Launch(argv, environment=dict(os.environ)))
        with bench.series("c001", (str(path),)) as series:
            series.run("baseline", bench.launch)
        bench.close()
    (row,) = series.rows
    assert (row["ok"], row["layers"], row["failure"]) == (0, "endless", "did not end within 0.5 s")
    assert not any(b"sleep\x00985" in line for line in command_lines())


def command_lines():
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_bytes()
        except OSError:
            continue


def test_a_built_in_probe_and_a_wrapper_of_one_layer_work_as_one():
    one = layer(
        probe="process",
        run="env SEEN=1 $CMD $ARGS",
        columns=[
            {"name": "minor_faults", "description": "Faults.", "unit": "count"},
            {"name": "vm.pgfault", "description": "Faults.", "unit": "count", "scope": "machine"},
            {**NUMBER, "extract": {"regex": r"SEEN=(\d)"}},
        ],
    )
    _, cells, absent = ran(one, ["/usr/bin/env"])
    assert cells[0].keys() == {"minor_faults", "vm.pgfault", "it.value"}
    assert cells[0]["it.value"] == 1
    assert absent == {}


def test_what_a_users_own_layer_lacks_or_never_ends_is_named_with_file_and_line(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        "key: mine\ndescription: mine\n\nrun: no-such-tool $CMD $ARGS\ncolumns:\n"
        "  - {name: mine.x, description: x, unit: count, extract: {from: error, regex: 'x=(.+)'}}\n"
    )
    mine = read_layer(file)
    with contextlib.closing(open_probe(mine)) as probe:
        assert probe.absent()["mine.x"].startswith(f"no-such-tool ({file}, line 4) is not installed")
    endless = Run(wall_ns=1, exit_code=-9, counters={}, timed_out=True)
    failure = judge(endless, Subject(command=("true",), argv=("true",), directory="/"), [mine], 2).failure
    assert failure.startswith(f"the program, started through the layer mine ({file}, line 4), did not end within 2 s")


def test_the_folder_that_a_killed_agent_left_is_removed(tmp_path):
    script = (
        "import os, signal; from vgo_agent.layers.wrapper import own_folder; made = own_folder('it'); "
        "print(made.name, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    left = Path(done.stdout.strip())
    assert left.parent == tmp_path and left.is_dir()
    assert stale_folders(tmp_path) == (left,)


IN_A_CONTAINER = """
import os, sys
import tempfile
from pathlib import Path
from vgo_agent.layers.wrapper import own_folder
from vgo_agent.tools.mitigation.owned_folder import stale_folders
with own_folder('inner'):
    print(len(stale_folders(Path(sys.argv[1]))), flush=True)
    sys.stdin.read()
    os._exit(0)
"""


def test_a_folder_of_who_lives_in_another_container_is_left_alone(tmp_path, monkeypatch):
    if subprocess.run(("unshare", "--pid", "--fork", "--mount-proc", "true"), capture_output=True).returncode:
        pytest.skip("only root, with CAP_SYS_ADMIN, makes a PID namespace")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    argv = ("unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", IN_A_CONTAINER, str(tmp_path))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with own_folder("outer") as ours, subprocess.Popen(argv, env=environment, text=True, stdin=-1, stdout=-1) as inside:
        assert inside.stdout is not None and inside.stdout.readline() == "0\n", "it takes us for dead"
        (theirs,) = (path for path in tmp_path.iterdir() if str(path) != ours)
        assert stale_folders(tmp_path) == ()
        inside.communicate()
        assert stale_folders(tmp_path) == (theirs,)
