"""The process that runs a diagnosis for the terminal app, and the wire between the two.

What has happened stands in the run folder: the watcher follows the transcript and the rows there. The wire carries only
what is not yet an event: the open question, pause, wishes, limits. So a watcher may die, or come back, at any moment.
"""
