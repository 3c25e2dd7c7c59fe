"""Turn a finished transcript into HTML, Markdown and pictures; reads only."""
