"""How the small model that comes along was made: states, training, export, judgement. `python -m` runs it all."""
