"""The outcome in words: a metric is a regular expression, and a picture has room for a name."""

from __future__ import annotations

import re

WALL_TIME, UNNAMED = "wall time", "outcome"
_GROUP = re.compile(r"(?<!\\)\((?!\?[:=!<])")
"""The first group that captures."""
_NOT_TEXT = re.compile(r"\\[A-Za-z]|\[(?:\\.|[^\]])*\]|\{[^}]*\}|[\\^$*+?.|()]")
"""Classes, quantifiers and anchors: what matches, and is not what the program prints."""
_ESCAPED = re.compile(r"\\(\s)")
_WORDS = re.compile(r"[^\W\d_][\w/%-]*(?: [^\W\d_][\w/%-]*)*")


def outcome_name(metric: str | None, unit: str) -> str:
    """Name an outcome by what the program prints before the number, else after it, without the unit.

    `time_ms: ([0-9.]+)` in ms is `time`, `([0-9]+) requests` is `requests`; no metric is the wall time.
    """
    if metric is None:
        return WALL_TIME
    group = _GROUP.search(metric)
    before, after = (metric, "") if group is None else (metric[: group.start()], metric[group.end() :])
    found = [*reversed(_words(before, unit)), *_words(after.partition(")")[2], unit)]
    return found[0] if found else UNNAMED


def _text(pattern: str) -> str:
    """Leave what is printed as it stands, with a line end for all that is matched."""
    return _NOT_TEXT.sub("\n", _ESCAPED.sub(r"\1", pattern))


def _words(pattern: str, unit: str) -> list[str]:
    """List the stretches of words in part of a pattern; a unit is none."""
    ending = re.compile(rf"(?:^|[\s_]){re.escape(unit)}$", re.IGNORECASE) if unit else re.compile(r"(?!)")
    stretches = (ending.sub("", stretch).strip() for stretch in _WORDS.findall(_text(pattern)))
    return [stretch for stretch in stretches if stretch]
