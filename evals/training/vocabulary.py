"""Tokens of the small model: a whole word each, so that nothing has to be spelt.

llama.cpp cuts out the tokens that a user defined wherever they stand, the longest first. Each word is one of them, with
the space before it: two words never share a stretch of text, and none is a part of a longer one that was not cut out
before. The tool that an answer begins with stands without the space.
"""

from __future__ import annotations

from typing import NamedTuple

from ...agent.planners.compact import ASK, SPOKEN, WORDS

UNKNOWN, BEGIN, END = 0, 1, 2
IS_UNKNOWN, IS_CONTROL, IS_USERS, IS_BYTE = 2, 3, 4, 6
"""Types of tokens in GGUF."""
TEMPLATE = "{{ bos_token }} {{ messages[-1]['content'] }} " + ASK
"""The chat template: the line as it is, then the word that asks."""


class Token(NamedTuple):
    """One entry of the tokenizer."""

    text: str
    type: int


TOKENS: tuple[Token, ...] = (
    Token("<unk>", IS_UNKNOWN),
    Token("<s>", IS_CONTROL),
    Token("</s>", IS_CONTROL),
    # What is no word falls back to bytes; without them llama.cpp would end the process.
    *(Token(f"<0x{byte:02X}>", IS_BYTE) for byte in range(256)),
    *(Token(f" {word}", IS_USERS) for word in WORDS),
    *(Token(tool, IS_USERS) for tool in SPOKEN),
)
IDS = {token.text: number for number, token in enumerate(TOKENS)}


def question(line: str) -> list[int]:
    """Tokens of a prompt; raises KeyError for a word that is none."""
    return [BEGIN, *(IDS[f" {word}"] for word in line.split()), IDS[f" {ASK}"]]


def reply(answer: str) -> list[int]:
    """Tokens of an answer, the end among them; raises KeyError for a place that has no word."""
    tool, *places = answer.split()
    return [IDS[tool], *(IDS[f" {place}"] for place in places), END]
