"""Spawn runs, decide when enough have been seen, interleave conditions."""
