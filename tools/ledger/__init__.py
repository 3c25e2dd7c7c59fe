"""Where the milliseconds of runs go: states that add up to each run, and what of their spread each state holds."""
