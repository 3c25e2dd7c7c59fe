"""One file a widget: it shows a view, and emits messages."""
