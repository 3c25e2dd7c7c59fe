"""Words that were laid out for a terminal, as Markdown that fits any width."""

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
