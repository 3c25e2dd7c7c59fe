"""Every example of every help is understood, and does what it can do in an empty folder without root."""

import os
import shlex
from pathlib import Path

import pytest

from vgo_agent.agent.cli import chosen, main
from vgo_agent.agent.commands import COMMANDS
from vgo_agent.agent.commands.mitigation_arguments import levels_meant, mitigation_meant, values_meant
from vgo_agent.agent.parser import parser_of
from vgo_agent.knowledge.loader import load
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.parameters import with_values

EIGHT = Machine(cpus=tuple(range(8)))
QUICK = ("mitigations", "explain", "config", "runs", "layers")
"""Commands whose examples are run: they change nothing and need no recorded runs."""
MINE = """\
key: mine
name: Mine
description: d
scope: process
when: w
hurts: h
apply: {environment: {MY: "1"}}
"""


def examples() -> list[tuple[str, ...]]:
    """Give the words of each `vgo-agent` in an example, without what a shell does with its output."""
    found = []
    for command in COMMANDS.values():
        _, _, text = command.load().EPILOG.partition("example")
        for line in text.partition("\n\n")[0].splitlines()[1:]:
            words = shlex.split(line.replace(" && ", " \0 "))
            while "vgo-agent" in words:
                words = words[words.index("vgo-agent") + 1 :]
                end = next((at for at, word in enumerate(words) if word in ("\0", ">")), len(words))
                found.append(tuple(words[:end]))
    return found


def parsed(words):
    command, rest = chosen(words)
    assert command is not None
    return parser_of(command).parse_command(rest)


def test_every_command_has_an_example() -> None:
    assert {command.name for words in examples() if (command := chosen(words)[0])} == set(COMMANDS)


@pytest.mark.parametrize("words", examples(), ids=" ".join)
def test_an_example_is_understood(words: tuple[str, ...]) -> None:
    arguments, known = parsed(words), load()
    assert "--" in words or "--metric" not in getattr(arguments, "command", ()), "it would be the program's"
    if words[0] != "try" or "./mine.yaml" in words:
        return
    plain = mitigation_meant(arguments.mitigation, known)
    with_values(plain, values_meant(arguments.param, plain), EIGHT)
    assert not arguments.search or levels_meant(arguments.search, plain, EIGHT).levels


@pytest.mark.parametrize(
    "words",
    [words for words in examples() if words[0] in QUICK and "--on" not in words and "--embedding" not in words],
    ids=" ".join,
)
def test_an_example_answers(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("CONFIG", "STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    text = MINE if words[0] == "mitigations" else "key: mine\ndescription: d\nrun: env $CMD $ARGS\n"
    Path("mine.yaml").write_text(text)
    Path("bench.sh").write_text("#!/bin/sh\n")
    os.chmod("bench.sh", 0o755)
    if words == ("layers", "./mine.yaml"):
        assert main(["layers", "--trust", "./mine.yaml"]) == 0
    options = ["--no-cost"] if words[0] == "layers" and "--trust" not in words else []
    assert main([words[0], *options, *words[1:]]) == 0, capsys.readouterr().err
    assert capsys.readouterr().out
