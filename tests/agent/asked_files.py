"""A layer and spaces of parameters to sweep, for tests that run a program of their own."""

from __future__ import annotations

LAYER = """\
key: said
description: What the program says.
columns:
  - {name: said.waits, unit: count, description: Waits., extract: {regex: "waits=(.*)"}}
"""
_SPACE = """\
metric: 'value ([0-9.]+)'
unit: ms
command: [./program.sh, "{{size}}"]
repetitions: {{least: 5, most: {most}}}
parameters:
"""


def grid(most: int) -> str:
    """Two sizes with two tunables each, run at most so often."""
    levels = "  size: {levels: [1, 3]}\n  tunables: {levels: [x=1, x=2], environment: GLIBC_TUNABLES}\n"
    return _SPACE.format(most=most) + levels


def adaptive(most: int, cells: int) -> str:
    """Sizes of which so many are chosen one after the other."""
    size = "  size: {range: {low: 1, high: 60, integer: true}}\n"
    design = f"design: {{kind: adaptive, cells: {cells}, start: 4, batch: 2, response: sd}}\n"
    return f"{_SPACE.format(most=most)}{size}{design}"
