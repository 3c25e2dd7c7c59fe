"""The error that a user can mend."""


class VgoError(Exception):
    """Say in one sentence what is wrong and, after it, what cures it: printed on stderr, exit 1."""
