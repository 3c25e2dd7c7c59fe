"""Runs that were made before: what each was, two of them side by side, and taking one away; no screen."""
