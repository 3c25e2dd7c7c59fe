"""Simulated diagnoses: what is legal, the records and the results are real; only the numbers are drawn."""
