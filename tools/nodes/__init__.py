"""Runs of many machines: which node is slow or unsteady, and what goes with it, within nodes and between them."""
