"""What a watcher of a run sees, computed from its events and rows alone; no screen is known here."""
