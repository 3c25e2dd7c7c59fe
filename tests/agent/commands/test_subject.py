"""From a command line to what is spawned: options of ours before COMMAND, everything after it the program's."""

import os
from pathlib import Path

import pytest

from vgo_agent.agent.commands import COMMANDS
from vgo_agent.agent.commands.diagnose import DiagnoseCommand
from vgo_agent.agent.commands.subject import short_name, subject_of
from vgo_agent.agent.parser import parser_of
from vgo_agent.agent.settings import UserSettings
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.subject import Subject


def subject(*words: str) -> Subject:
    told = parser_of(COMMANDS["diagnose"]).parse_command(words)
    assert isinstance(told, DiagnoseCommand)
    return subject_of(told, UserSettings(timeout=3))


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["/bin/echo"], ["/bin/echo"]),
        (["/bin/echo", "--json", "-q", "--metric"], ["/bin/echo", "--json", "-q", "--metric"]),
        (["--", "/bin/echo", "--help"], ["/bin/echo", "--help"]),
        (["--seed", "3", "--", "/bin/echo", "--", "-1"], ["/bin/echo", "--", "-1"]),
        (["--json", "/bin/echo", "-1", ""], ["/bin/echo", "-1", ""]),
        (["/bin/echo", "--version", "--", "--seed=x"], ["/bin/echo", "--version", "--", "--seed=x"]),
    ],
)
def test_what_follows_the_command_belongs_to_the_program(words: list[str], command: list[str]) -> None:
    assert list(subject(*words).command) == command
    assert list(subject(*words).argv) == command


def test_wall_time_in_seconds_is_the_outcome_unless_a_number_is_named() -> None:
    plain = subject("/bin/echo")
    assert (plain.metric, plain.unit, plain.lower_is_better) == (None, "s", True)
    named = subject("--metric", "rate (.*)", "--unit", "MB/s", "--higher-is-better", "/bin/echo")
    assert (named.metric, named.unit, named.lower_is_better) == ("rate (.*)", "MB/s", False)
    assert subject("--metric", "(.*)", "/bin/echo").unit == ""


def test_settings_reach_the_subject() -> None:
    assert (subject("/bin/echo").timeout_s, subject("/bin/echo").on_failure) == (3, "count")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "No command was given"),
        (["--"], "No command was given"),
        (["--metric", "(", "/bin/echo"], "--metric '(' is not a regular expression"),
        (["--unit", "ms", "/bin/echo"], "--unit says how to read a number"),
        (["--higher-is-better", "/bin/echo"], "--higher-is-better says how to read a number"),
        (["--input", "/nowhere", "/bin/echo"], "There is no file /nowhere"),
        (["/nowhere"], "There is no program /nowhere"),
        (["/etc/passwd"], "/etc/passwd is not executable"),
    ],
)
def test_what_cannot_work_is_refused_before_the_first_run(words: list[str], says: str) -> None:
    with pytest.raises(VgoError, match=says.replace("(", r"\(")):
        subject(*words)


def test_files_among_the_arguments_are_inputs(tmp_path: Path) -> None:
    one, two, three = (tmp_path / name for name in ("one", "two three", "four"))
    for path in (one, two, three):
        path.write_text("")
    found = subject("--input", str(three), "/bin/echo", str(one), f"--file={two}", str(tmp_path), "x" * 5000, str(one))
    assert found.inputs == (str(one), str(two), str(three))
    assert subject("--shell", f"cat {one} '{two}' | wc").inputs == (str(one), str(two))


def test_an_input_is_found_from_anywhere_later() -> None:
    here = os.path.relpath(__file__)
    assert subject("/bin/echo", here).inputs == (os.path.abspath(__file__),)


def test_a_shell_line_goes_to_the_shell_as_it_stands() -> None:
    assert subject("--shell", "echo a | wc -c").argv == ("/bin/sh", "-c", "echo a | wc -c")


@pytest.mark.parametrize(
    ("command", "shell", "name"),
    [
        (["./bench.sh", "x"], False, "bench.sh"),
        (["/opt/a b/ c*d"], False, "c-d"),
        (["sort big.txt | uniq"], True, "sort"),
        (["it's"], True, "it-s"),
        (["./.."], False, "command"),
        (["x" * 300], False, "x" * 40),
    ],
)
def test_a_run_folder_is_named_after_the_program(command: list[str], shell: bool, name: str) -> None:
    assert short_name(command, shell) == name
