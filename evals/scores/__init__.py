"""Scores of answers, what they come to over cases and seeds, and how that is shown."""
