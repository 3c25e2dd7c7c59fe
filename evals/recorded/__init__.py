"""Recorded cases: what was measured once, served again to any planner."""
