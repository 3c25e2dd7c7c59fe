"""What the command line answers to words that are right, wrong, and nearly right."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from vgo_agent.agent.commands import COMMANDS

SCRIPT = Path(sys.executable).with_name("vgo-agent")
Vgo = Callable[..., subprocess.CompletedProcess[str]]
HEAVY = {"numpy", "pandas", "scipy", "sklearn", "matplotlib", "langgraph", "chromadb", "pydantic", "rich", "yaml"}


def test_help_names_every_command_and_every_exit_code(vgo: Vgo) -> None:
    shown = vgo("--help", "all")
    assert shown.returncode == 0
    for word in (*COMMANDS, "0 ", "1 ", "2 ", "130", "128+N"):
        assert f"  {word}" in shown.stdout


@pytest.mark.parametrize(
    ("command", "says", "never"),
    [
        ("resume", "--budget S seconds to go on for, from now", "seconds by the clock"),
        ("sweep", "COMMAND the program and its arguments (default: the one of SPACE)", ""),
        ("sweep", "where the command line does not say them, command, shell, metric, unit", ""),
        ("sweep", "the design, also in SPACE: --design", ""),
        ("eval", "vgo-agent eval record page-faults", ""),
    ],
)
def test_help_says_what_an_option_means_to_that_command(vgo: Vgo, command: str, says: str, never: str) -> None:
    shown = " ".join(vgo(command, "--help").stdout.split())
    assert says in shown and not (never and never in shown)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_each_command_ends_in_an_example_of_it(vgo: Vgo, command: str) -> None:
    shown = vgo(*command.split(), "--help")
    assert shown.returncode == 0
    _, _, example = shown.stdout.partition("\nexample")
    assert f"vgo-agent {command}" in example


@pytest.mark.parametrize("words", [["--help"], ["--version"], *([*name.split(), "--help"] for name in COMMANDS)])
def test_no_help_imports_a_heavy_library(words: list[str]) -> None:
    program = (
        "import sys\nfrom vgo_agent.agent.cli import main\n"
        f"try:\n    main({words!r})\nexcept SystemExit:\n    pass\n"
        f"print(sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout
    assert ran.stderr == "[]\n"


def test_the_version_is_that_of_the_package(vgo: Vgo) -> None:
    from importlib.metadata import version

    assert vgo("--version").stdout == f"vgo-agent {version('vgo-agent')}\n"


def test_without_a_command_the_help_is_shown_as_an_error(vgo: Vgo) -> None:
    shown = vgo()
    assert (shown.returncode, shown.stdout) == (2, "")
    assert "commands:" in shown.stderr


def test_a_misspelt_command_is_answered_with_the_nearest_one(vgo: Vgo) -> None:
    shown = vgo("diagnoze", "./bench.sh")
    assert shown.returncode == 2
    assert "there is no command 'diagnoze'; did you mean diagnose?" in shown.stderr


@pytest.mark.parametrize("words", [["--nonsense"], ["runs", "--nonsense"], ["config", "--budget", "much"]])
def test_an_option_that_is_not_understood_is_a_usage_error(vgo: Vgo, words: list[str]) -> None:
    shown = vgo(*words)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert words[-1] in shown.stderr


FORMER = (
    "cluster",
    "completion",
    "export",
    "import",
    "nodes",
    "power",
    "profile",
    "ranks",
    "replay",
    "search",
    "study",
    "tune",
)


def test_eight_commands_come_first(vgo: Vgo) -> None:
    listed = vgo("--help").stdout.partition("commands:\n")[2].partition("\n\n")[0].splitlines()
    first = ["demo", "diagnose", "chat", "try", "measure", "analyze", "compare", "ask"]
    assert [line.split()[0] for line in listed] == first


@pytest.mark.parametrize("word", FORMER)
def test_a_former_command_is_refused_with_the_one_that_does_it_now(vgo: Vgo, word: str) -> None:
    shown = vgo(word, "x")
    assert (shown.returncode, shown.stdout) == (2, "")
    new = shown.stderr.partition("write `vgo-agent ")[2].split()
    assert new[0] in COMMANDS and new[0] != word


def test_the_first_word_of_several_commands_lists_them(vgo: Vgo) -> None:
    word = "machine"
    assert vgo(word, "--help").stdout.count(f"  {word} ") == sum(name.startswith(f"{word} ") for name in COMMANDS)
    refused = vgo(word)
    assert refused.returncode == 2 and "there are machine " in refused.stderr


def test_options_are_never_abbreviated(vgo: Vgo) -> None:
    assert vgo("config", "--budg", "5").returncode == 2


def test_an_error_is_one_line_without_traceback(vgo: Vgo) -> None:
    shown = vgo("verify", "nowhere")
    assert (shown.returncode, shown.stdout) == (1, "")
    assert (
        shown.stderr
        == "vgo-agent: nowhere is not the folder of a run (no request.json); `vgo-agent runs` lists them.\n"
    )


def test_with_json_an_error_is_also_an_object_on_standard_output(vgo: Vgo) -> None:
    shown = vgo("verify", "--json", "nowhere")
    assert shown.returncode == 1
    assert shown.stderr == f"vgo-agent: {json.loads(shown.stdout)['error']}\n"


def test_verbose_adds_where_an_error_came_from(vgo: Vgo) -> None:
    assert "Traceback" in vgo("verify", "-v", "nowhere").stderr


def test_a_name_cannot_steer_the_terminal_through_an_error(vgo: Vgo) -> None:
    assert "\x1b" not in vgo("verify", "\x1b[2Jnowhere").stderr


def test_a_reader_that_leaves_ends_the_command_quietly(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run([str(SCRIPT), "config"], cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (141, b"")


def test_an_answer_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        ran = subprocess.run([str(SCRIPT), "config"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True)
    assert ran.returncode == 1
    assert ran.stderr.startswith("vgo-agent: Cannot write the answer (No space left on device)")


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_knows_every_command(vgo: Vgo, shell: str) -> None:
    script = vgo("config", "completion", shell).stdout
    assert all(word in script for command in COMMANDS for word in command.split())


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (("dia",), {"diagnose"}),
        (("machine", ""), {"profile", "compare", "calibrate", "run"}),
        (("machine", "pro"), {"profile"}),
        (("config", "completion", ""), {"bash", "zsh", "tcsh"}),
    ],
)
def test_bash_accepts_its_completion_and_completes_with_it(
    vgo: Vgo, words: tuple[str, ...], completed: set[str]
) -> None:
    script = vgo("config", "completion", "bash").stdout
    line = shlex.join(("vgo-agent", *words)).replace("''", "")
    asked = f'COMP_WORDS=({shlex.join(("vgo-agent", *words))}); COMP_CWORD={len(words)}; COMP_LINE="{line}"\n'
    asked += (
        f"COMP_POINT={len(line)}\n"
        'function=$(complete -p vgo-agent | sed "s/.*-F \\([^ ]*\\).*/\\1/")\n"$function"; echo "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(["bash", "-c", script + "\n" + asked], capture_output=True, text=True)
    assert {word for word in done.stdout.split() if word[0] != "-"} == completed


def test_everything_that_is_written_as_data_is_sound(vgo: Vgo) -> None:
    shown = vgo("check", "--json")
    checked = json.loads(shown.stdout)
    parts = ("knowledge", "layers", "columns", "prompts", "tools", "sweeps")
    assert checked["problems"] == {part: [] for part in parts}
    assert (checked["ok"], shown.returncode) == (True, 0)


def test_restore_says_when_nothing_was_left(vgo: Vgo, tmp_path: Path) -> None:
    shown = vgo("restore", "--json", env={"VGO_AGENT_JOURNAL": str(tmp_path / "journal")})
    assert (shown.returncode, set(json.loads(shown.stdout))) == (0, {"restored"})


def test_demo_lists_the_workloads_with_what_is_missing_for_them(vgo: Vgo) -> None:
    listed = json.loads(vgo("demo", "--list", "--json").stdout)["workloads"]
    assert {"cpu-hops", "steady"} <= {workload["name"] for workload in listed}
    assert all(workload.keys() == {"name", "description", "missing"} for workload in listed)


def test_demo_refuses_a_name_that_is_none_and_lists_those_that_are(vgo: Vgo) -> None:
    shown = vgo("demo", "cpu-hope")
    assert shown.returncode == 1
    assert "cpu-hops" in shown.stderr


@pytest.mark.parametrize("before", [(), ("--pairs", "20")])
def test_an_option_after_the_program_is_refused_unless_the_program_is_to_get_it(before, vgo):
    refused = vgo("try", "pin_to_cpu", *before, "true", "--dry-run")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--dry-run stands after the program: put it before, or write --" in refused.stderr
    assert vgo("try", "pin_to_cpu", "--dry-run", *before, "--", "true", "--dry-run").returncode == 0
