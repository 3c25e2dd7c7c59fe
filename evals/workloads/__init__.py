"""Programs with one injected cause each; every one prints its own in-process time."""
