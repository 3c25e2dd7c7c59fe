"""Templates as files, one renderer."""
