"""Built-in probes: direct reads of kernel interfaces."""
