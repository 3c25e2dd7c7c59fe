"""The ranks of an MPI program: which one the others wait for, how often, and what is different there."""
