"""What is known: factors, mitigations, paper notes, and the index over them."""
