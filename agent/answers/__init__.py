"""Questions about a finished run, answered from its record and from what is known: nothing else can be said."""
