"""Pure functions of arrays: spread, shape, classes, association, comparison."""
