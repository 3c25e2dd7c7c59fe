"""A run that the front door made, from the first measurement to the answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from vgo_agent.agent.answers.answer import objections
from vgo_agent.agent.answers.conversation import Conversation
from vgo_agent.agent.conduct import finished_run
from vgo_agent.agent.run_folder import RunFolder
from vgo_agent.agent.transcript import Transcript, read
from vgo_agent.knowledge.loader import load

from .test_answers import MORE, SCEPTICAL

VARIES = """
import os, time
block = b"x" * ((24 << 20) if os.urandom(1)[0] < 90 else (1 << 20))
"""


@pytest.mark.slow
def test_every_answer_over_a_real_run_is_borne_out(vgo, script: Callable[[str, str], Path]) -> None:
    options = ("--max-runs", "40", "--budget", "600", "--max-mitigations", "2", "--json")
    done = vgo("diagnose", *options, str(script("varies.py", VARIES)))
    assert done.returncode == 0, done.stderr
    folder = RunFolder(Path(json.loads(done.stdout)["run_dir"]))
    run = finished_run(folder, Transcript(None, read(folder.transcript)), load())
    with Conversation(run, run.knowledge.digest) as conversation:
        for question in (*SCEPTICAL, *MORE):
            answer = conversation.ask(question)
            assert answer.known and not answer.dropped, question
            assert objections(answer.prose, answer.facts) == []
            assert all(fact.events or fact.sources for fact in answer.facts)
