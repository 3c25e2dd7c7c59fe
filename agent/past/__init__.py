"""Taking away a run that was made before; no screen."""
