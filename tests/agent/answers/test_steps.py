"""A proposed command is one that this program understands, for the same program with the same meaning."""

from __future__ import annotations

import shlex

import pytest

from vgo_agent.agent.answers import fact
from vgo_agent.agent.cli import chosen
from vgo_agent.agent.commands.options import DeclaredCommand
from vgo_agent.agent.commands.try_ import TryCommand
from vgo_agent.agent.parser import parser_of
from vgo_agent.agent.report.evidence import gather
from vgo_agent.knowledge.loader import load
from vgo_agent.tools.subject import Subject

from ..report.conftest import MAKERS, mitigated
from .test_answers import MORE, SCEPTICAL

KNOWN = load()
SUBJECTS = (
    Subject(command=("./bench.sh", "--size", "a b"), argv=("/w/bench.sh", "--size", "a b"), directory="/w"),
    Subject(command=("echo 'a  b' | ./x",), argv=("/bin/sh", "-c", "echo 'a  b' | ./x"), directory="/w", shell=True),
    Subject(
        command=("./x", "-1"),
        argv=("/w/x", "-1"),
        directory="/w",
        metric="ops: ([0-9]+)",
        unit="ops",
        lower_is_better=False,
        launcher="taskset:cpus=0",
    ),
)


def parsed(typed: str) -> DeclaredCommand:
    words = shlex.split(typed)
    assert words[0] == "vgo-agent"
    command, rest = chosen(words[1:])
    assert command is not None
    return parser_of(command).parse_command(rest)


@pytest.mark.parametrize("subject", SUBJECTS, ids=("words", "shell", "metric"))
def test_a_try_is_of_the_same_program_judged_in_the_same_way(subject: Subject) -> None:
    arguments = parsed(fact.attempt("pin_to_cpu", gather(mitigated(subject))).command)
    assert isinstance(arguments, TryCommand)
    assert (arguments.mitigation, arguments.command) == ("pin_to_cpu", subject.command)
    assert (arguments.shell, arguments.metric) == (subject.shell, subject.metric)
    assert arguments.higher_is_better is not subject.lower_is_better
    assert arguments.flags.get("launcher", "local") == subject.launcher


@pytest.mark.parametrize("verdict", MAKERS)
def test_every_proposal_of_every_answer_is_understood(talk, verdict: str) -> None:
    conversation = talk(verdict)
    for question in (*SCEPTICAL, *MORE):
        for step in conversation.ask(question).steps:
            if step.command.startswith("vgo-agent "):
                parsed(step.command)
            assert step.why and "\n" not in step.command


def test_no_mitigation_is_proposed_that_is_not_known(talk) -> None:
    for question in SCEPTICAL:
        for step in talk().ask(question).steps:
            words = shlex.split(step.command)
            if words[:2] == ["vgo-agent", "try"]:
                assert words[2] in KNOWN.mitigations
