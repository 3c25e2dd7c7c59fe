"""How many examples a law has."""

from hypothesis import settings


def examples(times: float) -> int:
    """Give so many times what the profile says: fewer where each is dear, more where few of them tell."""
    profile = settings.default
    assert profile
    return int(times * profile.max_examples)
