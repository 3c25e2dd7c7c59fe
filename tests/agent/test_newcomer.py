"""What a newcomer types by mistake: one sentence names the mistake, and what it advises works when it is typed."""

import os
import random
import re
import shlex
import shutil
from pathlib import Path

import pytest

from vgo_agent.agent.cli import main


@pytest.fixture
def typed(capsys, monkeypatch, tmp_path):
    """Type a command in this process, in an empty folder; give exit code, standard output and the last line said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def run(*words: str) -> tuple[int, str, str]:
        try:
            code = main(words)
        except SystemExit as left:
            code = int(left.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, (err.splitlines() or [""])[-1]

    return run


def table(path: Path, times, arms: bool = True) -> str:
    draw = random.Random(1)
    lines = ["time_s,other,run,value,arm,host,cores"]
    lines += [
        f"{time},{draw.random()},{row // 2},{row // 2},{'ab'[row % 2]},h{row // 2 % 2},4"
        for row, time in enumerate(times)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path.name


def times(runs: int = 80) -> list[float]:
    draw = random.Random(2)
    return [draw.gauss(10, 1) for _ in range(runs)]


WILD = {"too large": "1e308", "too small": "1e-310", "large in squares": "-3e200"}


@pytest.mark.parametrize("value", WILD.values(), ids=WILD)
@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("analyze", "wild.csv"), "--outcome"),
        (("compare", "wild.csv", "--condition", "arm"), "--metric"),
        (("compare", "wild.csv", "--plan", "0.5"), "--metric"),
        (("analyze", "--by", "node", "wild.csv", "--node", "host"), "--outcome"),
        (("surface", "fit", "wild.csv", "--settings", "arm"), "--outcome"),
    ],
)
@pytest.mark.cells(6)
def test_numbers_that_nothing_can_be_computed_with(typed, tmp_path, words, option, value):
    table(tmp_path / "wild.csv", [value if row % 9 == 0 else time for row, time in enumerate(times())])
    code, _, said = typed(*words, option, "time_s")
    assert code == 1
    assert f"time_s of wild.csv holds {float(value):g}, and only numbers from 1e-60 to 1e+60" in said
    named = re.search(r"or name another column: (\w+)", said)
    assert named
    assert typed(*words, option, named[1])[0] in (0, 1)
    assert "1e-60" not in typed(*words, option, named[1])[2]


def test_such_numbers_elsewhere_count_as_missing_and_are_told(typed, tmp_path):
    table(tmp_path / "wild.csv", ["1e308" if row == 5 else time for row, time in enumerate(times())])
    code, out, _ = typed("analyze", "wild.csv", "--outcome", "other")
    assert code == 0
    assert "In time_s numbers such as 1e+308 count as missing" in " ".join(out.split())


def test_infinities_are_left_out_and_counted(typed, tmp_path):
    table(
        tmp_path / "mixed.csv", ["inf" if row % 40 == 0 else "-inf" if row == 3 else t for row, t in enumerate(times())]
    )
    code, out, _ = typed("analyze", "mixed.csv", "--outcome", "time_s")
    assert code == 0
    assert "3 of 80 runs have no finite time_s: left out" in " ".join(out.split())


@pytest.mark.parametrize("printed", ["1e308", "inf", "nan", "1e-320"])
def test_a_program_that_prints_such_a_number_has_failed(typed, printed):
    code, _, said = typed("measure", "--metric", "x (.*)", "--", "/bin/echo", "x", printed)
    assert code == 1
    assert f"printed '{printed}' where --metric expects a number" in said


TWENTY = "9" * 20


@pytest.mark.parametrize(
    "words",
    [
        ("diagnose", "--min-runs", TWENTY, "/bin/true"),
        ("diagnose", "--max-runs", TWENTY, "/bin/true"),
        ("measure", "--seed", f"-{TWENTY}", "/bin/true"),
        ("try", "nice", "--pairs", TWENTY, "--", "/bin/true"),
        ("analyze", "none.csv", "--seed", TWENTY),
        ("sweep", "openmp", "--rounds", TWENTY, "--", "/bin/true"),
        ("machine", "profile", "--repetitions", TWENTY),
    ],
)
def test_a_whole_number_of_twenty_digits(typed, words):
    code, _, said = typed(*words)
    assert code == 2
    assert said.endswith("is out of range: give at most 2147483647")


def test_the_same_in_the_environment(typed, monkeypatch):
    monkeypatch.setenv("VGO_AGENT_MIN_RUNS", TWENTY)
    code, _, said = typed("measure", "/bin/true")
    assert code == 1
    assert "VGO_AGENT_MIN_RUNS is" in said and "less than or equal to 2147483647" in said


@pytest.mark.parametrize("columns", ["run", "host,run", "value", "value,run"])
def test_pairs_are_told_by_columns_of_any_name(typed, tmp_path, columns):
    table(tmp_path / "runs.csv", times())
    code, out, said = typed("compare", "runs.csv", "--condition", "arm", "--metric", "time_s", "--pair", columns)
    assert code == 0, said
    assert "40 pairs" in out


@pytest.mark.parametrize(
    "where",
    [
        ("--where", "host=h0", "cores=4"),
        ("--where", "host=h0", "--where", "cores=4"),
        ("--where", "host=h0,h1", "--where", "cores=4"),
    ],
)
def test_several_conditions_must_all_hold(typed, tmp_path, where):
    table(tmp_path / "runs.csv", times())
    code, out, said = typed("compare", "runs.csv", "--condition", "arm", "--metric", "time_s", *where, "--json")
    assert code == 0, said
    assert f'"other_runs": {40 if "host=h0,h1" in where else 20}' in out


def test_conditions_that_no_run_meets_are_named(typed, tmp_path):
    table(tmp_path / "runs.csv", times())
    code, _, said = typed("compare", "runs.csv", "--condition", "arm", "--metric", "time_s", "--where", "cores=8")
    assert (code, "No run of runs.csv has cores=8: it has 4." in said) == (1, True)


def test_parameters_of_a_sweep_stand_in_several_words_and_one_is_called_n(typed):
    words = ("sweep", "n=1,2", "--dry-run", "affinity=0,0+1", "--", "/bin/true", "{n}")
    code, out, said = typed(*words)
    assert code == 0, said
    assert "c0004: n=2 affinity=0,1" in out
    assert typed("sweep", "n=1,2", "--min-runs", "3", "--max-runs", "3", "-q", "--", "/bin/true", "{n}")[0] == 0
    header = Path("vgo-runs/sweep-n/cells.csv").read_text().splitlines()[0].split(",")
    assert header[:4] == ["cell", "batch", "n", "n_of_runs"]


def test_a_parameter_named_as_a_column_gets_a_name_that_works(typed):
    code, _, said = typed("sweep", "order=1,2", "--dry-run", "--", "/bin/true", "{order}")
    assert code == 1
    better = re.search(r"call the parameter (\w+)", said)
    assert better
    assert typed("sweep", f"{better[1]}=1,2", "--dry-run", "--", "/bin/true", f"{{{better[1]}}}")[0] == 0


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("huge_pages", "thp_always"),
        ("thp_allways", "thp_always"),
        ("taskset", "pin_to_cpu"),
        ("turbo", "turbo_off"),
        ("hyperthreading", "disable_smt"),
        ("realtime", "sched_fifo"),
    ],
)
def test_a_mitigation_is_guessed_by_meaning_as_well_as_by_spelling(typed, word, meant):
    code, _, said = typed("try", word, "--dry-run", "--", "/bin/true")
    assert code == 1
    assert meant in said.partition("did you mean ")[2]
    assert typed("try", meant, "--dry-run", "--", "/bin/true")[0] == 0


@pytest.mark.parametrize(("word", "meant"), [("disk", "disk_queue"), ("hugepage", "dtlb_misses"), ("swop", "swap")])
def test_a_factor_is_guessed_too(typed, word, meant):
    code, _, said = typed("mitigations", "--factor", word)
    assert code == 1
    assert meant in said.partition("did you mean ")[2]
    assert typed("mitigations", "--factor", meant)[0] == 0


def test_a_changed_promise_is_told_before_the_first_run(typed):
    code, out, said = typed("try", "tmpfs_directory", "--", "/bin/true")
    assert code == 1 and "trial run" not in said + out
    assert "fsync keeps nothing" in said and "allow it with --accept tmpfs_directory" in said


def test_a_factor_in_the_place_of_a_mitigation_leads_to_what_helps(typed):
    code, _, said = typed("try", "page_faults", "--", "/bin/true")
    advice = re.search(r"`vgo-agent (.*?)`", said)
    assert code == 1 and advice
    assert typed(*shlex.split(advice[1]))[0] == 0


@pytest.mark.parametrize(("word", "meant"), [("memry", "memory"), ("ram", "memory"), ("disc", "block")])
def test_a_layer_is_guessed_too(typed, word, meant):
    code, _, said = typed("measure", "--layer", word, "/bin/true")
    assert code == 1
    assert said.startswith(f"vgo-agent: There is no layer {word}; ")
    assert meant in said


@pytest.mark.parametrize(
    ("word", "meant"), [("diagnoze", "diagnose"), ("undo", "restore"), ("ls", "runs"), ("benchmark", "measure")]
)
def test_a_command_is_guessed_too(typed, word, meant):
    code, _, said = typed(word)
    assert code == 2
    assert meant in said.partition("did you mean ")[2]


def test_report_says_where_the_last_report_is(typed):
    code, _, said = typed("report")
    assert code == 2 and "vgo-runs holds no report yet: a run of `vgo-agent diagnose COMMAND` ends with one" in said
    assert typed("sweep", "n=1,2", "--min-runs", "3", "--max-runs", "3", "-q", "--", "/bin/true", "{n}")[0] == 0
    named = re.search(r"the report of your last run is (\S+) ", typed("report")[2])
    assert named and Path(named[1]).is_file()


def test_what_a_file_says_wrongly_is_told_in_words_of_the_file(typed, tmp_path):
    (tmp_path / "mine.yaml").write_text("key: mine\nname: Mine\nscope: all\nwhen: ''\nhurts: ''\nsteps: reboot\n")
    code, _, said = typed("try", "./mine.yaml", "--dry-run", "--", "/bin/true")
    assert code == 1
    assert "Input should" not in said and re.search(r"mine\.yaml, line \d: \w+: (is|has) .*; ", said)


def test_a_format_that_cannot_keep_a_mitigation_names_those_that_can(typed):
    for format in ("systemd", "sysctl"):
        code, _, said = typed("mitigations", "thp_always", "--keep", format)
        assert code == 1
        for other in re.search(r"Keep it with --keep (.*)\.", said)[1].split(" or "):  # type: ignore[index]
            assert typed("mitigations", "thp_always", "--keep", other)[0] == 0


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="apt install openmpi-bin")
def test_more_ranks_than_cores_are_told_how_to_share_them(typed):
    code, _, said = typed("measure", "--launcher", "mpirun:ranks=4000", "/bin/true")
    assert code == 1
    assert "enough slots" in said and "mpirun:ranks=8,options=--oversubscribe" in said
    code, _, said = typed(
        "measure", "--launcher", "mpirun:ranks=8,options=--oversubscribe", "--max-runs", "2", "/bin/true"
    )
    assert "slots" not in said


def test_a_pipe_is_no_file(typed, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for words in (
        ("analyze", "pipe.csv"),
        ("diagnose", "--on", "pipe.csv", "/bin/true"),
        ("surface", "show", "pipe.csv"),
    ):
        code, _, said = typed(*words)
        assert (code, "pipe.csv is a pipe or a device, and not a file" in said) == (1, True)


@pytest.mark.parametrize(
    "words",
    [
        ("sweep", "openmp", "--metric", "\udcff", "--", "/bin/true"),
        ("analyze", "--read-only", "runs.csv", "--save", "\udcff"),
    ],
)
def test_bytes_that_are_no_text_are_told(typed, words):
    code, _, said = typed(*words)
    assert code == 1 and r"'\udcff' holds bytes that this locale cannot read; set LC_ALL" in said


@pytest.mark.slow
@pytest.mark.parametrize("text", ["[" * 100_000, "- " * 50_000 + "x", "{a: " * 50_000], ids=["[", "-", "{"])
def test_a_file_that_is_nested_beyond_reason_is_told(typed, tmp_path, text):
    (tmp_path / "deep.yaml").write_text(text)
    code, _, said = typed("mitigations", "--trust", "deep.yaml")
    assert code == 1 and "deep.yaml: not YAML (it is nested too deeply)" in said
