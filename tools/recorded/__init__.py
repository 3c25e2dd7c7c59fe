"""Run tables that somebody recorded: any common format in, what the statistics see out."""
