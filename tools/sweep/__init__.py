"""Sweeps: run a program over a space of settings, and keep what each setting gave."""
