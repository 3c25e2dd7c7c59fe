"""The app in a browser of this machine: one page behind an address that only its user knows."""
