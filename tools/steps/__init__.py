"""Tools as they describe themselves, one a file: when each is legal, what is usual, and how it is simulated."""
