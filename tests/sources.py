"""The sources of the product, parsed once for all tests that read them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("agent", "tools", "layers", "knowledge", "evals")


@cache
def sources() -> dict[Path, str]:
    """Give the text of every module, in the order of their names."""
    return {file: file.read_text() for room in ROOMS for file in sorted((ROOT / room).rglob("*.py"))}


@cache
def parsed() -> dict[Path, ast.Module]:
    """Give the tree of every module."""
    return {file: ast.parse(text) for file, text in sources().items()}
