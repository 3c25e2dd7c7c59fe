"""What a distribution looks like: modes, tails, the order of the runs, the grain of the clock."""
