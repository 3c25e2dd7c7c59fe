"""A language model in a process of its own: what it is, and how it is asked."""
