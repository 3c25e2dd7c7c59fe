"""One sweep from its command to its folder: what is asked for, consent, resuming, the files."""
