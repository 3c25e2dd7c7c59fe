"""A model in a process of its own: whatever ends that process is told in one sentence, and the next question works."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vgo_agent.agent.model.language_model import ModelFailed, ModelProcess

from ...tiny_gguf import CHAT, tiny

WORDS = 'root ::= "yes" | "no"\n'
RAISES = "{{ raise_exception('roles must alternate') }}"
DATED = "{{ strftime_now('%d %b %Y') }} {{ messages[0]['content'] }}"


def asked(content: str = "why", **more: Any) -> dict[str, Any]:
    usual = {"messages": [{"role": "user", "content": content}], "grammar": WORDS, "schema": None}
    return usual | {"most": 20, "temperature": 0.0, "seed": 1} | more


@pytest.fixture
def process(tmp_path: Path) -> Iterator[ModelProcess]:
    with ModelProcess(tiny(tmp_path / "tiny.gguf"), 1024, 1) as process:
        yield process


def pid(process: ModelProcess) -> int:
    process.describe()
    return process.pid


def test_a_killed_process_is_told_and_replaced(process: ModelProcess) -> None:
    first = process.ask(asked(), 60)["text"]
    os.kill(pid(process), signal.SIGSEGV)
    with pytest.raises(ModelFailed, match="SIGSEGV"):
        process.ask(asked(), 60)
    assert process.ask(asked(), 60)["text"] == first


def test_no_answer_in_time_ends_the_call(process: ModelProcess) -> None:
    ended = pid(process)
    os.kill(ended, signal.SIGSTOP)
    with pytest.raises(ModelFailed, match="within"):
        process.ask(asked(), 0.2)
    assert not Path(f"/proc/{ended}").exists()
    assert process.ask(asked(), 60)["ended"] == "stop"


def test_another_thread_cancels_by_ending_the_process(process: ModelProcess) -> None:
    stopped = pid(process)
    os.kill(stopped, signal.SIGSTOP)
    threading.Timer(0.2, os.kill, (stopped, signal.SIGKILL)).start()
    with pytest.raises(ModelFailed, match="SIGKILL"):
        process.ask(asked(), 60)


def test_a_prompt_longer_than_the_context_is_refused_in_words(process: ModelProcess) -> None:
    with pytest.raises(ModelFailed, match=r"more than the context of 1024"):
        process.ask(asked("x" * 3000), 60)
    assert process.ask(asked(), 60)["text"] in {"yes", "no"}


def test_a_bad_grammar_is_refused_and_the_process_lives(process: ModelProcess) -> None:
    before = pid(process)
    with pytest.raises(ModelFailed, match="does not understand the grammar"):
        process.ask(asked(grammar="root ::= missing"), 60)
    assert pid(process) == before and process.ask(asked(), 60)["ended"] == "stop"


@pytest.mark.parametrize(
    ("template", "framed"),
    [
        (CHAT, "chat template"),
        (None, "no chat template"),
        (RAISES, "its chat template fails: roles must alternate"),
        ("{% for %}", "its chat template fails"),
        ("{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", "its chat template fails: maximum recursion depth"),
        ("{{ 'x' * 10000000000000 }}", "its chat template fails: MemoryError"),
        ("{{ 'x' * 1000000000 }}", "its chat template fails: MemoryError"),
        ("{{ 'x' * 2000000 }}", "its chat template fails: it writes 2,000,000 characters"),
        ("{{ messages[7].content.upper() }}", "its chat template fails"),
    ],
    ids=["good", "none", "raises", "broken", "recursion", "all memory", "much memory", "long", "expects more"],
)
@pytest.mark.cells(4)
def test_a_template_is_respected_or_its_absence_said(tmp_path: Path, template: str | None, framed: str) -> None:
    with ModelProcess(tiny(tmp_path / "tiny.gguf", template=template), 1024, 1) as process:
        answer = process.ask(asked(), 60)
    assert answer["framed"].startswith(framed)
    assert answer["text"] in {"yes", "no"}


def test_a_template_that_prints_the_date_is_the_same_on_every_day(tmp_path: Path) -> None:
    with ModelProcess(tiny(tmp_path / "tiny.gguf", template=DATED), 1024, 1) as process:
        dated = process.ask(asked("why"), 60)["prompt_tokens"]
        plain = process.ask(asked("why", messages=[{"role": "user", "content": ""}]), 60)["prompt_tokens"]
    assert (
        dated - plain == len("why") and plain == len("01 Jan 2026 ") + 1
    )  # a token for each byte, and the blank before


def test_what_a_model_is_can_be_asked(process: ModelProcess) -> None:
    facts = process.describe()
    assert facts["context"] == 1024 and facts["threads"] == 1 and facts["batch"] == 512
    assert "llama" in facts["library"] and facts["cpu"]


def test_what_is_no_model_is_told(tmp_path: Path) -> None:
    path = tmp_path / "no.gguf"
    path.write_bytes(b"not a model")
    with (
        ModelProcess(path, 1024, 1) as process,
        pytest.raises(ModelFailed, match=r"^llama-cpp-python [\d.]+ cannot load it$"),
    ):
        process.describe()
