"""Who answers recorded cases: planners, baselines, the procedure of the paper."""
