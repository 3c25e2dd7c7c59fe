"""A real llama.cpp with random weights formulates: it keeps to the grammar, and nothing false is said."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vgo_agent.agent.answers.answer import objections
from vgo_agent.agent.answers.speaker import Speaker
from vgo_agent.agent.model.language_model import ModelProcess
from vgo_agent.knowledge.loader import load

from ...conftest import Vgo
from ...tiny_gguf import tiny
from .test_answers import SCEPTICAL

pytest.importorskip("llama_cpp")
KNOWN = load()
CONTEXT = 12_000
"""Every byte of a prompt is a token for so small a model."""
FOLDER = Callable[[str], Path]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny(tmp_path_factory.mktemp("model") / "tiny.gguf", context=CONTEXT)


@pytest.fixture(scope="module")
def speaker(model: Path) -> Iterator[Speaker]:
    with ModelProcess(model, CONTEXT, 1) as process:
        yield Speaker(process, "tiny", 120.0)


@pytest.mark.parametrize("question", SCEPTICAL)
def test_random_weights_say_nothing_that_is_not_borne_out(talk, speaker: Speaker, question: str) -> None:
    answer = talk(speaker=speaker).ask(question)
    assert answer.by == "tiny" and not answer.passed_over
    assert objections(answer.prose, answer.facts) == []
    assert not answer.dropped


def test_the_same_question_gets_the_same_words(talk, speaker: Speaker) -> None:
    first, again = (talk(speaker=speaker).ask("why is this slow?") for _ in range(2))
    assert first.prose == again.prose


def test_a_context_that_is_too_small_is_told_and_the_templates_answer(talk, model: Path) -> None:
    with ModelProcess(model, 512, 1) as process:
        answer = talk(speaker=Speaker(process, "tiny")).ask("why is this slow?")
    assert answer.by == "templates" and "more than the context" in answer.passed_over


def test_the_command_lets_the_model_that_is_named_speak(vgo: Vgo, folders: FOLDER, cache: Path, model: Path) -> None:
    words = ("--model", str(model), "--json", "did pin_to_cpu help?")
    done = vgo("ask", str(folders("confirmed")), *words, env={"XDG_CACHE_HOME": str(cache)})
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["by"] == '"tiny.gguf"' or "context" in said["passed_over"]


@pytest.mark.parametrize("content", [b"", b"GGUF", b"not a model", b"GGUF" + bytes(200)])
def test_what_is_no_model_is_refused_in_one_sentence(
    vgo: Vgo, folders: FOLDER, cache: Path, tmp_path: Path, content: bytes
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(content)
    done = vgo("ask", str(folders("confirmed")), "--model", str(broken), "why?", env={"XDG_CACHE_HOME": str(cache)})
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
