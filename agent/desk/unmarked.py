"""Markdown as a screen reader should hear it: the words, without the marks."""

from __future__ import annotations

import re

_LINK = re.compile(r"\[((?:\\.|[^\]\\])*)\]\([^)]*\)")
_RULE = re.compile(r"\|?[\s:|-]+\|?")
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+.!|-])")


def unmarked(markdown: str) -> list[str]:
    """Give plain lines: links as their text, a table row as its cells, no fences, no stars."""
    lines: list[str] = []
    fenced = False
    for line in markdown.strip("\n").split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced:
            lines.append(line)
        elif not ("|" in line and _RULE.fullmatch(line.strip())):
            lines.append(_plain(line))
    return lines


def _plain(line: str) -> str:
    text = _LINK.sub(r"\1", line)
    text = re.sub(r"^\s{0,3}#{1,6}\s+", "", text)
    text = re.sub(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1", r"\2", text)
    text = re.sub(r"(?<![\w*])\*(?=\S)([^*]+?)(?<=\S)\*(?!\w)", r"\1", text)
    text = re.sub(r"`([^`]+)`", r"\1", text)
    if text.strip().startswith("|"):
        cells = (cell.strip() for cell in re.split(r"(?<!\\)\|", text.strip().strip("|")))
        text = ": ".join(filter(None, cells))
    return _ESCAPED.sub(r"\1", text)
