"""The paper's steps two to four on runs that were recorded elsewhere: shape, classes, factors, and a verdict."""
