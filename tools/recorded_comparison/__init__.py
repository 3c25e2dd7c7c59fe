"""Conditions of recorded run tables against each other."""
