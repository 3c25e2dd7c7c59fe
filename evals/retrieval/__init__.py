"""Questions as users ask them, each with the entries that a good answer has."""
