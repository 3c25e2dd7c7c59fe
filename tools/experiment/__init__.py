"""One experiment: which runs are made in which order, when they end, and how a cut-off one goes on."""
