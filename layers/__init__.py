"""How to measure and how to collect: metric layers and the probes built in."""
