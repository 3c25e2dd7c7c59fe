"""Who answers recorded cases: planners, baselines, the procedure of the paper."""

OWN = "llama:"
"""Before the spec of a model of the user's."""
