"""What the terminal app draws: pictures of characters from plain arrays, and the process that computes for them."""
