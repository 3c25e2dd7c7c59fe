"""Import what later questions need, while nobody waits."""

from __future__ import annotations


def warm() -> dict[str, str]:
    """Load the libraries of analysis."""
    import sklearn.tree  # noqa: F401 - loaded for the duties to come

    from ...tools import fit_tree, rank_factors  # noqa: F401

    return {}
