"""From a recorded table to a surface that can be asked: cells, axes, models, what explains, what is best."""
