"""How many runs are enough."""
