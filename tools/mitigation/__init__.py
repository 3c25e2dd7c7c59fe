"""Apply, verify and revert mitigations; the journal that survives a crash."""
