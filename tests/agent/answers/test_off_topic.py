"""What no passage is about is not answered with the nearest ones, however technical the question is."""

from __future__ import annotations

import pytest

OFF_TOPIC = (
    "how do I install CUDA?",
    "what is the capital of Peru?",
    "which editor is best?",
    "is my wife happy?",
    "how do I merge two git branches?",
    "how do I write a for loop in python?",
    "what is kubernetes?",
    "what is quicksort?",
    "how do I mount a usb stick?",
    "how do I debug a segmentation fault?",
    "how do I deploy a web server?",
    "which linux distribution should I install?",
    "what is the price of bitcoin?",
    "would chess help?",
    "how old are you?",
    "is the cat slow?",
)
ON_TOPIC = (
    "does the cache matter?",
    "are there lock problems?",
    "would disabling turbo help?",
    "what does garbage collection do?",
    "what about background processes?",
    "does the file system matter?",
    "is there packet loss?",
)


@pytest.mark.parametrize("question", OFF_TOPIC)
def test_what_no_passage_is_about_is_said_to_be_unknown(talk, question: str) -> None:
    answer = talk().ask(question)
    assert not answer.known, answer.prose
    assert answer.text().startswith("I do not know") and not answer.steps


@pytest.mark.parametrize("question", ON_TOPIC)
def test_what_a_passage_is_about_is_still_answered(talk, question: str) -> None:
    assert talk().ask(question).known
