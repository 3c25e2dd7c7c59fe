"""Programs that are composed at random, each with a truth that only the scorer opens."""
