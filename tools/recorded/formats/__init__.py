"""The formats that a run table may have, one a file."""
