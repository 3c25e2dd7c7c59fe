"""What the works that this project rests on report, as data, and what of it the knowledge must offer."""
