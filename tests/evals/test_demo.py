"""The demo says what it does and for how long, and what it tells to type next can be typed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vgo_agent.evals.demo import next_commands, opening, typed
from vgo_agent.evals.workloads.named import named, named_programs
from vgo_agent.evals.workloads.registry import LACKS, find
from vgo_agent.knowledge.errors import VgoError

Vgo = Callable[..., Any]
SHORT = {"VGO_AGENT_BUDGET": "600", "VGO_AGENT_MIN_RUNS": "20", "VGO_AGENT_MAX_RUNS": "24", "VGO_AGENT_ALLOW": "none"}


def test_it_tells_the_program_the_time_and_what_is_changed() -> None:
    said = opening(find("cpu-hops"), steady=False, budget_s=90, allow="process")
    assert "cpu-hops hops over its allowed CPUs" in said and "right is `remedy confirmed`, by pin_to_cpu." in said
    assert "at most 90 s (--budget). No setting of this machine is changed." in said


def test_a_demo_that_may_change_settings_says_so() -> None:
    said = opening(find("sync-writes"), steady=True, budget_s=30, allow="system")
    assert "No setting" not in said and "at most 30 s" in said and "put back" in said
    assert "sync-writes is the steady twin" in said


@pytest.mark.parametrize("name", named_programs())
def test_a_named_program_prints_its_metric(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = named(name)
    if program.package and not shutil.which(program.words[0]):
        pytest.skip(f"{program.package} is not installed")
    if program.source and (reason := LACKS["openmp"]()):
        pytest.skip(reason)
    done = subprocess.run(program.subject().argv, capture_output=True, text=True, check=True)
    (number,) = re.findall(program.metric, done.stdout, re.MULTILINE)
    assert float(number) > 0 and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--program", "nix"), "There is no program 'nix'; choose one of 7z, stream"),
        (("cpu-hops", "--program", "numpy"), "leave NAME and --steady out"),
    ],
)
def test_a_program_that_is_not_known_or_one_of_two_is_refused(vgo: Vgo, words: tuple[str, ...], said: str) -> None:
    done = vgo("demo", *words)
    assert done.returncode == 1 and said in done.stderr


def test_a_named_program_that_is_not_installed_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(VgoError, match="7z is not installed: apt install p7zip-full"):
        named("7z").subject()


@pytest.mark.parametrize(("attended", "chat"), [(True, "chat vgo-runs/1"), (False, "chat --plain vgo-runs/1")])
def test_the_chat_is_one_that_can_be_opened_from_there(attended: bool, chat: str) -> None:
    assert f"\n  uv run vgo-agent {chat}\n" in next_commands(Path("vgo-runs/1"), "uv run vgo-agent", attended)


@pytest.mark.slow
def test_what_it_tells_to_type_next_works_when_typed(vgo: Vgo, tmp_path: Path) -> None:
    shown = vgo("demo", env=SHORT)
    assert shown.returncode == 0
    assert shown.stderr.startswith("A demo: ")
    told = [line.strip() for line in shown.stdout.split("What to try next:\n")[1].split("\n")]
    typed = [line for line in told if "vgo-agent " in line]
    assert [any(f" {name} " in line for line in typed) for name in ("diagnose", "analyze", "chat")] == [True] * 3
    environment = SHORT | {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    for line in typed:
        done = subprocess.run(
            line, shell=True, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{line}: {done.stderr}"
        assert done.stdout


def test_a_command_that_a_program_started_by_its_bare_name_is_told_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["vgo-agent", "demo"])
    monkeypatch.delenv("UV_RUN_RECURSION_DEPTH", raising=False)
    assert typed() == "vgo-agent"
