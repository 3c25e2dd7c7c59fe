"""Renderers of a document: one HTML page, Markdown, a terminal."""
