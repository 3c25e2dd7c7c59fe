"""Response surfaces: a measured quantity as a function of scaled settings, how far it can be trusted, what it says."""
