"""A conversation about a run, apart from any screen: what is meant by a line, and what is done about it."""
