"""The chat line by line: what is typed is read, what happens is told, nothing is ever drawn over; for ears and logs."""
