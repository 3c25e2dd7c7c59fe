"""Every duty of the desk: JSON in, JSON out; its libraries are imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .answering import ask, explain, named, source
from .recorded import export, recorded


def warm() -> dict[str, str]:
    """Load the libraries of analysis."""
    import sklearn.tree  # noqa: F401 - loaded for the duties to come

    from ...tools import fit_tree, rank_factors  # noqa: F401

    return {}


def look(asked: str) -> str:
    """Answer what the tabs ask about a table; arrays travel packed."""
    from ..look.open_table import look as answered

    return answered(asked)


DUTIES: dict[str, Callable[..., Any]] = {
    "warm": warm,
    "ask": ask,
    "explain": explain,
    "named": named,
    "source": source,
    "recorded": recorded,
    "export": export,
    "look": look,
}
