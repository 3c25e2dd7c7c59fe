"""A process that answers what needs heavy libraries, so that no screen ever waits for them."""
