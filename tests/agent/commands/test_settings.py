"""Settings: who is obeyed when several say something, and what is refused."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from vgo_agent.agent.settings import UserSettings
from vgo_agent.tools.statistics.stopping.rules import RULES
from vgo_agent.tools.subject import Limits

Vgo = Callable[..., subprocess.CompletedProcess[str]]
WriteSettings = Callable[[str], Path]


@pytest.fixture
def settings_file(tmp_path: Path) -> WriteSettings:
    """Write the settings file that `vgo` reads."""

    def write(text: str) -> Path:
        path = tmp_path / "config" / "vgo-agent" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


def settings(ran: Any) -> dict[str, Any]:
    assert ran.returncode == 0, ran.stderr
    shown: dict[str, Any] = json.loads(ran.stdout)["settings"]
    return shown


def test_without_anything_said_the_limits_are_those_of_the_code(vgo: Vgo) -> None:
    shown = settings(vgo("config", "--json"))
    assert {setting["origin"] for setting in shown.values()} == {"default"}
    assert Limits(budget_s=shown["budget"]["value"], **_same(shown)) == Limits(layers=("default",))


def _same(shown: dict[str, Any]) -> dict[str, Any]:
    return {name: shown[name]["value"] for name in Limits.model_fields if name in shown}


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("environment", [True, False])
@pytest.mark.parametrize("file", [True, False])
def test_a_flag_goes_before_the_environment_before_the_file(
    vgo: Vgo, settings_file: WriteSettings, flag: bool, environment: bool, file: bool
) -> None:
    if file:
        settings_file("budget = 11\nmin_runs = 40")
    shown = settings(
        vgo(
            "config",
            "--json",
            *(["--budget", "33"] if flag else []),
            env={"VGO_AGENT_BUDGET": "22", "VGO_AGENT_SEED": "9"} if environment else {},
        )
    )
    said = [(flag, 33, "flag"), (environment, 22, "environment"), (file, 11, "file"), (True, 600, "default")]
    _, value, origin = next(one for one in said if one[0])
    assert shown["budget"] == {"value": value, "origin": origin}
    assert shown["min_runs"]["value"] == (40 if file else 30)
    assert shown["seed"]["value"] == (9 if environment else 1)


def test_every_setting_can_be_given_in_the_file_and_in_the_environment(vgo: Vgo, settings_file: WriteSettings) -> None:
    shown = settings(vgo("config", "--json"))
    said = {"timeout": 2.5, "stop_at": 1.5, "planner": "llama", "model": "shipped", "accept": ["tmpfs_directory"]}
    given = {name: setting["value"] for name, setting in shown.items()} | said
    settings_file("\n".join(f"{name} = {json.dumps(value)}" for name, value in given.items()))
    from_file = settings(vgo("config", "--json"))
    words = {name: ",".join(value) if isinstance(value, list) else str(value) for name, value in given.items()}
    from_environment = settings(vgo("config", "--json", env={f"VGO_AGENT_{n.upper()}": w for n, w in words.items()}))
    assert from_file == {name: {"value": value, "origin": "file"} for name, value in given.items()}
    assert from_environment == {name: {"value": value, "origin": "environment"} for name, value in given.items()}


def test_the_help_names_the_defaults_that_hold(vgo: Vgo) -> None:
    shown = settings(vgo("config", "--json"))
    options = vgo("diagnose", "--help", env={"COLUMNS": "400"}).stdout.split("\n  --")
    named = dict(re.findall(r"^([a-z-]+) .*\(default ([^)]+)\)", "\n".join(" ".join(o.split()) for o in options), re.M))
    assert {"budget", "min-runs", "allow", "out"} <= named.keys()
    for flag, value in named.items():
        held = shown["layers" if flag == "layer" else flag.replace("-", "_")]["value"]
        assert str(held[0] if isinstance(held, list) else held).removesuffix(".0") == value


@pytest.mark.parametrize("name", ["allow", "on_failure", "planner", "stop"])
def test_the_help_names_the_choices_that_are_accepted(vgo: Vgo, name: str) -> None:
    choices = filter(None, get_args(UserSettings.model_fields[name].annotation))  # empty: nothing is said
    flag = f"--{name.replace('_', '-')}"
    assert f"{flag} {{{','.join(choices)}}}" in vgo("config", "--help").stdout


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("budgett = 3", "has the unknown key budgett; did you mean budget?"),
        ("zebra = 3", "has the unknown key zebra; known are "),
        ("budget = -1", "is -1, but it should be greater than 0"),
        ("budget = inf", "is inf, but it should be a finite number"),
        ("budget = 'much'", "is 'much', but it should be a valid number"),
        ("layers = 'process'", "is 'process', but it should be a list"),
        ("budget", "is not TOML (Expected '=' after a key"),
    ],
)
def test_a_broken_file_is_refused_with_file_key_and_cure(
    vgo: Vgo, settings_file: WriteSettings, text: str, says: str
) -> None:
    path = settings_file(text)
    shown = vgo("runs")
    assert (shown.returncode, shown.stdout, shown.stderr.count("\n")) == (1, "", 1)
    assert str(path) in shown.stderr
    assert says in shown.stderr


def test_a_file_that_cannot_be_read_as_text_is_refused(vgo: Vgo, settings_file: WriteSettings) -> None:
    settings_file("").write_bytes(b"\xff\xfe")
    assert "is not TOML" in vgo("runs").stderr


def test_a_folder_in_the_place_of_the_file_is_refused(vgo: Vgo, settings_file: WriteSettings) -> None:
    path = settings_file("")
    path.unlink()
    path.mkdir()
    assert f"vgo-agent: {path} cannot be read (Is a directory)" in vgo("runs").stderr


def test_a_wrong_value_names_whoever_gave_it(vgo: Vgo) -> None:
    assert "VGO_AGENT_MIN_RUNS is 'x', but" in vgo("config", env={"VGO_AGENT_MIN_RUNS": "x"}).stderr
    assert "--min-runs is 1, but" in vgo("config", "--min-runs", "1").stderr


def test_a_misspelt_variable_is_refused_and_that_of_another_room_is_not(vgo: Vgo, tmp_path: Path) -> None:
    assert "did you mean VGO_AGENT_BUDGET?" in vgo("config", env={"VGO_AGENT_BUDGT": "3"}).stderr
    assert vgo("config", env={"VGO_AGENT_JOURNAL": str(tmp_path)}).returncode == 0
    assert settings(vgo("config", "--json", env={"VGO_AGENT_BUDGET": ""}))["budget"]["origin"] == "default"


def test_words_show_every_setting_with_its_origin(vgo: Vgo, tmp_path: Path) -> None:
    shown = vgo("config", "--budget", "5").stdout
    assert re.search(r"^budget +5 +flag$", shown, re.MULTILINE)
    assert re.search(r"^timeout +none +default$", shown, re.MULTILINE)
    assert shown.endswith(f"file: {tmp_path}/config/vgo-agent/config.toml (not there)\n")


def test_the_help_says_what_each_stopping_rule_takes(vgo: Vgo) -> None:
    shown = " ".join(vgo("config", "--help").stdout.split())
    for rule in RULES.values():
        assert re.search(rf"{rule.name} {re.escape(rule.meaning)} \({rule.target:g}\)", shown), rule.name
