"""Commands of the documents: all are understood, and those of guides do what they say, beside small programs."""

from __future__ import annotations

import random
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from vgo_agent.agent.cli import chosen
from vgo_agent.agent.commands import COMMANDS, Subcommand
from vgo_agent.agent.parser import parser_of

from .conftest import Vgo
from .test_docs import DOCUMENTS, EACH_DOCUMENT, ROOT

GUIDES = sorted(page for page in DOCUMENTS if page.parent.name in ("guide", "reference") or page == ROOT / "README.md")
BLOCK = re.compile(r"(?:<!-- not run: ([^>]+) -->\n)?^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(vgo-agent [^`]+)`")
DRAW = """\
#!/bin/sh
n=$(cat .drawn 2>/dev/null || echo 1); n=$(((n * 1103515245 + 12345) % 2147483648)); echo $n >.drawn
ms=$((10 + n / 65536 % 8 * (n / 1048576 % 3))).$((n / 16 % 997))
"""
"""A number of the times that runs printed before: each run another one, and all of them the same in each test."""
PROGRAMS = {
    "bench.sh": 'echo "time: $ms ms"\n',
    "solver": 'echo "$ms"\n',
    "old": 'echo "$ms"\n',
    "new": 'echo "$ms"\n',
    "pipeline": "echo total_ms,parse_ms\nfor i in 1 2 3 4 5 6 7 8; do echo $ms$i,$i; done\n",
}
ENVIRONMENT = {
    "VGO_AGENT_LAYERS": "process",
    "VGO_AGENT_MIN_RUNS": "20",
    "VGO_AGENT_MAX_RUNS": "30",
    "VGO_AGENT_MAX_MITIGATIONS": "1",
}
"""Small ones, from the environment, so that commands stand in the guides as users type them."""


class Block(NamedTuple):
    """Lines for a shell in a page."""

    why_not: str
    """Why they are not run; empty: they are."""
    lines: tuple[str, ...]


class Command(NamedTuple):
    """What a line has our program do."""

    words: tuple[str, ...]
    output: str
    """The file that gets what it prints; empty: none."""


def blocks(page: Path) -> list[Block]:
    """Give the lines for a shell of a page; one that goes on in the next is one."""
    return [
        Block(why, tuple(line for line in text.replace("\\\n", " ").splitlines() if line.strip()))
        for why, text in BLOCK.findall(page.read_text())
    ]


def words_of(line: str) -> list[str]:
    """Part a line as a shell does: a character that means something to it is a word of its own."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="&|>")
    lexer.whitespace_split = True
    return list(lexer)


def commands(line: str) -> Iterator[Command]:
    """Give each `vgo-agent` of a line, with the file that gets its output."""
    words = words_of(line)
    while "vgo-agent" in words:
        words = words[words.index("vgo-agent") + 1 :]
        end = next((at for at, word in enumerate(words) if word in ("&&", "|", ">")), len(words))
        yield Command(tuple(words[:end]), words[end + 1] if words[end : end + 1] == [">"] else "")


RUN = [page for page in GUIDES if any(not block.why_not for block in blocks(page))]


@EACH_DOCUMENT
def test_commands_are_understood(page: Path) -> None:
    for line in (line for block in blocks(page) for line in block.lines):
        for words, _ in commands(line):
            command, rest = chosen(words)
            assert command, line
            parser_of(command).parse_command(rest)


@EACH_DOCUMENT
def test_what_the_text_says_to_type_exists(page: Path) -> None:
    for said in INLINE.findall(page.read_text()):
        words = re.split(r"[\s=]+", said)[1:]
        if words[0].startswith("-") or words[0].isupper():
            continue
        command, rest = chosen(words)
        below = [one for name, one in COMMANDS.items() if name.startswith(f"{words[0]} ")]
        assert command or below, said
        known = {flag for one in filter(None, [command]) for flag in flags(one)}
        assert not command or {word for word in rest if word.startswith("--") and word != "--"} <= {*known, "--help"}, (
            said
        )


@cache
def flags(command: Subcommand) -> list[str]:
    """Give the options of a command."""
    return [flag for action in parser_of(command).declared for flag in action.option_strings]


def test_a_shell_line_is_parted_as_a_shell_does() -> None:
    line = "vgo-agent measure --metric '([0-9.]+) a>b' ./x && vgo-agent compare a b --json >c.json  # why"
    first, second = commands(line)
    assert first.words == ("measure", "--metric", "([0-9.]+) a>b", "./x") and not first.output
    assert second == (("compare", "a", "b", "--json"), "c.json")


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with the programs and tables that guides speak of."""
    folder = tmp_path_factory.mktemp("guides")
    for name, text in PROGRAMS.items():
        (folder / name).write_text(DRAW + text)
        (folder / name).chmod(0o755)
    space = (ROOT / "docs/guide/which-setting.md").read_text().partition("```yaml\n")[2].partition("```")[0]
    (folder / "space.yaml").write_text(space)
    draw = random.Random(1)
    for name, spread in {"before.csv": 2.0, "after.csv": 1.0, "runs.csv": 1.0}.items():
        rows = (
            f"{draw.gauss(20, spread)},{draw.random()},{row // 2},{('O2', 'O3')[row % 2]},h{row % 4 // 2},4"
            for row in range(80)
        )
        (folder / name).write_text("time_s,faults,trial,flags,host,cores\n" + "\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="session")
def done() -> dict[Command, Path | None]:
    """Give what was done already, with the run folder that it left: pages share their runs."""
    return {}


def newest(place: Path) -> Path | None:
    """Find the run folder that was made last."""
    made = [run.parent for run in place.glob("vgo-runs/*/transcript.jsonl")]
    return max(made, key=lambda run: run.stat().st_ctime_ns, default=None)


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
@pytest.mark.cells(5)
def test_the_commands_of_a_guide_do_what_they_say(
    page: Path, place: Path, done: dict[Command, Path | None], vgo: Vgo
) -> None:
    run: Path | None = None
    for line in (line for block in blocks(page) if not block.why_not for line in block.lines):
        assert words_of(line)[0] == "vgo-agent", f"{line}: say <!-- not run: WHY --> before the block"
        for command in commands(line):
            words, output = command
            if "RUN" in words:
                assert run, line
                words = tuple(str(run.relative_to(place)) if word == "RUN" else word for word in words)
            elif command in done:
                run = done[command] or run
                continue
            before = newest(place)
            told = vgo(*words, cwd=place, env=ENVIRONMENT)
            assert told.returncode == 0, (line, told.stdout, told.stderr)
            if output:
                (place / output).write_text(told.stdout)
            done[command] = made = newest(place) if newest(place) != before else None
            run = made or run
