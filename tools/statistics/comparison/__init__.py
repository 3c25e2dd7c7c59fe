"""Two arms against each other, on spread first."""
