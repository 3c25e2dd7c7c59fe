"""What a person says to the chat, as a slash command or in plain words, as one thing to do; no screen, no model."""
