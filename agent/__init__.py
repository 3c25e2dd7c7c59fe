"""Drive one diagnosis: command line, plan-act graph, planners, transcript, report."""
