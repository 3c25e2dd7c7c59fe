"""Planners: who chooses the next legal call."""
