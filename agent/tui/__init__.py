"""The terminal app: the only folder that knows Textual. Widgets show views and emit messages; state is in the run."""
