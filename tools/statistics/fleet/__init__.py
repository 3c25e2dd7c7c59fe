"""Many machines: how much of the variability lies between nodes, and which nodes are odd."""
