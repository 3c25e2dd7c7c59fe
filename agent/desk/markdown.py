"""Words as Markdown that fits any width, and Markdown as a screen reader should hear it."""

from __future__ import annotations

import re

_TABLE = re.compile(r"\S {3,}\S")
"""Columns that are aligned by blanks."""
_NUMBERED = re.compile(r"\d+\. ")
_FURTHER = 6
"""Blanks before a line that goes on with the item above."""


def as_markdown(words: str) -> str:
    """Make paragraphs, bold titles, bullets, and fenced tables of blocks that blank lines divide."""
    return "\n\n".join(_block(block.splitlines()) for block in words.split("\n\n") if block.strip())


def _block(lines: list[str]) -> str:
    if not any(line.startswith("  ") for line in lines):
        return _escaped(" ".join(lines))
    title, rest = (lines[0], lines[1:]) if not lines[0].startswith(" ") else ("", lines)
    head = f"**{_escaped(title)}**\n\n" if title else ""
    if any(_TABLE.search(line) for line in rest):
        return f"{head}```text\n" + "\n".join(rest) + "\n```"
    return head + "\n".join(map(_item, _items(rest)))


def _item(item: str) -> str:
    """Keep the number of an item, and put what belongs to it below it."""
    if _NUMBERED.match(item):
        return _escaped(item)
    return f"{'   ' if item.startswith('   ') else ''}- {_escaped(item.strip().removeprefix('- '))}"


def _items(lines: list[str]) -> list[str]:
    """Join an item with the lines that go on with it."""
    items: list[str] = []
    for line in lines:
        if items and line.startswith(" " * _FURTHER):
            items[-1] += f" {line.strip()}"
        else:
            items.append(line.removeprefix("  "))
    return items


def _escaped(text: str) -> str:
    """Keep what stands in backquotes as it is, and take its meaning from every other mark."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(one if place % 2 else re.sub(r"([\\`*_\[\]<])", r"\\\1", one) for place, one in enumerate(parts))


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
