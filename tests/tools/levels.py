"""What chance allows of a level that is simulated."""

from scipy.stats import binom


def most(draws: int, level: float) -> int:
    """Say how many of so many draws may show what has a chance of `level`: more come by luck once in 100 at most."""
    return int(binom.isf(1 / 100, draws, level))
