"""From a finished run to tables, pictures and words: reads only."""
